"""Local models of blocks of rows: Gamma_k of Proposition 1."""

from dataclasses import dataclass

import numpy as np

from ssgp._utils.arrays import Array
from ssgp._utils.memory import available_memory
from ssgp.engine.ridge import LeafSums, solve_ridge, sum_products
from ssgp.engine.stacks import stack_leaves
from ssgp.rows.blocks import Rows
from ssgp.saving.contents import array
from ssgp.saving.kinds import stored
from ssgp.spectrum.features import features

__all__ = ["LocalModels", "block_sums", "check_local_memory", "solve_blocks"]

# Rows whose features are in memory together.
ROWS_PER_STACK = 8192


@stored(
    {
        "weights": array("float32", "p", "2m"),
        "whitener": array("float32", "p", "2m", "2m"),
        "count": array("float64", "p", least=0.0),
        "rss": array("float64", "p"),
    }
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
        Numbers of rows, and penalised residual sums of squares.
    """

    weights: Array
    whitener: Array
    count: Array
    rss: Array

    @classmethod
    def empty(cls, n_blocks: int, size: int) -> "LocalModels":
        """Uninitialised models of p blocks and 2m = `size` features."""
        weights, whitener = np.empty((n_blocks, size), np.float32), np.empty((n_blocks, size, size), np.float32)
        return cls(weights, whitener, np.empty(n_blocks), np.empty(n_blocks))

    def put(self, blocks: range, models: "LocalModels") -> None:
        """Write the models of neighbouring blocks in their places."""
        part = slice(blocks.start, blocks.stop)
        self.weights[part], self.whitener[part] = models.weights, models.whitener
        self.count[part], self.rss[part] = models.count, models.rss


def block_sums(rows: Rows, blocks: range, frequencies: Array) -> LeafSums:
    """Sums over the rows of neighbouring blocks: features in the precision of the rows, sums in float64.

    With float64 sums the Gram matrix of the rounded features is positive semidefinite to 1e-16, however many rows are
    alike; float32 sums are not.
    """
    sums = LeafSums.zeros(len(blocks), 2 * len(frequencies))
    starts, stops = rows.bounds[blocks.start : blocks.stop], rows.bounds[blocks.start + 1 : blocks.stop + 1]
    for stack in stack_leaves(starts, stops, 1, np.zeros(len(blocks), np.int64), ROWS_PER_STACK):
        X, y = (stack.take(column)[:, 0] for column in (rows.X, rows.y))
        phi = features(X.reshape(-1, X.shape[2]), frequencies).reshape(*X.shape[:2], -1)
        phi[~stack.inside[:, 0]] = 0.0
        weight = None if rows.weight is None else stack.take(rows.weight)[:, 0].astype(float)
        count = stack.inside[:, 0].sum(axis=1) if weight is None else weight.sum(axis=1)
        sums.add(stack.families, sum_products(phi, y.astype(float), weight, double=True), count)
    return sums


def solve_blocks(sums: LeafSums, ridge: float) -> LocalModels:
    """Local models of blocks; the sums are overwritten."""
    solution = solve_ridge(sums.products, None, ridge, np.eye(sums.products.shape[1] - 1))
    weights, whitener = solution.weights.astype(np.float32), solution.sketch.astype(np.float32)
    return LocalModels(weights, whitener, sums.count, solution.rss)


def check_local_memory(n_blocks: int, n_frequencies: int, n_draws: int) -> None:
    """Refuse local models that do not fit into memory."""
    needed, available = n_blocks * n_draws * (2 * n_frequencies) ** 2 * 4, available_memory()
    if needed > available:
        raise ValueError(
            f"the local models of n_blocks={n_blocks}, n_draws={n_draws} and n_frequencies={n_frequencies} need "
            f"{needed / 2**30:.1f} GiB, and {available / 2**30:.1f} GiB are available; lower one of the three"
        )
