"""Sufficient statistics of blocks of rows, and the local models they determine."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssgp.rows.standardized import Rows
from ssgp.spectrum.features import features
from ssgp.spectrum.objectives import Block

__all__ = ["BlockStatistics", "LocalModels", "block_statistics", "solve"]

Array = NDArray[np.floating]


@dataclass(frozen=True)
class BlockStatistics:
    """What a sparse spectrum model needs to know of some blocks' rows.

    Attributes
    ----------
    gram : array of shape (p, 2m, 2m)
        Phi^T W Phi of each block.
    moment : array of shape (p, 2m)
        Phi^T W y of each block.
    square, count : arrays of shape (p,)
        y^T W y, and the sum of the weights.
    """

    gram: Array
    moment: Array
    square: Array
    count: Array

    def merge(self, other: "BlockStatistics") -> "BlockStatistics":
        """Statistics of both sets of rows, block by block; associative and commutative."""
        return BlockStatistics(
            self.gram + other.gram,
            self.moment + other.moment,
            self.square + other.square,
            self.count + other.count,
        )


@dataclass(frozen=True)
class LocalModels:
    """Posterior of each block's weights given its rows: mean and factor of the covariance.

    Attributes
    ----------
    weights : array of shape (p, 2m), float32
        Gamma_k^-1 Phi_k^T y_k.
    whitener : array of shape (p, 2m, 2m), float32
        L_k^-1 with Gamma_k = L_k L_k^T, so that phi^T Gamma_k^-1 phi = |L_k^-1 phi|^2
        is never negative.
    count, rss : arrays of shape (p,)
        Rows, and penalised residual sum of squares.
    """

    weights: Array
    whitener: Array
    count: Array
    rss: Array


def block_statistics(rows: Rows, blocks: range, frequencies: Array) -> BlockStatistics:
    """Statistics of the given blocks: features in the rows' dtype, sums in float64.

    With float64 sums the Gram matrix of the rounded features is positive semidefinite to
    1e-16, however many rows are alike; float32 sums are not.
    """
    parts = [_statistics(rows.block(k), frequencies) for k in blocks]
    gram, moment, square, count = (np.stack(column) for column in zip(*parts, strict=True))
    return BlockStatistics(gram, moment, square, count)


def _statistics(block: Block, frequencies: Array, chunk: int = 4096) -> tuple[Array, Array, float, float]:
    size = 2 * len(frequencies)
    gram, moment, square = np.zeros((size, size)), np.zeros(size), 0.0
    for start in range(0, len(block.y), chunk):
        rows = block.part(slice(start, start + chunk))
        phi = features(rows.X, frequencies).astype(float)
        weighted = rows.weighted(phi)
        gram += phi.T @ weighted
        y = rows.y.astype(float)
        moment += weighted.T @ y
        square += float(y @ rows.weighted(y))
    return gram, moment, square, block.total


def solve(statistics: BlockStatistics, ridge: float) -> LocalModels:
    """Solve every block: Gamma_k = gram + ridge I, factorised in float64."""
    size = statistics.gram.shape[-1]
    floor = 1e-12 * np.trace(statistics.gram, axis1=1, axis2=2)
    gamma = statistics.gram + np.maximum(ridge, floor)[:, None, None] * np.eye(size)
    factor = np.linalg.cholesky(gamma)
    whitener = np.linalg.inv(factor)
    half = np.einsum("kij,kj->ki", whitener, statistics.moment)
    weights = np.einsum("kij,ki->kj", whitener, half)
    rss = np.maximum(statistics.square - np.einsum("ki,ki->k", half, half), 0.0)
    return LocalModels(weights.astype(np.float32), whitener.astype(np.float32), statistics.count, rss)
