"""Vectors of many nodes in half precision, where that costs less than the noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.saving.contents import TINIEST, array
from ssgp.saving.kinds import stored

__all__ = ["HalfPrecision", "dot_each", "to_half_precision"]

# Rounding to half precision moves an entry by 2^-11 of itself at most; products with features of
# mean square 1/2 may lose so much of the deviation they are compared with.
HALF_ULP = 2.0**-11
TOLERATED = 0.05
# Where there are so many times as many vectors as rows, they are not all taken to single precision.
FEW_TIMES = 8
# Numbers that are gathered at a time: few enough for the cache.
NUMBERS_AT_ONCE = 1 << 20


@stored(
    {
        "values": array(("float16", "float32"), "p", "k", "q", least=-1.01, most=1.01),
        "scale": array("float32", "p", "k", least=TINIEST),
    },
    name="Packed",
    relations=lambda p: [(p.values.size > 0, "there must be nodes and vectors")],
)
@dataclass(frozen=True)
class HalfPrecision:
    """k vectors for each of p nodes, in half precision or, where that would not do, in single precision.

    Attributes
    ----------
    values : array of shape (p, k, q), float16 or float32
        The vectors over their scale.
    scale : array of shape (p, k), float32
        Their largest entries.
    """

    values: Array
    scale: Array

    @property
    def nbytes(self) -> int:
        """Bytes of both arrays."""
        return self.values.nbytes + self.scale.nbytes

    @cached_property
    def _singles(self) -> Array:
        """The vectors in single precision: what predictions of many rows are made from."""
        return self.values.astype(np.float32) * self.scale[:, :, None]

    def prepare(self, n_rows: int) -> None:
        """Take all vectors to single precision, unless so many rows are too few for that."""
        if FEW_TIMES * n_rows >= len(self.values):
            _ = self._singles

    def gather(self, node: Indices, out: Array) -> None:
        """Put the vectors of nodes (n,) in single precision into an array (n, k, q)."""
        if "_singles" in vars(self):
            self._singles.take(node, axis=0, mode="clip", out=out)
        else:
            np.multiply(self.values[node], self.scale[node][:, :, None], out=out)

    def __getstate__(self) -> dict:
        """Pickle the half precision alone."""
        return {"values": self.values, "scale": self.scale}


def dot_each(halves: Sequence[HalfPrecision], phi: Array, node: Indices, out: Array) -> None:
    """Products of rows' features with the vectors of their nodes in each of several trees.

    Parameters
    ----------
    halves : sequence of T HalfPrecision
        k vectors of q for each node of a tree.
    phi : array of shape (T, n, q) or (1, n, q), float32
        Features of the rows in each tree, or in all.
    node : int array of shape (T, n)
        Node of each row in each tree.
    out : array of shape (T, n, k), float32
        Where the products are put.
    """
    n_trees, n_rows = node.shape
    n_vectors, n_features = halves[0].values.shape[1:]
    step = max(1, NUMBERS_AT_ONCE // (n_trees * n_vectors * n_features))
    for start in range(0, n_rows, step):
        part = slice(start, start + step)
        vectors = np.empty((*node[:, part].shape, n_vectors, n_features), np.float32)
        for half, at, place in zip(halves, node[:, part], vectors, strict=True):
            half.gather(at, place)
        if n_vectors == 1:
            np.einsum("tnq,tnq->tn", phi[:, part], vectors[:, :, 0], out=out[:, part, 0])
        else:
            np.einsum("tnq,tnkq->tnk", phi[:, part], vectors, out=out[:, part])


def to_half_precision(vectors: Array, tolerance: Array) -> HalfPrecision:
    """Vectors (p, k, q) in half precision; a product's rounding is held against the deviations `tolerance` (p,)."""
    scale = np.maximum(vectors.max(axis=2), -vectors.min(axis=2))
    scale[scale == 0] = 1.0
    rounding = HALF_ULP * np.sqrt(np.einsum("pkq,pkq->pk", vectors, vectors) / 6.0)
    suffices = np.mean(rounding <= TOLERATED * tolerance[:, None]) > 0.99
    values = np.empty(vectors.shape, np.float16 if suffices else np.float32)
    np.divide(vectors, scale[:, :, None], out=values, casting="same_kind")
    return HalfPrecision(values, scale.astype(np.float32))
