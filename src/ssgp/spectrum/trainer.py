"""Stochastic maximisation of the bound (appendix G): sample blocks, sample z, take a step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.rows.blocks import Rows
from ssgp.spectrum.bases import Base
from ssgp.spectrum.objectives import BlockGradient, Draw, Objective
from ssgp.spectrum.optimizers import Optimizer
from ssgp.spectrum.parameters import Hyperparameters, Layout, Parameters
from ssgp.spectrum.posterior import (
    MixingFactors,
    MixingSummary,
    add_divergence,
    deviations,
    mixing_gradient,
    prior_gradient,
    pull_back,
    summarize_mixing,
)

__all__ = ["BoundEstimator", "Estimate", "Plateau", "Schedule", "Trainer"]


N_PROBE_BLOCKS = 10

# In the units of standardised data; the noise's floor is a share of the target's variance, and below it the float32
# features' own rounding is the noise.
NOISE_RANGE = (1e-6, 1e6)
SIGNAL_RANGE = (1e-6, 1e6)
LENGTHSCALE_RANGE = (1e-4, 1e6)


@dataclass(frozen=True)
class Estimate:
    """A stochastic estimate of the bound over n, and its gradient.

    Attributes
    ----------
    bound : float
        L / n.
    gradient : Parameters
        Derivative with respect to everything but `mixing` (left untouched).
    mixing : MixingFactors
        The data's part of the derivative with respect to `mixing`.
    """

    bound: float
    gradient: Parameters
    mixing: MixingFactors


class BoundEstimator:
    """The stochastic bound L and its gradient with respect to all parameters, both over n.

    Parameters
    ----------
    objective : Objective
        The data's part.
    base : Base
        psi(z).
    learn_hyperparameters : bool
        Whether the kernel and noise have a gradient.
    tail : array of shape (m, 1) or None
        Factors of the frequencies' prior deviations, see `ssgp.spectrum.kernels`.
    """

    def __init__(
        self,
        objective: Objective,
        base: Base,
        learn_hyperparameters: bool,
        tail: Array | None = None,
    ) -> None:
        self.objective, self.base, self.tail = objective, base, tail
        self.learn_hyperparameters = learn_hyperparameters

    def draw(self, layout: Layout, n_draws: int, rng: np.random.Generator) -> Array:
        """Base variates z, shape (n_draws, D)."""
        return np.asarray(self.base.sample(rng, (n_draws, layout.dimension)))

    def __call__(
        self, parameters: Parameters, summary: MixingSummary, rows: Rows, blocks: Sequence[int], z: Array
    ) -> Estimate:
        """Estimate from the given blocks and base variates (appendix G)."""
        n = rows.total
        hyperparameters = parameters.hyperparameters
        spread = deviations(parameters, z)
        alpha = parameters.shift + spread
        gradient = Parameters.zeros(parameters.layout.without_mixing, parameters.flat.dtype)
        by_alpha = np.empty_like(alpha)
        value, share = 0.0, rows.n_blocks / (len(blocks) * len(z) * n)
        for j, draw in enumerate(self._draws(parameters, hyperparameters, alpha)):
            total = _sum([self.objective(rows.block(k), draw, hyperparameters) for k in blocks])
            value += share * total.value
            by_alpha[j] = self._by_whitened(total, hyperparameters, share * len(z))
            if self.learn_hyperparameters:
                _add_hyperparameters(gradient, total, draw, share)
        by_alpha += prior_gradient(self.base, alpha, n)
        factors = pull_back(gradient, parameters, z, spread, by_alpha)
        divergence = add_divergence(gradient, parameters, summary, self.base, z, alpha, n)
        return Estimate(value - divergence / n, gradient, factors)

    def _draws(self, parameters: Parameters, hyperparameters: Hyperparameters, alpha: Array) -> Iterator[Draw]:
        """Take draws of u to frequencies and weights in the data's units."""
        layout = parameters.layout
        unit = hyperparameters.weight_deviation(layout.n_frequencies)
        deviation = self._frequency_deviation(hyperparameters).astype(alpha.dtype)
        for u in alpha:
            whitened = u[: layout.n_theta].reshape(layout.n_frequencies, layout.n_inputs)
            weights = unit * u[layout.n_theta :] if layout.n_weights else None
            yield Draw(whitened * deviation, weights)

    def _frequency_deviation(self, hyperparameters: Hyperparameters) -> Array:
        """Prior deviations of the frequencies, shape (d,) or (m, d)."""
        deviation = hyperparameters.frequency_deviation
        return deviation if self.tail is None else self.tail * deviation

    def _by_whitened(self, total: BlockGradient, hyperparameters: Hyperparameters, share: float) -> Array:
        """Gradient with respect to u at one draw."""
        by_theta = (total.frequencies * (share * self._frequency_deviation(hyperparameters))).ravel()
        if total.weights is None:
            return by_theta
        unit = share * hyperparameters.weight_deviation(len(total.frequencies))
        return np.concatenate([by_theta, unit * total.weights])


