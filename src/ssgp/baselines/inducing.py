"""Features of inducing inputs: what a Gaussian process is, given its values at a few places.

With u = L v, L L^T = K_uu, the process at x is psi(x)^T v plus an independent residual of variance
k(x, x) - psi^T psi, where psi(x) = L^-1 k_u(x) and v ~ N(0, I).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.baselines.squared_exponential import SquaredExponential
from ssgp.baselines.triangular import CholeskyFactor
from ssgp.saving.kinds import stored

__all__ = ["InducingFeatures", "InducingGradient"]


# Relative to the variance: what keeps K_uu positive definite where inducing inputs meet.
JITTER = 1e-6


@dataclass(frozen=True)
class InducingGradient:
    """Derivatives of a scalar with respect to inducing inputs (k, d), log lengthscales (d,) and log variance."""

    places: Array
    log_lengthscale: Array
    log_variance: float


# Factors of matrices are kept: another number of threads may round them otherwise.
@stored(caches=("factor",))
@dataclass(frozen=True)
class InducingFeatures:
    """psi(x) of inducing inputs.

    Attributes
    ----------
    places : array of shape (k, d)
        Inducing inputs.
    kernel : SquaredExponential
        Of the process.
    """

    places: Array
    kernel: SquaredExponential

    @cached_property
    def covariance(self) -> Array:
        """K_uu, with some jitter."""
        K = self.kernel(self.places, self.places)
        K[np.diag_indices(len(K))] += JITTER * self.kernel.variance
        return K

    @cached_property
    def factor(self) -> Array:
        """L; what is above its diagonal is never read."""
        return CholeskyFactor.of(self.covariance).lower

    @cached_property
    def triangle(self) -> CholeskyFactor:
        """L, to multiply and solve with."""
        return CholeskyFactor(self.factor)

    def __call__(self, X: Array) -> Array:
        """Psi of rows X (n, d), shape (n, k)."""
        return self.from_covariance(self.kernel(X, self.places))

    def from_covariance(self, K: Array) -> Array:
        """Psi of rows whose covariances with the inducing values are K (n, k)."""
        return self.triangle.solve(K)

    def residual(self, psi: Array) -> Array:
        """Variance that the inducing values leave, shape (n,)."""
        return np.maximum(self.kernel.variance - np.einsum("nk,nk->n", psi, psi), 0.0)

    def gradient(self, X: Array, K: Array, psi: Array, by_psi: Array) -> InducingGradient:
        """Carry a gradient with respect to psi (n, k) back to what it is made of, through the factorisation.

        `K` and `psi` are those of rows X.
        """
        L = self.triangle
        by_K = L.solve_transposed(by_psi)
        by_factor = -np.tril(by_K.T @ psi)
        by_covariance = _through_cholesky(L, by_factor)
        places = self.places
        _, by_places, by_length, by_variance = self.kernel.gradient(X, places, K, by_K)
        bare = self.covariance.copy()
        bare[np.diag_indices(len(bare))] = self.kernel.variance
        one, other, own_length, own_variance = self.kernel.gradient(places, places, bare, by_covariance)
        jitter = JITTER * self.kernel.variance * float(np.trace(by_covariance))
        return InducingGradient(by_places + one + other, by_length + own_length, by_variance + own_variance + jitter)


def _through_cholesky(L: CholeskyFactor, by_factor: Array) -> Array:
    """Gradient with respect to a symmetric matrix, from that with respect to its lower factor."""
    inner = np.tril(L.multiply_transposed(by_factor))
    inner[np.diag_indices(len(inner))] *= 0.5
    full = L.solve_transposed(L.solve_columns_transposed(inner))
    return 0.5 * (full + full.T)
