"""The squared exponential kernel with one lengthscale per input, and its gradients."""

from dataclasses import dataclass

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.saving.contents import TINIEST, array, number
from ssgp.saving.kinds import stored

__all__ = ["SquaredExponential"]


@stored({"lengthscale": array("float64", "d", least=TINIEST), "variance": number(TINIEST)})
@dataclass(frozen=True)
class SquaredExponential:
    """Kernel ``variance exp(-1/2 sum_j (a_j - b_j)^2 / l_j^2)``.

    Attributes
    ----------
    lengthscale : array of shape (d,)
        Lengthscales l.
    variance : float
        Variance of the latent function.
    """

    lengthscale: Array
    variance: float

    def __call__(self, A: Array, B: Array) -> Array:
        """Kernel matrix of rows A (n, d) and B (k, d), shape (n, k)."""
        a, b = A / self.lengthscale, B / self.lengthscale
        squares = np.einsum("nd,nd->n", a, a)[:, None] + np.einsum("kd,kd->k", b, b) - 2.0 * (a @ b.T)
        return self.variance * np.exp(-0.5 * np.maximum(squares, 0.0))

    def gradient(self, A: Array, B: Array, K: Array, grad_K: Array) -> tuple[Array, Array, Array, float]:
        """Gradients with respect to A, B, log l and log variance, from that with respect to K = self(A, B).

        Parameters
        ----------
        A, B : arrays of shape (n, d), (k, d)
            Rows.
        K : array of shape (n, k)
            Kernel matrix.
        grad_K : array of shape (n, k)
            Derivative of a scalar with respect to K.
        """
        G = grad_K * K
        row_sums, column_sums = G.sum(axis=1), G.sum(axis=0)
        a, b = A / self.lengthscale, B / self.lengthscale
        Gb = G @ b
        grad_A = (Gb - row_sums[:, None] * a) / self.lengthscale
        grad_B = (G.T @ a - column_sums[:, None] * b) / self.lengthscale
        grad_lengths = row_sums @ (a * a) + column_sums @ (b * b) - 2.0 * np.einsum("nd,nd->d", a, Gb)
        return grad_A, grad_B, grad_lengths, float(G.sum())
