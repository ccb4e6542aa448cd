"""Features of inducing inputs, by which a Gaussian process is its values at a few points.

With u = L v, L L^T = K_uu, the process at x is psi(x)^T v plus an independent residual of variance
k(x, x) - psi^T psi, where psi(x) = L^-1 k_u(x) and v ~ N(0, I).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.baselines.squared_exponential import SquaredExponential
from ssgp.baselines.triangular import CholeskyFactor
from ssgp.saving.contents import array, made_of
from ssgp.saving.kinds import stored

__all__ = ["InducingFeatures", "InducingGradient"]


# Share of the variance that is added to the diagonal of K_uu, to keep it positive definite where inducing inputs meet.
JITTER = 1e-6


@dataclass(frozen=True)
class InducingGradient:
    """Derivatives of a scalar with respect to inducing inputs (k, d), log lengthscales (d,) and log variance."""

    inputs: Array
    log_lengthscale: Array
    log_variance: float


def _check_factor(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
    """A factor of another matrix would give variances that are none."""
    if parts.factor is not None:
        lower, covariance = np.tril(parts.factor), InducingFeatures(parts.inputs, parts.kernel).covariance
        with np.errstate(over="ignore", invalid="ignore"):
            difference = np.abs(lower @ lower.T - covariance).max(initial=0.0)
        yield bool(difference <= 1e-9 * parts.kernel.variance), "factor must be that of the inputs' covariances"
        yield bool((np.diagonal(lower) > 0.0).all()), "factor must have a positive diagonal"


# The factor is stored: another number of threads may round it otherwise.
@stored(
    {
        "inputs": array("float64", "k", "d"),
        "kernel": made_of(SquaredExponential, d=lambda kernel: len(kernel.lengthscale)),
    },
    relations=_check_factor,
    renamed={"inputs": "places"},
    caches={"factor": array("float64", "k", "k")},
)
@dataclass(frozen=True)
class InducingFeatures:
    """Features psi(x) of k inducing inputs.

    Attributes
    ----------
    inputs : array of shape (k, d)
        Inducing inputs.
    kernel : SquaredExponential
        Kernel of the process.
    """

    inputs: Array
    kernel: SquaredExponential

    @cached_property
    def covariance(self) -> Array:
        """K_uu, with jitter, shape (k, k)."""
        K = self.kernel(self.inputs, self.inputs)
        K[np.diag_indices(len(K))] += JITTER * self.kernel.variance
        return K

    @cached_property
    def factor(self) -> Array:
        """L, shape (k, k); the entries above its diagonal are never read."""
        return CholeskyFactor.of(self.covariance).lower

    @cached_property
    def triangle(self) -> CholeskyFactor:
        """L with its algebra."""
        return CholeskyFactor(self.factor)

    def __call__(self, X: Array) -> Array:
        """Features of rows X (n, d), shape (n, k)."""
        return self.from_covariance(self.kernel(X, self.inputs))

    def from_covariance(self, K: Array) -> Array:
        """Features, shape (n, k), of rows whose covariances with the inducing values are K (n, k)."""
        return self.triangle.solve(K)

    def residual(self, psi: Array) -> Array:
        """Variances given the inducing values, shape (n,), of rows of features psi (n, k)."""
        return np.maximum(self.kernel.variance - np.einsum("nk,nk->n", psi, psi), 0.0)

    def gradient(self, X: Array, K: Array, psi: Array, grad_psi: Array) -> InducingGradient:
        """Gradient with respect to inducing inputs and kernel, from that with respect to psi.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        K, psi, grad_psi : arrays of shape (n, k)
            Covariances of the rows with the inducing values, their features, and the derivative with respect to these.
        """
        L, inputs, kernel = self.triangle, self.inputs, self.kernel
        grad_K = L.solve_transposed(grad_psi)
        grad_Kuu = _through_cholesky(L, -np.tril(grad_K.T @ psi))
        _, inputs_K, lengths_K, variance_K = kernel.gradient(X, inputs, K, grad_K)
        Kuu = self.covariance.copy()
        Kuu[np.diag_indices(len(Kuu))] = kernel.variance
        left, right, lengths_Kuu, variance_Kuu = kernel.gradient(inputs, inputs, Kuu, grad_Kuu)
        jitter = JITTER * kernel.variance * float(np.trace(grad_Kuu))
        return InducingGradient(inputs_K + left + right, lengths_K + lengths_Kuu, variance_K + variance_Kuu + jitter)


def _through_cholesky(L: CholeskyFactor, grad_L: Array) -> Array:
    """Gradient with respect to a symmetric matrix, from that with respect to its lower factor, shapes (k, k)."""
    inner = np.tril(L.multiply_transposed(grad_L))
    inner[np.diag_indices(len(inner))] *= 0.5
    full = L.solve_transposed(L.solve_columns_transposed(inner))
    return 0.5 * (full + full.T)
