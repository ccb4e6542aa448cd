"""Predictions of sparse spectrum GPs of blocks, draw by draw: the paper's test conditional, written out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.protocols import BlockLabels
from ssgp.datasets import Split

__all__ = ["BlockedRows", "features"]

Array = NDArray[np.float64]


def features(X: Array, frequencies: Array) -> Array:
    """Cosines and sines of rows X (n, d) along frequencies (m, d), shape (n, 2m)."""
    phase = 2.0 * np.pi * (X @ frequencies.T)
    return np.hstack([np.cos(phase), np.sin(phase)])


@dataclass(frozen=True)
class BlockedRows:
    """Training rows sorted by their blocks, and test rows with theirs.

    Attributes
    ----------
    X, y : arrays of shapes (n, d) and (n,)
        Inputs and centred targets of training rows.
    bounds : int array of shape (p + 1,)
        Where blocks begin and end.
    X_test : array of shape (n*, d)
        Inputs of test rows.
    y_test : array of shape (n*,)
        Their targets, less the mean of the training rows'.
    test_block : int array of shape (n*,)
        Their blocks, 0 to p - 1.
    """

    X: Array
    y: Array
    bounds: NDArray[np.int64]
    X_test: Array
    y_test: Array
    test_block: NDArray[np.int64]

    @classmethod
    def of(cls, data: Split, blocks: BlockLabels) -> "BlockedRows":
        """Rows of a split in these blocks."""
        names, train = np.unique(blocks.train, return_inverse=True)
        order, mean = np.argsort(train, kind="stable"), data.y_train.mean()
        bounds = np.searchsorted(train[order], np.arange(len(names) + 1))
        test = np.searchsorted(names, blocks.test)
        return cls(data.X_train[order], data.y_train[order] - mean, bounds, data.X_test, data.y_test - mean, test)

    @property
    def n_blocks(self) -> int:
        """Number of blocks, p."""
        return len(self.bounds) - 1

    def block(self, k: int) -> tuple[Array, Array]:
        """Inputs and targets of a block."""
        rows = slice(self.bounds[k], self.bounds[k + 1])
        return self.X[rows], self.y[rows]

    def local_moments(self, frequencies: Array, ridge: float) -> tuple[Array, Array]:
        """Predictions of test rows from their blocks' rows, given frequencies (m, d).

        Returns
        -------
        mean : array of shape (n*,)
            phi^T Gamma_k^-1 Phi_k^T y_k with Gamma_k = Phi_k^T Phi_k + ridge I.
        spread : array of shape (n*,)
            phi^T Gamma_k^-1 phi: the variance of the function over that of the noise.
        """
        phi, phi_test = features(self.X, frequencies), features(self.X_test, frequencies)
        size = phi.shape[1]
        gram, products = np.empty((self.n_blocks, size, size)), np.empty((self.n_blocks, size))
        for k in range(self.n_blocks):
            rows = slice(self.bounds[k], self.bounds[k + 1])
            gram[k] = phi[rows].T @ phi[rows]
            products[k] = phi[rows].T @ self.y[rows]
        inverse = np.linalg.inv(gram + ridge * np.eye(size))
        weights = np.einsum("kij,kj->ki", inverse, products)
        mean = np.einsum("ni,ni->n", phi_test, weights[self.test_block])
        spread = np.einsum("ni,nij,nj->n", phi_test, inverse[self.test_block], phi_test, optimize=True)
        return mean, spread