def _add_hyperparameters(gradient: Parameters, total: BlockGradient, draw: Draw, share: float) -> None:
    """Add one draw's gradient of the hyperparameters, through the frequencies and weights they scale."""
    by_log_signal = total.log_signal
    if total.weights is not None and draw.weights is not None:
        by_log_signal += 0.5 * float(total.weights @ draw.weights)
    gradient.log_lengthscale -= share * np.einsum("ij,ij->j", total.frequencies, draw.frequencies)
    if total.log_lengthscale is not None:
        gradient.log_lengthscale += share * total.log_lengthscale
    gradient.log_signal += share * by_log_signal
    gradient.log_noise += share * total.log_noise


def _sum(parts: list[BlockGradient]) -> BlockGradient:
    """Sum over the sampled blocks."""
    if len(parts) == 1:
        return parts[0]
    weights: list[Any] = [part.weights for part in parts]
    lengthscales: list[Any] = [part.log_lengthscale for part in parts]
    return BlockGradient(
        value=sum(part.value for part in parts),
        frequencies=np.sum([part.frequencies for part in parts], axis=0),
        log_noise=sum(part.log_noise for part in parts),
        log_signal=sum(part.log_signal for part in parts),
        weights=None if weights[0] is None else np.sum(weights, axis=0),
        log_lengthscale=None if lengthscales[0] is None else np.sum(lengthscales, axis=0),
    )


def _hyper_range(parameters: Parameters, least_noise: float) -> tuple[Array, Array]:
    """Least and greatest logarithms of the lengthscales, the signal and the noise; the start lies between them."""
    ranges = [LENGTHSCALE_RANGE] * parameters.layout.n_inputs + [SIGNAL_RANGE, (least_noise, NOISE_RANGE[1])]
    least, greatest = np.log(np.array(ranges, dtype=parameters.flat.dtype)).T
    return np.minimum(least, parameters.hyper), np.maximum(greatest, parameters.hyper)


class Plateau:
    """Tells when a rising sequence has stopped rising.

    Parameters
    ----------
    tol : float
        Rise above the best value so far that counts.
    patience : int
        Values in a row without such a rise before the answer is yes.
    """

    def __init__(self, tol: float, patience: int = 10) -> None:
        self.tol, self.patience = tol, patience
        self._best, self._waited = -np.inf, 0

    def update(self, value: float) -> bool:
        """Take the next value; True once the sequence is flat."""
        self._waited = 0 if value > self._best + self.tol else self._waited + 1
        self._best = max(self._best, value)
        return self._waited >= self.patience


@dataclass(frozen=True)
class Schedule:
    """When to stop: at `max_iter`, or on a plateau, after winding the steps down to nothing.

    Attributes
    ----------
    max_iter : int
        Upper limit of the steps.
    tol : float or None
        Rise of the bound per row that counts as improvement; None for never stopping early.
    wind_down : float
        Share of the steps over which the step size falls to zero.
    probe_every : int
        How often to look at the bound.
    """

    max_iter: int
    tol: float | None
    wind_down: float = 0.4
    probe_every: int = 100


