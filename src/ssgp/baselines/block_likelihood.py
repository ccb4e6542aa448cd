"""Likelihood of blocks whose rows keep their covariance: PIC (Snelson and Ghahramani 2007; Hoang et al. 2015).

Given the inducing values, blocks are independent, and within a block the residual process keeps its covariance:

    y_k | v ~ N(Psi_k v, C_k),    C_k = K_kk - Psi_k Psi_k^T + noise I

One block is the exact Gaussian process; blocks of one row leave only variances (FITC).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.baselines.feature_maps import InducingMap
from ssgp.baselines.inducing import InducingFeatures
from ssgp.baselines.linear_bound import Sums, WeightPosterior
from ssgp.baselines.model import Model
from ssgp.baselines.triangular import CholeskyFactor
from ssgp.rows.blocks import Block
from ssgp.spectrum.noise import LOG_TWO_PI

__all__ = ["BlockLikelihood", "SolvedBlock", "inducing_features", "solve_block"]

# Share of the variance that is added to the diagonal of C_k, which keeps it positive definite where psi explains all.
JITTER = 1e-9
# Weights lower a row's noise variance to so many times the least that is learned: steps astray cost too much below.
TIMES_LEAST_NOISE = 12.0


@dataclass(frozen=True)
class SolvedBlock:
    """A block of rows and the factor of their covariance given the inducing values.

    Attributes
    ----------
    X, y : arrays of shape (n, d), (n,)
        The rows.
    covariance : array of shape (n, n)
        Prior covariance K_kk.
    cross : array of shape (n, k)
        Covariances of the rows with the inducing values.
    psi : array of shape (n, k)
        Features.
    factor : CholeskyFactor
        Factor of C_k.
    """

    X: Array
    y: Array
    covariance: Array
    cross: Array
    psi: Array
    factor: CholeskyFactor

    @cached_property
    def whitened(self) -> Array:
        """Features of as many independent rows with unit noise, shape (n, k)."""
        return self.factor.solve_columns(self.psi)


def inducing_features(model: Model) -> InducingFeatures:
    """The model's inducing features."""
    features = model.features
    if not isinstance(features, InducingMap):
        raise TypeError(f"blocks need inducing features, got {type(features).__name__}")
    return features.inducing


def solve_block(model: Model, block: Block) -> SolvedBlock:
    """Factorise a block's covariance; a row of weight w has noise / w."""
    inducing, X = inducing_features(model), block.X.astype(float)
    covariance, cross = inducing.kernel(X, X), inducing.kernel(X, inducing.inputs)
    psi = inducing.from_covariance(cross)
    C = covariance - psi @ psi.T
    C[np.diag_indices(len(C))] += _noise(model, block)
    return SolvedBlock(X, block.y.astype(float), covariance, cross, psi, CholeskyFactor.of(C))


def _noise(model: Model, block: Block) -> Array:
    """Noise variances of the rows, with jitter, shape (n,)."""
    noise = np.full(len(block.y), model.noise)
    if block.weight is not None:
        noise = np.maximum(model.noise / block.weight, min(model.noise, _least_weighted_noise(model)))
    return noise + _jitter(model)


def _noise_slope(model: Model, block: Block) -> Array:
    """Derivatives of the noise variances of the rows with respect to log noise, shape (n,)."""
    noise, least = _noise(model, block) - _jitter(model), _least_weighted_noise(model)
    if block.weight is None or model.noise <= least:
        return noise
    return np.where(model.noise / block.weight < least, 0.0, noise)


def _least_weighted_noise(model: Model) -> float:
    """Noise variance that weights do not lower any further."""
    return TIMES_LEAST_NOISE * float(np.exp(model.least_log_noise))


def _jitter(model: Model) -> float:
    return JITTER * float(np.exp(model.features.log_signal))


class BlockLikelihood:
    """Likelihood of a block whose rows are dependent given the weights; blocks are independent."""

    def __init__(self, model: Model, block: Block) -> None:
        self.model, self.block, self.solved = model, block, solve_block(model, block)

    def sums(self) -> Sums:
        """Natural statistics of the block."""
        solved = self.solved
        features, y = solved.whitened, solved.factor.solve(solved.y)
        constant = float(y @ y) + solved.factor.log_determinant + len(y) * LOG_TWO_PI
        return Sums(features.T @ features, y @ features, constant + self._weight_terms()[0])

    def _weight_terms(self) -> tuple[float, float]:
        """Terms of minus twice the log likelihood that weights add, and their derivative with respect to log noise.

        A row of weight w, N(y | f, noise)^w, is N(y | f, noise / w) times (2 pi noise)^-(w - 1)/2 w^-1/2.
        """
        if self.block.weight is None:
            return 0.0, 0.0
        weight = self.block.weight.astype(float)
        excess = float(np.sum(weight - 1.0))
        return excess * (self.model.log_noise + LOG_TWO_PI) + float(np.log(weight).sum()), excess

    def gradient(self, posterior: WeightPosterior) -> tuple[float, Array]:
        """Expected log likelihood of the block, and its gradient with respect to the model's flat vector."""
        psi, factor = self.solved.psi, self.solved.factor
        residual = self.solved.y - psi @ posterior.mean
        error = factor.solve_transposed(factor.solve(residual))
        solved_psi = factor.solve_columns_transposed(self.solved.whitened)
        spread = solved_psi @ posterior.covariance
        squares = float(residual @ error) + float(np.sum(spread * psi))
        value = -0.5 * (squares + factor.log_determinant + len(psi) * LOG_TWO_PI + self._weight_terms()[0])
        grad_C = 0.5 * (np.outer(error, error) + spread @ solved_psi.T - factor.matrix_inverse())
        grad_psi = np.outer(error, posterior.mean) - spread - 2.0 * (grad_C @ psi)
        return value, self._model_gradient(grad_C, grad_psi)

    def _model_gradient(self, grad_C: Array, grad_psi: Array) -> Array:
        """Gradient with respect to the model's flat vector, from those with respect to C_k (n, n) and psi (n, k).

        C_k is a function of K_kk, psi and the noise; the second gradient has the part of psi through C_k already.
        """
        solved, inducing = self.solved, inducing_features(self.model)
        gradient = inducing.gradient(solved.X, solved.cross, solved.psi, grad_psi)
        _, _, grad_lengths, grad_signal = inducing.kernel.gradient(solved.X, solved.X, solved.covariance, grad_C)
        diagonal, jitter = np.diagonal(grad_C), _jitter(self.model)
        grad_noise = float(diagonal @ _noise_slope(self.model, self.block)) - 0.5 * self._weight_terms()[1]
        return np.concatenate(
            [
                gradient.inputs.ravel(),
                gradient.log_lengthscale + grad_lengths,
                [gradient.log_variance + grad_signal + jitter * diagonal.sum()],
                [grad_noise],
            ]
        )
