"""The data's part of the bound on one block of rows, with closed-form gradients.

`GlobalObjective` is the paper's: log p(y_k | alpha), with one vector of weights s for all
blocks (Lemma 3, Theorem 1, appendix F). `LocalObjective` is log p(y_k | theta), with weights and
a noise variance per block, integrated out: the likelihood of the model that predicts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import log
from typing import Protocol

import numpy as np
from scipy.linalg.blas import dger, sger  # pyright: ignore[reportAttributeAccessIssue]

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.ridge import invert_ridge, needs_double
from ssgp.engine.workers import KeptThreads
from ssgp.rows.blocks import Block
from ssgp.spectrum.features import features, frequency_gradient, trend_features
from ssgp.spectrum.noise import LEARNING_PRIOR, LOG_TWO_PI, NoisePrior
from ssgp.spectrum.parameters import Hyperparameters

__all__ = ["MOST_PARTS", "BlockGradient", "Draw", "GlobalObjective", "LocalObjective", "Objective"]

# Products of a part of a block's rows that are worth a thread's start, and parts that a block has at most.
PART_WORK = 7_000_000
MOST_PARTS = 4


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
    threads : KeptThreads
        Who shares the rows of a large block. Its parts follow from its size, so that the bits do not depend on them.
    """

    noise_prior: NoisePrior = LEARNING_PRIOR
    trend: bool = False
    trend_inputs: Indices | None = None
    threads: KeptThreads = field(default_factory=KeptThreads)

    def n_weights(self, n_frequencies: int) -> int:
        """No weights: they are integrated out."""
        return 0

    def __call__(self, block: Block, draw: Draw, hyperparameters: Hyperparameters) -> BlockGradient:
        """Value and gradient on one block."""
        n_frequencies, total = len(draw.frequencies), block.total
        ridge = hyperparameters.ridge(n_frequencies)
        # Column-major, as `features` has them.
        phi = np.empty((self._n_features(draw), len(block.y)), block.X.dtype).T
        parts = _parts(*phi.shape)
        weights, inverse, log_determinant = self._solve(phi, block, parts, draw, hyperparameters)
        residual = block.y - phi @ weights.astype(phi.dtype)
        weighted_residual = block.weighted(residual)
        rss = float(residual @ weighted_residual) + ridge * float(weights @ weights)
        precision = float(self.noise_prior.shape_after(total) / self.noise_prior.scale_after(rss))
        trigonometric = slice(2 * n_frequencies)
        pull, spread = (precision * weights[trigonometric]).astype(phi.dtype), inverse[trigonometric].astype(phi.dtype)

        def gradient_of(rows: slice) -> Array:
            part, own = block.part(rows), phi[rows]
            grad_phi = _outer_minus_product(weighted_residual[rows], pull, spread, part.weighted(own))
            return frequency_gradient(grad_phi, own[:, trigonometric], part.X)

        # For each feature by how much a smaller scale of its own would raise the value, per logarithm of it: no product
        # of the trend's features is needed for that.
        gain = 1.0 - ridge * (np.diagonal(inverse) + precision * weights * weights).astype(float)
        by_frequency = _sum(self.threads.map(gradient_of, parts))
        return self.gradient(total, block.X.shape[1], rss, log_determinant, by_frequency, gain)

    def gradient(
        self, total: float, n_inputs: int, rss: float, log_determinant: float, frequencies: Array, gain: Array
    ) -> BlockGradient:
        """Value and gradient on a block that counts for `total` rows of so many inputs.

        Its penalised residual sum of squares, its log |A / ridge|, and derivatives with respect to the frequencies
        (m, d) and, up to a factor of two, to the logarithms of the features' own prior variances (q,) are known.
        """
        grad_log_ridge = 0.5 * float(gain.sum())
        return BlockGradient(
            value=float(self.noise_prior.log_evidence(total, rss)) - 0.5 * log_determinant,
            frequencies=frequencies,
            log_noise=grad_log_ridge,
            log_signal=-grad_log_ridge,
            log_lengthscale=self._lengthscale_gradient(gain, n_inputs),
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

    def _n_features(self, draw: Draw) -> int:
        """Features of a row: 2m cosines and sines, and with a trend the constant and linear ones."""
        m, n_inputs = draw.frequencies.shape
        n_linear = n_inputs if self.trend_inputs is None else len(self.trend_inputs)
        return 2 * m + (1 + n_linear if self.trend else 0)

    def _put_features(self, X: Array, draw: Draw, hyperparameters: Hyperparameters, phi: Array) -> None:
        """Put the features of rows X (n, d) into `phi`."""
        m = len(draw.frequencies)
        features(X, draw.frequencies, out=phi[:, : 2 * m].T)
        if self.trend:
            inputs = slice(None) if self.trend_inputs is None else self.trend_inputs
            trend_features(X[:, inputs], hyperparameters.lengthscale[inputs], m, out=phi[:, 2 * m :].T)

    def _solve(
        self, phi: Array, block: Block, parts: list[slice], draw: Draw, hyperparameters: Hyperparameters
    ) -> tuple[Array, Array, float]:
        """Put the block's features into `phi`; weights, inverse and log determinant of its model.

        These are in float64 where float32 is not enough, or fails.
        """
        n_frequencies = len(draw.frequencies)
        ridge = hyperparameters.ridge(n_frequencies)
        # The trace of the products of m cosines and sines is m times the number of rows.
        double = bool(needs_double(np.asarray(block.total), ridge, n_frequencies))

        def put_and_sum(rows: slice) -> tuple[Array, Array]:
            self._put_features(block.X[rows], draw, hyperparameters, phi[rows])
            return _products(phi[rows], block.part(rows), double)

        try:
            return _solve(self.threads.map(put_and_sum, parts), ridge)
        except np.linalg.LinAlgError:
            if double or phi.dtype == float:
                raise
            in_double = self.threads.map(lambda rows: _products(phi[rows], block.part(rows), double=True), parts)
            return _solve(in_double, ridge)


def _products(phi: Array, block: Block, double: bool) -> tuple[Array, Array]:
    """Products of features (n, q) with each other, and with the target, in float64 where `double`."""
    precise = phi.astype(float, copy=False) if double else phi
    weighted = block.weighted(precise)
    return precise.T @ weighted, weighted.T @ block.y


def _solve(products: list[tuple[Array, Array]], ridge: float) -> tuple[Array, Array, float]:
    """Weights, inverse and log determinant, from the products of the parts of a block."""
    grams, moments = zip(*products, strict=True)
    return invert_ridge(_sum(grams), _sum(moments), ridge)


def _parts(n_rows: int, n_features: int) -> list[slice]:
    """Rows of a block whose sums are taken together: all of a small one."""
    n_parts = int(min(max(1, n_rows * n_features**2 // PART_WORK), MOST_PARTS))
    bounds = [n_rows * i // n_parts for i in range(n_parts + 1)]
    return [slice(first, last) for first, last in pairwise(bounds)]


def _sum(parts: Sequence[Array]) -> Array:
    """The sum of arrays in their order, in the memory of the first."""
    first, *others = parts
    for part in others:
        first += part
    return first


def _outer_minus_product(rows: Array, columns: Array, symmetric: Array, phi: Array) -> Array:
    """``outer(rows, columns) - phi @ symmetric.T``, in the memory order of the features; `symmetric` by some rows."""
    out = (-symmetric @ phi.T).T
    add_outer = sger if out.dtype == np.float32 else dger
    return add_outer(1.0, rows, columns, a=out, overwrite_a=True)
