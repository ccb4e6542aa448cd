"""The data's part of the bound on one block of rows, with closed-form gradients.

`GlobalObjective` is the paper's: log p(y_k | alpha), with one vector of weights s for all
blocks (Lemma 3, Theorem 1, appendix F). `LocalObjective` is log p(y_k | theta), with weights and
a noise variance per block, integrated out: the likelihood of the model that predicts.
"""

from dataclasses import dataclass
from math import log
from typing import Protocol

import numpy as np
from scipy.linalg.blas import dger, sger  # pyright: ignore[reportAttributeAccessIssue]

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.ridge import invert_ridge, needs_double
from ssgp.rows.blocks import Block
from ssgp.spectrum.features import features, frequency_gradient, trend_features
from ssgp.spectrum.noise import LEARNING_PRIOR, LOG_TWO_PI, NoisePrior
from ssgp.spectrum.parameters import Hyperparameters

__all__ = ["BlockGradient", "Draw", "GlobalObjective", "LocalObjective", "Objective"]


@dataclass(frozen=True)
class Draw:
    """One draw from the posterior.

    Attributes
    ----------
    frequencies : array of shape (m, d)
        theta.
    weights : array of shape (2m,) or None
        s; None where the objective integrates them out.
    """

    frequencies: Array
    weights: Array | None = None


@dataclass(frozen=True)
class BlockGradient:
    """Value of an objective on a block, and its derivatives with respect to what it depends on."""

    value: float
    frequencies: Array
    log_noise: float
    log_signal: float = 0.0
    weights: Array | None = None
    log_lengthscale: Array | None = None


class Objective(Protocol):
    """Methods of an objective."""

    def n_weights(self, n_frequencies: int) -> int:
        """Number of weights in the posterior."""
        ...

    def __call__(self, block: Block, draw: Draw, hyperparameters: Hyperparameters) -> BlockGradient:
        """Value and gradient on one block."""
        ...


class GlobalObjective:
    """log p(y_k | alpha): one vector of weights for all blocks."""

    def n_weights(self, n_frequencies: int) -> int:
        """One weight per feature."""
        return 2 * n_frequencies

    def __call__(self, block: Block, draw: Draw, hyperparameters: Hyperparameters) -> BlockGradient:
        """Value and gradient on one block (Lemma 3 and appendix F)."""
        assert draw.weights is not None
        noise = hyperparameters.noise_variance
        phi = features(block.X, draw.frequencies)
        weights = draw.weights.astype(phi.dtype)
        residual = block.y - phi @ weights
        weighted_residual = block.weighted(residual)
        squares = float(residual @ weighted_residual)
        grad_phi = np.multiply.outer(weights, weighted_residual).T
        return BlockGradient(
            value=-0.5 * squares / noise - 0.5 * block.total * (LOG_TWO_PI + log(noise)),
            frequencies=frequency_gradient(grad_phi, phi, block.X) / noise,
            log_noise=0.5 * squares / noise - 0.5 * block.total,
            weights=(phi.T @ weighted_residual) / noise,
        )


@dataclass(frozen=True)
class LocalObjective:
    """log p(y_k | theta), with the weights and the noise variance of the block integrated out.

    Of the hyperparameters only the ridge, m noise / signal, matters: every block has a noise variance.

    Attributes
    ----------
    noise_prior : NoisePrior
        Prior of the block's noise variance.
    trend : bool
        Whether there are constant and linear features beside those of the frequencies.
    trend_inputs : int array of shape (t,) or None
        Inputs that have linear features, None for all.
    """

    noise_prior: NoisePrior = LEARNING_PRIOR
    trend: bool = False
    trend_inputs: Indices | None = None

    def n_weights(self, n_frequencies: int) -> int:
        """No weights: they are integrated out."""
        return 0

    def __call__(self, block: Block, draw: Draw, hyperparameters: Hyperparameters) -> BlockGradient:
        """Value and gradient on one block."""
        n_frequencies, total = len(draw.frequencies), block.total
        phi, ridge = self._features(block.X, draw, hyperparameters), hyperparameters.ridge(n_frequencies)
        # The trace of the products of m cosines and sines is m times the number of rows.
        double = bool(needs_double(np.asarray(total), ridge, n_frequencies))
        weights, inverse, log_determinant = _solve(phi, block, ridge, double)
        residual = block.y - phi @ weights.astype(phi.dtype)
        weighted_residual = block.weighted(residual)
        squares = float(weights @ weights)
        rss = float(residual @ weighted_residual) + ridge * squares
        precision = float(self.noise_prior.shape_after(total) / self.noise_prior.scale_after(rss))
        trigonometric = slice(2 * n_frequencies)
        grad_phi = _outer_minus_product(
            weighted_residual,
            (precision * weights[trigonometric]).astype(phi.dtype),
            inverse[trigonometric].astype(phi.dtype),
            block.weighted(phi),
        )
        # For each feature by how much a smaller scale of its own would raise the value, per logarithm of it: no product
        # of the trend's features is needed for that.
        gain = 1.0 - ridge * (np.diagonal(inverse) + precision * weights * weights).astype(float)
        grad_log_ridge = 0.5 * float(gain.sum())
        return BlockGradient(
            value=float(self.noise_prior.log_evidence(total, rss)) - 0.5 * log_determinant,
            frequencies=frequency_gradient(grad_phi, phi[:, trigonometric], block.X),
            log_noise=grad_log_ridge,
            log_signal=-grad_log_ridge,
            log_lengthscale=self._lengthscale_gradient(gain, block.X.shape[1]),
        )

    def _lengthscale_gradient(self, gain: Array, n_inputs: int) -> Array | None:
        """Gradient with respect to the log lengthscales (d,) of the trend, None where there is no trend."""
        if not self.trend:
            return None
        if self.trend_inputs is None:
            return gain[-n_inputs:]
        scattered = np.zeros(n_inputs)
        scattered[self.trend_inputs] = gain[-len(self.trend_inputs) :]
        return scattered

    def _features(self, X: Array, draw: Draw, hyperparameters: Hyperparameters) -> Array:
        """Features of rows X (n, d): 2m cosines and sines, and with a trend the constant and linear ones."""
        if not self.trend:
            return features(X, draw.frequencies)
        m, inputs = len(draw.frequencies), slice(None) if self.trend_inputs is None else self.trend_inputs
        linear = X[:, inputs]
        columns = np.empty((2 * m + 1 + linear.shape[1], len(X)), X.dtype)
        features(X, draw.frequencies, out=columns[: 2 * m])
        trend_features(linear, hyperparameters.lengthscale[inputs], m, out=columns[2 * m :])
        return columns.T


def _outer_minus_product(rows: Array, columns: Array, symmetric: Array, phi: Array) -> Array:
    """``outer(rows, columns) - phi @ symmetric.T``, in the memory order of the features; `symmetric` by some rows."""
    out = (-symmetric @ phi.T).T
    add_outer = sger if out.dtype == np.float32 else dger
    return add_outer(1.0, rows, columns, a=out, overwrite_a=True)


def _solve(phi: Array, block: Block, ridge: float, double: bool) -> tuple[Array, Array, float]:
    """Weights, inverse and log determinant of a block, in float64 where `double` or where float32 fails."""
    precise = phi.astype(float, copy=False) if double else phi
    weighted = block.weighted(precise)
    try:
        return invert_ridge(precise.T @ weighted, weighted.T @ block.y, ridge)
    except np.linalg.LinAlgError:
        if precise.dtype == float:
            raise
        return _solve(phi, block, ridge, double=True)
