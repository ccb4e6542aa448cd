"""Sufficient statistics of blocks of rows, and the local models they determine."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssgp.features import features
from ssgp.objectives import Block
from ssgp.rows import Rows

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
    """

    gram: Array
    moment: Array

    def merge(self, other: "BlockStatistics") -> "BlockStatistics":
        """Statistics of both sets of rows, block by block; associative and commutative."""
        return BlockStatistics(self.gram + other.gram, self.moment + other.moment)


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
    """

    weights: Array
    whitener: Array


def block_statistics(rows: Rows, blocks: range, frequencies: Array) -> BlockStatistics:
    """Statistics of the given blocks: features in the rows' dtype, sums in float64.

    With float64 sums the Gram matrix of the rounded features is positive semidefinite to
    1e-16, however many rows are alike; float32 sums are not.
    """
    parts = [_statistics(rows.block(k), frequencies) for k in blocks]
    return BlockStatistics(np.stack([gram for gram, _ in parts]), np.stack([moment for _, moment in parts]))


def _statistics(block: Block, frequencies: Array, chunk: int = 4096) -> tuple[Array, Array]:
    size = 2 * len(frequencies)
    gram, moment = np.zeros((size, size)), np.zeros(size)
    for start in range(0, len(block.y), chunk):
        part = slice(start, start + chunk)
        rows = Block(block.X[part], block.y[part], None if block.weight is None else block.weight[part])
        phi = features(rows.X, frequencies).astype(float)
        weighted = rows.weighted(phi)
        gram += phi.T @ weighted
        moment += weighted.T @ rows.y
    return gram, moment


def solve(statistics: BlockStatistics, ridge: float) -> LocalModels:
    """Solve every block: Gamma_k = gram + ridge I, factorised in float64."""
    size = statistics.gram.shape[-1]
    floor = 1e-12 * np.trace(statistics.gram, axis1=1, axis2=2)
    gamma = statistics.gram + np.maximum(ridge, floor)[:, None, None] * np.eye(size)
    factor = np.linalg.cholesky(gamma)
    whitener = np.linalg.inv(factor)
    half = np.einsum("kij,kj->ki", whitener, statistics.moment)
    weights = np.einsum("kij,ki->kj", whitener, half)
    return LocalModels(weights.astype(np.float32), whitener.astype(np.float32))
