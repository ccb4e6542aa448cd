"""Vectors of many nodes in half precision, where that costs less than the noise."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.saving.contents import TINIEST, array
from ssgp.saving.kinds import stored

__all__ = ["HalfPrecision", "to_half_precision"]

# Rounding to half precision moves an entry by 2^-11 of itself at most; products with features of
# mean square 1/2 may lose so much of the deviation they are compared with.
HALF_ULP = 2.0**-11
TOLERATED = 0.05
# Where there are so many times as many vectors as rows, they are not all taken to single precision.
FEW_TIMES = 8
# Numbers that are gathered at a time, where a node has several vectors.
NUMBERS_AT_ONCE = 1 << 23


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

    def dot(self, phi: Array, node: Indices) -> Array:
        """Products of each row's features (n, q) with the vectors of its node, shape (n, k)."""
        n_vectors = self.values.shape[1]
        if n_vectors == 1:
            return np.einsum("nq,nq->n", phi, self._vectors(node)[:, 0])[:, None]
        out = np.empty((len(phi), n_vectors), np.float32)
        step = max(1, NUMBERS_AT_ONCE // self.values[0].size)
        for start in range(0, len(phi), step):
            part = slice(start, start + step)
            out[part] = np.einsum("nq,nkq->nk", phi[part], self._vectors(node[part]))
        return out

    def _vectors(self, node: Indices) -> Array:
        """Vectors (n, k, q) of nodes in single precision: few of them without unpacking all."""
        if "_singles" not in vars(self) and FEW_TIMES * len(node) < len(self.values):
            return self.values[node].astype(np.float32) * self.scale[node][:, :, None]
        return self._singles.take(node, axis=0, mode="clip")

    def __getstate__(self) -> dict:
        """Pickle the half precision alone."""
        return {"values": self.values, "scale": self.scale}


def to_half_precision(vectors: Array, tolerance: Array) -> HalfPrecision:
    """Vectors (p, k, q) in half precision; a product's rounding is held against the deviations `tolerance` (p,)."""
    scale = np.maximum(vectors.max(axis=2), -vectors.min(axis=2))
    scale[scale == 0] = 1.0
    rounding = HALF_ULP * np.sqrt(np.einsum("pkq,pkq->pk", vectors, vectors) / 6.0)
    suffices = np.mean(rounding <= TOLERATED * tolerance[:, None]) > 0.99
    values = np.empty(vectors.shape, np.float16 if suffices else np.float32)
    np.divide(vectors, scale[:, :, None], out=values, casting="same_kind")
    return HalfPrecision(values, scale.astype(np.float32))
