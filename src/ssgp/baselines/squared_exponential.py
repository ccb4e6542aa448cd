"""The squared exponential kernel with a lengthscale for each input, and its gradients."""

from dataclasses import dataclass

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.saving.kinds import stored

__all__ = ["SquaredExponential"]


@stored()
@dataclass(frozen=True)
class SquaredExponential:
    """``variance exp(-1/2 sum_j (a_j - b_j)^2 / l_j^2)``.

    Attributes
    ----------
    lengthscale : array of shape (d,)
        l.
    variance : float
        Of the latent function.
    """

    lengthscale: Array
    variance: float

    def __call__(self, A: Array, B: Array) -> Array:
        """Kernel matrix of rows A (n, d) and B (k, d)."""
        a, b = A / self.lengthscale, B / self.lengthscale
        squares = np.einsum("nd,nd->n", a, a)[:, None] + np.einsum("kd,kd->k", b, b) - 2.0 * (a @ b.T)
        return self.variance * np.exp(-0.5 * np.maximum(squares, 0.0))

    def gradient(self, A: Array, B: Array, K: Array, by_matrix: Array) -> tuple[Array, Array, Array, float]:
        """Carry a gradient with respect to the matrix K = self(A, B) over to A, B, log l and log variance.

        Parameters
        ----------
        A, B : arrays of shape (n, d), (k, d)
            Rows.
        K : array of shape (n, k)
            The matrix.
        by_matrix : array of shape (n, k)
            Derivative of a scalar with respect to it.
        """
        G = by_matrix * K
        by_row, by_column = G.sum(axis=1), G.sum(axis=0)
        a, b = A / self.lengthscale, B / self.lengthscale
        towards_a, towards_b = G @ b, G.T @ a
        by_A = (towards_a - by_row[:, None] * a) / self.lengthscale
        by_B = (towards_b - by_column[:, None] * b) / self.lengthscale
        squares = by_row @ (a * a) + by_column @ (b * b) - 2.0 * np.einsum("nd,nd->d", a, towards_a)
        return by_A, by_B, squares, float(G.sum())
