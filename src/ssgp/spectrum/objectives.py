"""The data's part of the bound on one block of rows, with closed-form gradients.

`GlobalObjective` is the paper's: log p(y_k | alpha), with one vector of weights s for all
blocks (Lemma 3, Theorem 1, appendix F). `LocalObjective` is log p(y_k | theta), with weights and
a noise variance of the block's own, integrated out: the likelihood of the model that predicts.
"""

from dataclasses import dataclass
from math import log
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve
from scipy.linalg.blas import dger, sger  # pyright: ignore[reportAttributeAccessIssue]
from scipy.linalg.lapack import dpotrf, dpotri  # pyright: ignore[reportAttributeAccessIssue]

from ssgp.spectrum.features import features, frequency_gradient, trend_features
from ssgp.spectrum.noise import LEARNING_PRIOR, NoisePrior
from ssgp.spectrum.parameters import Hyperparameters

__all__ = [
    "FLOAT32_RIDGE",
    "LEAST_RIDGE",
    "Block",
    "BlockGradient",
    "Draw",
    "GlobalObjective",
    "LocalObjective",
    "Objective",
]

Array = NDArray[np.floating]
LOG_TWO_PI = float(np.log(2.0 * np.pi))
# float32 sums leave Phi^T Phi uncertain by about 1e-7 of its trace, n m: a ridge near that needs float64 sums.
FLOAT32_RIDGE = 4e-6
# Relative to the trace: below it, even float64 sums of float32 features are rounding.
LEAST_RIDGE = 1e-11


@dataclass(frozen=True)
class Block:
    """Some rows: X (n, d), y (n,) and their weights (n,), None for ones."""

    X: Array
    y: Array
    weight: Array | None = None

    @property
    def total(self) -> float:
        """How many rows the block counts for."""
        return float(len(self.y)) if self.weight is None else float(self.weight.sum(dtype=float))

    def part(self, rows: slice) -> "Block":
        """Some neighbouring rows, as views."""
        return Block(self.X[rows], self.y[rows], None if self.weight is None else self.weight[rows])

    def weighted(self, by_row: Array) -> Array:
        """Rows of an array times their weights."""
        if self.weight is None:
            return by_row
        return by_row * (self.weight if by_row.ndim == 1 else self.weight[:, None])


@dataclass(frozen=True)
class Draw:
    """One draw from the posterior.

    Attributes
    ----------
    frequencies : array of shape (m, d)
        theta.
    weights : array of shape (2m,) or None
        s; None where the objective integrates it out.
    """

    frequencies: Array
    weights: Array | None = None


@dataclass(frozen=True)
class BlockGradient:
    """Value of an objective on a block, and its derivatives."""

    value: float
    frequencies: Array
    log_noise: float
    log_signal: float = 0.0
    weights: Array | None = None
    log_lengthscale: Array | None = None


class Objective(Protocol):
    """What training asks of an objective."""

    def n_weights(self, n_frequencies: int) -> int:
        """How many weights the posterior is over."""
        ...

    def __call__(self, block: Block, draw: Draw, hyperparameters: Hyperparameters) -> BlockGradient:
        """Value and gradient on one block."""
        ...


class GlobalObjective:
    """log p(y_k | alpha): one vector of weights for all blocks."""

    def n_weights(self, n_frequencies: int) -> int:
        """One weight a feature."""
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
        by_phi = np.multiply.outer(weights, weighted_residual).T
        return BlockGradient(
            value=-0.5 * squares / noise - 0.5 * block.total * (LOG_TWO_PI + log(noise)),
            frequencies=frequency_gradient(by_phi, phi, block.X) / noise,
            log_noise=0.5 * squares / noise - 0.5 * block.total,
            weights=(phi.T @ weighted_residual) / noise,
        )


