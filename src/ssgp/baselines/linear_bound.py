"""Evidence of a linear model whose features are random, and its gradients.

Sparse spectrum, variational sparse spectrum and inducing point regression are one model here: a row's target is
phi(x)^T w plus noise, w ~ N(0, I). The features have means M (n, q) and variances V (n, q), independent of each other,
and the latent function has a residual variance r (n,) besides. Under the best Gaussian q(w) the bound is

    A = I + (M^T M + diag(sum V)) / noise       w = A^-1 M^T y / noise       Sigma = A^-1
    bound = - 1/2 ((y^T y + sum r) / noise - w^T A w + log|A| + n log(2 pi noise))

and under any other q(w) = N(w, Sigma) it is the expected log likelihood less KL(q(w) | N(0, I)). At the best q(w),
gradients of the one with respect to M, V, r and the noise are those of the other.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.baselines.triangular import CholeskyFactor
from ssgp.rows.blocks import Block
from ssgp.saving.contents import array
from ssgp.saving.kinds import stored
from ssgp.spectrum.noise import LOG_TWO_PI

__all__ = ["FeatureGradient", "Moments", "Sums", "WeightPosterior", "feature_gradient"]


class Moments(NamedTuple):
    """Features of n rows: means (n, q), variances (n, q) and residual variances (n,), None for zeros."""

    mean: Array
    variance: Array | None = None
    residual: Array | None = None


class FeatureGradient(NamedTuple):
    """Derivatives of a scalar with respect to `Moments`, in their shapes."""

    mean: Array
    variance: Array | None
    residual: Array | None


@dataclass(frozen=True)
class Sums:
    """Natural statistics of rows, which determine their expected log likelihood as a function of q(w).

    Attributes
    ----------
    gram : array of shape (q, q)
        Sum of E phi phi^T / noise.
    cross : array of shape (q,)
        M^T y / noise.
    constant : float
        Minus twice the log likelihood at w = 0.
    """

    gram: Array
    cross: Array
    constant: float

    @classmethod
    def of(cls, moments: Moments, block: Block, noise: float) -> "Sums":
        """Statistics of a block of rows, in float64."""
        mean, y = moments.mean.astype(float, copy=False), block.y.astype(float, copy=False)
        weighted = block.weighted(mean)
        gram = mean.T @ weighted
        if moments.variance is not None:
            gram[np.diag_indices(len(gram))] += block.weighted(moments.variance).sum(axis=0, dtype=float)
        squares = y * y if moments.residual is None else y * y + moments.residual
        constant = float(block.weighted(squares).sum()) / noise + block.total * (np.log(noise) + LOG_TWO_PI)
        return cls(gram / noise, weighted.T @ y / noise, float(constant))

    def merge(self, other: "Sums") -> "Sums":
        """Statistics of both sets of rows; associative and commutative."""
        return Sums(self.gram + other.gram, self.cross + other.cross, self.constant + other.constant)

    def scaled(self, factor: float) -> "Sums":
        """Statistics of the rows with `factor` times their weights."""
        return Sums(factor * self.gram, factor * self.cross, factor * self.constant)


@stored({"mean": array("float64", "q"), "covariance": array("float64", "q", "q")})
@dataclass(frozen=True)
class WeightPosterior:
    """Gaussian posterior q(w).

    Attributes
    ----------
    mean : array of shape (q,)
        Mean.
    covariance : array of shape (q, q)
        Covariance.
    """

    mean: Array
    covariance: Array

    @classmethod
    def best(cls, sums: Sums) -> tuple["WeightPosterior", float]:
        """The q(w) of the highest bound, and that bound."""
        factor = CholeskyFactor.of(sums.gram + np.eye(len(sums.cross)))
        covariance = factor.matrix_inverse()
        mean = covariance @ sums.cross
        bound = -0.5 * (sums.constant - float(sums.cross @ mean) + factor.log_determinant)
        posterior = cls(mean, covariance)
        vars(posterior)["log_determinant"] = -factor.log_determinant
        return posterior, bound

    @cached_property
    def log_determinant(self) -> float:
        """Logarithm of the determinant of the covariance."""
        return float(np.linalg.slogdet(self.covariance)[1])

    def divergence(self) -> float:
        """Divergence KL(q(w) | N(0, I))."""
        trace, square = float(np.trace(self.covariance)), float(self.mean @ self.mean)
        return 0.5 * (trace + square - len(self.mean) - self.log_determinant)

    def predict(self, moments: Moments) -> tuple[Array, Array]:
        """Mean and variance of the latent function at rows of these features, shapes (n,)."""
        return moments.mean @ self.mean, self.variance(moments, moments.mean @ self.covariance)

    def variance(self, moments: Moments, spread: Array) -> Array:
        """Variance of the latent function, shape (n,), where `spread` (n, q) is M times the covariance."""
        variance = np.einsum("nq,nq->n", spread, moments.mean)
        if moments.variance is not None:
            variance += moments.variance @ (np.diagonal(self.covariance) + self.mean**2)
        return variance if moments.residual is None else variance + moments.residual


def feature_gradient(
    moments: Moments, block: Block, posterior: WeightPosterior, noise: float
) -> tuple[float, FeatureGradient, float]:
    """Expected log likelihood of a block, its derivatives with respect to the moments, and to log noise."""
    w, spread = posterior.mean, moments.mean @ posterior.covariance
    mean, variance = moments.mean @ w, posterior.variance(moments, spread)
    squares = float(block.weighted((block.y - mean) ** 2 + variance).sum(dtype=float)) / noise
    value = -0.5 * (squares + block.total * (np.log(noise) + LOG_TWO_PI))
    error = block.weighted((block.y - mean) / noise)
    grad_mean = np.multiply.outer(error, w) - block.weighted(spread) / noise
    grad_residual = block.weighted(np.full(len(error), -0.5 / noise))
    grad_variance = None
    if moments.variance is not None:
        grad_variance = np.multiply.outer(grad_residual, np.diagonal(posterior.covariance) + w**2)
    gradient = FeatureGradient(grad_mean, grad_variance, None if moments.residual is None else grad_residual)
    return float(value), gradient, 0.5 * (squares - block.total)
