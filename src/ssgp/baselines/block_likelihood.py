"""Blocks that are exact within: the likelihood of PIC (Snelson and Ghahramani 2007; Hoang et al. 2015).

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

__all__ = ["BlockLikelihood", "SolvedBlock", "solve_block"]


@dataclass(frozen=True)
class SolvedBlock:
    """A block of rows and the factor of their covariance given the inducing values.

    Attributes
    ----------
    X, y : arrays of shape (n, d), (n,)
        The rows.
    covariance : array of shape (n, n)
        K_kk.
    cross : array of shape (n, k)
        Covariances of the rows with the inducing values.
    psi : array of shape (n, k)
        Features.
    factor : CholeskyFactor
        Of C_k.
    """

    X: Array
    y: Array
    covariance: Array
    cross: Array
    psi: Array
    factor: CholeskyFactor

    @cached_property
    def whitened(self) -> Array:
        """Features of independent rows of unit noise, shape (n, k)."""
        return self.factor.solve_columns(self.psi)


def inducing_of(model: Model) -> InducingFeatures:
    """The model's inducing features."""
    features = model.features
    if not isinstance(features, InducingMap):
        raise TypeError(f"blocks need inducing features, got {type(features).__name__}")
    return features.inducing


def solve_block(model: Model, block: Block) -> SolvedBlock:
    """Factorise a block's covariance; a row of weight w has noise / w."""
    inducing, X = inducing_of(model), block.X.astype(float)
    covariance, cross = inducing.kernel(X, X), inducing.kernel(X, inducing.places)
    psi = inducing.from_covariance(cross)
    C = covariance - psi @ psi.T
    C[np.diag_indices(len(C))] += _noise(model, block)
    return SolvedBlock(X, block.y.astype(float), covariance, cross, psi, CholeskyFactor.of(C))


def _noise(model: Model, block: Block) -> Array:
    """Of the rows, shape (n,), with what keeps C_k positive definite where psi explains everything."""
    noise = np.full(len(block.y), model.noise) if block.weight is None else model.noise / block.weight
    return noise + 1e-9 * float(np.exp(model.features.log_signal))


class BlockLikelihood:
    """Rows of a block are dependent given the weights; blocks are not."""

    def __init__(self, model: Model, block: Block) -> None:
        self.model, self.block, self.solved = model, block, solve_block(model, block)

    def sums(self) -> Sums:
        """Natural statistics of the block."""
        solved = self.solved
        features, y = solved.whitened, solved.factor.solve(solved.y)
        constant = float(y @ y) + solved.factor.log_determinant + len(y) * LOG_TWO_PI
        return Sums(features.T @ features, y @ features, constant + self._repeats()[0])

    def _repeats(self) -> tuple[float, float]:
        """Minus twice what is left of the log density of rows that count for several, and its slope in log noise.

        A row of weight w, N(y | f, noise)^w, is N(y | f, noise / w) times (2 pi noise)^-(w - 1)/2 w^-1/2.
        """
        if self.block.weight is None:
            return 0.0, 0.0
        weight = self.block.weight.astype(float)
        more = float(np.sum(weight - 1.0))
        return more * (self.model.log_noise + LOG_TWO_PI) + float(np.log(weight).sum()), more

    def gradient(self, posterior: WeightPosterior) -> tuple[float, Array]:
        """Expected log likelihood of the block and its gradient with respect to the model's flat vector."""
        inducing, solved = inducing_of(self.model), self.solved
        psi, factor = solved.psi, solved.factor
        error = factor.solve_transposed(factor.solve(solved.y - psi @ posterior.mean))
        along = factor.solve_columns_transposed(solved.whitened)
        spread = along @ posterior.covariance
        # Derivative of the expected log likelihood with respect to C_k, which holds K_kk, psi and the noise.
        by_C = 0.5 * (np.outer(error, error) + spread @ along.T - factor.matrix_inverse())
        by_psi = np.outer(error, posterior.mean) - spread - 2.0 * (by_C @ psi)
        found = inducing.gradient(solved.X, solved.cross, psi, by_psi)
        kernel = inducing.kernel
        _, _, by_length, by_signal = kernel.gradient(solved.X, solved.X, solved.covariance, by_C)
        noise, diagonal = _noise(self.model, self.block), np.diagonal(by_C)
        floor = 1e-9 * kernel.variance
        residual = float((solved.y - psi @ posterior.mean) @ error) + float(np.sum(spread * psi))
        repeats, by_repeats = self._repeats()
        value = -0.5 * (residual + factor.log_determinant + len(psi) * LOG_TWO_PI + repeats)
        gradient = np.concatenate(
            [
                found.places.ravel(),
                found.log_lengthscale + by_length,
                [found.log_variance + by_signal + floor * diagonal.sum()],
                [float(diagonal @ (noise - floor)) - 0.5 * by_repeats],
            ]
        )
        return value, gradient