@dataclass(frozen=True)
class LocalObjective:
    """log p(y_k | theta), the block's weights and noise variance integrated out.

    Of the hyperparameters only the ridge, m noise / signal, matters: the noise's level is the block's own.

    Attributes
    ----------
    noise_prior : NoisePrior
        Prior of the block's noise variance.
    trend : bool
        Whether a constant and linear functions stand beside the waves.
    """

    noise_prior: NoisePrior = LEARNING_PRIOR
    trend: bool = False

    def n_weights(self, n_frequencies: int) -> int:
        """None: they are integrated out."""
        return 0

    def __call__(self, block: Block, draw: Draw, hyperparameters: Hyperparameters) -> BlockGradient:
        """Value and gradient on one block."""
        waves, n_frequencies = features(block.X, draw.frequencies), len(draw.frequencies)
        phi = waves
        if self.trend:
            linear = trend_features(block.X, hyperparameters.lengthscale, n_frequencies)
            phi = np.concatenate([waves.T, linear.T]).T
        ridge, size, total = hyperparameters.ridge(n_frequencies), phi.shape[1], block.total
        weighted_phi = block.weighted(phi)
        precise = ridge < FLOAT32_RIDGE * total * n_frequencies
        gram, moment = _sums(phi, weighted_phi, block.y, precise)
        factor, inverse = _factorize(gram, ridge)
        weights = cho_solve((factor, True), moment, check_finite=False)
        residual = block.y - phi @ weights.astype(phi.dtype)
        weighted_residual = block.weighted(residual)
        squares = float(weights @ weights)
        rss = float(residual @ weighted_residual) + ridge * squares
        precision = float(self.noise_prior.shape_after(total) / self.noise_prior.scale_after(rss))
        by_phi = _outer_minus_product(
            weighted_residual, (precision * weights).astype(phi.dtype), inverse.astype(phi.dtype), weighted_phi
        )
        by_log_ridge = 0.5 * size - 0.5 * ridge * (float(np.trace(inverse)) + precision * squares)
        log_determinant = 2.0 * float(np.log(np.diagonal(factor)).sum()) - size * log(ridge)
        by_waves, by_linear = by_phi[:, : waves.shape[1]], by_phi[:, waves.shape[1] + 1 :]
        return BlockGradient(
            value=float(self.noise_prior.log_evidence(total, rss)) - 0.5 * log_determinant,
            frequencies=frequency_gradient(by_waves, waves, block.X),
            log_noise=by_log_ridge,
            log_signal=-by_log_ridge,
            log_lengthscale=-np.einsum("ij,ij->j", by_linear, phi[:, waves.shape[1] + 1 :]) if self.trend else None,
        )


def _outer_minus_product(rows: Array, columns: Array, symmetric: Array, phi: Array) -> Array:
    """``outer(rows, columns) - phi @ symmetric``, in the features' order."""
    out = (-symmetric @ phi.T).T
    add_outer = sger if out.dtype == np.float32 else dger
    return add_outer(1.0, rows, columns, a=out, overwrite_a=True)


def _sums(phi: Array, weighted_phi: Array, y: Array, precise: bool) -> tuple[Array, Array]:
    """Phi^T W Phi and Phi^T W y in float64, summed in float64 where `precise`."""
    if precise:
        phi, weighted_phi = phi.astype(float, copy=False), weighted_phi.astype(float, copy=False)
    return (phi.T @ weighted_phi).astype(float, copy=False), (weighted_phi.T @ y).astype(float, copy=False)


def _factorize(gram: Array, ridge: float) -> tuple[Array, Array]:
    """Lower Cholesky factor and inverse of ``gram + ridge I``, in float64."""
    gram[np.diag_indices(len(gram))] += max(ridge, LEAST_RIDGE * float(np.trace(gram)))
    factor, failed = dpotrf(gram, lower=True)
    if failed:
        raise np.linalg.LinAlgError("Phi^T Phi + ridge I is not positive definite to rounding")
    inverse, _ = dpotri(factor, lower=True)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    return factor, inverse