class Trainer:
    """Runs the ascent a step at a time; between steps the parameters are whole.

    Parameters
    ----------
    estimator : BoundEstimator
        Gives value and gradient.
    parameters : Parameters
        Where to start; moved in place.
    rows : Rows
        The blocks that are sampled.
    optimizers : pair of Optimizer
        For the vectors among the parameters, and for the mixing matrix.
    rng : Generator
        Draws blocks and z.
    blocks_per_step, draws_per_step : int
        a and b of appendix G.
    mixing_every : int
        The D x D mixing matrix, the one part of a step whose cost does not depend on the
        rows, moves once in so many steps, on the mean of their gradients.
    least_noise : float
        The noise variance stays above it.
    """

    def __init__(
        self,
        estimator: BoundEstimator,
        parameters: Parameters,
        rows: Rows,
        optimizers: tuple[Optimizer, Optimizer],
        rng: np.random.Generator,
        blocks_per_step: int = 1,
        draws_per_step: int = 1,
        mixing_every: int = 8,
        least_noise: float = NOISE_RANGE[0],
    ) -> None:
        self.estimator, self.parameters, self.rows, self.rng = estimator, parameters, rows, rng
        self.blocks_per_step, self.draws_per_step, self.mixing_every = blocks_per_step, draws_per_step, mixing_every
        self.bounds: list[float] = []
        self.n_skipped = 0
        self._for_vectors, self._for_mixing = optimizers
        self._pending: list[MixingFactors] = []
        self._samples = self._sample()
        self._summary = summarize_mixing(parameters)
        self._hyper_range = _hyper_range(parameters, least_noise)
        self._probe_blocks = rng.permutation(rows.n_blocks)[:N_PROBE_BLOCKS].tolist()
        self._probe_z = estimator.draw(parameters.layout, 1, rng).astype(parameters.flat.dtype)

    def step(self, shrink: float = 1.0) -> float:
        """One stochastic step; returns the estimate of L / n before it."""
        estimate = self._estimate(*next(self._samples))
        if estimate is None:
            self.n_skipped += 1
            self.bounds.append(self.bounds[-1] if self.bounds else -np.inf)
            return self.bounds[-1]
        self.parameters.vectors += self._for_vectors.step(estimate.gradient.vectors, shrink)
        if self.estimator.learn_hyperparameters:
            np.clip(self.parameters.hyper, *self._hyper_range, out=self.parameters.hyper)
        self._mix(estimate.mixing, shrink)
        self.bounds.append(estimate.bound)
        return estimate.bound

    def run(self, schedule: Schedule) -> Iterator[int]:
        """Step until the schedule ends, yielding the number of steps taken."""
        plateau, end = None if schedule.tol is None else Plateau(schedule.tol), schedule.max_iter
        winding = max(1, int(schedule.wind_down * end))
        for t in range(schedule.max_iter):
            self.step(min(1.0, (end - t) / winding))
            yield t + 1
            if t + 1 >= end:
                return
            looks = (t + 1) % schedule.probe_every == 0 and t < end - winding
            if plateau is not None and looks and plateau.update(self.probe()):
                winding = max(50, int(schedule.wind_down * t))
                end = min(end, t + 1 + winding)

    def probe(self) -> float:
        """L / n on blocks and base variates that stay the same, so that two looks can be compared."""
        estimate = self._estimate(self._probe_blocks, self._probe_z)
        return -np.inf if estimate is None else estimate.bound

    def _sample(self, ahead: int = 32) -> Iterator[tuple[list[int], Array]]:
        """Sets I and Z of appendix G for step after step, drawn some steps ahead: fewer, larger calls."""
        layout, dtype = self.parameters.layout, self.parameters.flat.dtype
        while True:
            blocks = self.rng.integers(0, self.rows.n_blocks, (ahead, self.blocks_per_step)).tolist()
            z = self.estimator.draw(layout, ahead * self.draws_per_step, self.rng).astype(dtype)
            yield from zip(blocks, np.split(z, ahead), strict=True)

    def _mix(self, factors: MixingFactors, shrink: float) -> None:
        if self.parameters.layout.kind == "diagonal":
            return
        self._pending.append(factors)
        if len(self._pending) < self.mixing_every:
            return
        gradient = mixing_gradient(self.parameters, self._pending, self.estimator.base, self.rows.total)
        self._pending = []
        self.parameters.mixing += self._for_mixing.step(gradient, shrink)
        self._summary = summarize_mixing(self.parameters)

    def _estimate(self, blocks: list[int], z: Array) -> Estimate | None:
        """Estimate the bound; a block on which it fails or is not finite costs its step, never the run."""
        try:
            with np.errstate(all="ignore"):
                estimate = self.estimator(self.parameters, self._summary, self.rows, blocks, z)
                vectors = estimate.gradient.vectors
                finite = isfinite(estimate.bound) and isfinite(vectors @ vectors)
        except np.linalg.LinAlgError:
            return None
        return estimate if finite else None
