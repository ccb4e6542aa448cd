"""Vectors of many nodes in half precision, where that costs less than the noise."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Packed", "pack"]

Array = NDArray[np.floating]

# Rounding to half precision moves an entry by 2^-11 of itself at most; products with features of
# mean square 1/2 may lose so much of the deviation they matter against.
HALF_ULP = 2.0**-11
TOLERATED = 0.05
# So many times as many vectors as are asked for are not unpacked for them.
FEW_TIMES = 8
# Of vectors that are gathered, where a node has several.
NUMBERS_AT_ONCE = 1 << 23


@dataclass(frozen=True)
class Packed:
    """k vectors for each of p nodes.

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
        """Bytes."""
        return self.values.nbytes + self.scale.nbytes

    @cached_property
    def _singles(self) -> Array:
        """Single precision, vectors scaled back: what predictions of many rows are made from."""
        return self.values.astype(np.float32) * self.scale[:, :, None]

    def dot(self, phi: Array, node: NDArray[np.integer]) -> Array:
        """Products of each row's features (n, q) with its node's vectors, shape (n, k)."""
        n_vectors = self.values.shape[1]
        if n_vectors == 1:
            return np.einsum("nq,nq->n", phi, self._taken(node)[:, 0])[:, None]
        out = np.empty((len(phi), n_vectors), np.float32)
        step = max(1, NUMBERS_AT_ONCE // self.values[0].size)
        for start in range(0, len(phi), step):
            part = slice(start, start + step)
            out[part] = np.einsum("nq,nkq->nk", phi[part], self._taken(node[part]))
        return out

    def _taken(self, node: NDArray[np.integer]) -> Array:
        """Vectors (n, k, q) of nodes in single precision: few of them without unpacking all."""
        if "_singles" not in vars(self) and FEW_TIMES * len(node) < len(self.values):
            return self.values[node].astype(np.float32) * self.scale[node][:, :, None]
        return self._singles.take(node, axis=0, mode="clip")

    def __getstate__(self) -> dict:
        """Pickle what was packed alone."""
        return {"values": self.values, "scale": self.scale}


def pack(vectors: Array, matters: Array) -> Packed:
    """Pack vectors (p, k, q); `matters` (p,) is the deviation that a product's rounding is held against."""
    scale = np.maximum(vectors.max(axis=2), -vectors.min(axis=2))
    scale[scale == 0] = 1.0
    rounding = HALF_ULP * np.sqrt(np.einsum("pkq,pkq->pk", vectors, vectors) / 6.0)
    fine = np.mean(rounding <= TOLERATED * matters[:, None]) > 0.99
    values = np.empty(vectors.shape, np.float16 if fine else np.float32)
    np.divide(vectors, scale[:, :, None], out=values, casting="same_kind")
    return Packed(values, scale.astype(np.float32))
