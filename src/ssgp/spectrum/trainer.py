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
    set_affine_gradient,
    summarize_mixing,
)

__all__ = ["BoundEstimator", "Estimate", "Plateau", "Schedule", "Trainer"]


# Blocks of a probe of the bound, at most.
BLOCKS_PER_PROBE = 10
# Steps over which the step size falls after a plateau, at least.
LEAST_DECAY = 50
# The mixing matrix is the one part of a step whose cost does not depend on the rows: it moves once in this many steps,
# on the mean of their gradients.
STEPS_PER_MIXING_STEP = 8
# Blocks and z of this many steps are drawn together: fewer, larger calls.
STEPS_PER_SAMPLE = 32
NUMBERS_PER_SAMPLE = 1 << 22
# In the units of standardised data. Noise below its least variance is the rounding of float32 features.
NOISE_RANGE = (1e-6, 1e6)
SIGNAL_RANGE = (1e-6, 1e6)
LENGTHSCALE_RANGE = (1e-4, 1e6)


@dataclass(frozen=True)
class Estimate:
    """Stochastic estimate of the bound per row, and its gradient.

    Attributes
    ----------
    bound : float
        L / n.
    gradient : Parameters
        Derivative with respect to everything but `mixing`.
    mixing : MixingFactors
        The data's part of the derivative with respect to `mixing`.
    """

    bound: float
    gradient: Parameters
    mixing: MixingFactors


class BoundEstimator:
    """Estimator of the bound per row, L / n, and of its gradient with respect to all parameters.

    Parameters
    ----------
    objective : Objective
        The data's part of the bound.
    base : Base
        Distribution psi of z.
    learn_hyperparameters : bool
        Whether the kernel and noise have a gradient.
    tail_scales : array of shape (m, 1) or float
        Factors of the frequencies' prior deviations, see `ssgp.spectrum.kernels`.
    """

    def __init__(
        self, objective: Objective, base: Base, learn_hyperparameters: bool, tail_scales: Array | float = 1.0
    ) -> None:
        self.objective, self.base, self.tail_scales = objective, base, tail_scales
        self.learn_hyperparameters = learn_hyperparameters

    def draw(self, layout: Layout, n_draws: int, rng: np.random.Generator) -> Array:
        """Draws of z, shape (n_draws, D)."""
        return np.asarray(self.base.sample(rng, (n_draws, layout.dimension)))

    def __call__(
        self, parameters: Parameters, summary: MixingSummary, rows: Rows, blocks: Sequence[int], z: Array
    ) -> Estimate:
        """Estimate from a sample of blocks and draws z (draws, D) (appendix G)."""
        n = rows.total
        hyperparameters = parameters.hyperparameters
        deviation = deviations(parameters, z)
        u = parameters.shift + deviation
        gradient = Parameters.zeros(parameters.layout.without_mixing, parameters.flat.dtype)
        grad_u = np.empty_like(u)
        value, share = 0.0, rows.n_blocks / (len(blocks) * len(z) * n)
        for j, draw in enumerate(self._draws(parameters.layout, hyperparameters, u)):
            total = _sum_gradients([self.objective(rows.block(k), draw, hyperparameters) for k in blocks])
            value += share * total.value
            grad_u[j] = self._whitened_gradient(total, hyperparameters, share * len(z))
            if self.learn_hyperparameters:
                _add_hyperparameters(gradient, total, draw, share)
        grad_u += prior_gradient(self.base, u, n)
        factors = set_affine_gradient(gradient, parameters, z, deviation, grad_u)
        divergence = add_divergence(gradient, parameters, summary, self.base, z, u, n)
        return Estimate(value - divergence / n, gradient, factors)

    def _draws(self, layout: Layout, hyperparameters: Hyperparameters, u: Array) -> Iterator[Draw]:
        """Frequencies and weights in the data's units, for each draw of u (draws, D)."""
        weight_unit = hyperparameters.weight_deviation(layout.n_frequencies)
        frequency_unit = self._frequency_deviation(hyperparameters).astype(u.dtype)
        for whitened in u:
            frequencies = whitened[: layout.n_theta].reshape(layout.n_frequencies, layout.n_inputs)
            weights = weight_unit * whitened[layout.n_theta :] if layout.n_weights else None
            yield Draw(frequencies * frequency_unit, weights)

    def _frequency_deviation(self, hyperparameters: Hyperparameters) -> Array:
        """Prior deviations of the frequencies, shape (d,) or (m, d)."""
        return self.tail_scales * hyperparameters.frequency_deviation

    def _whitened_gradient(self, total: BlockGradient, hyperparameters: Hyperparameters, share: float) -> Array:
        """Gradient with respect to u at one draw, shape (D,)."""
        grad_theta = (total.frequencies * (share * self._frequency_deviation(hyperparameters))).ravel()
        if total.weights is None:
            return grad_theta
        weight_unit = share * hyperparameters.weight_deviation(len(total.frequencies))
        return np.concatenate([grad_theta, weight_unit * total.weights])


def _add_hyperparameters(gradient: Parameters, total: BlockGradient, draw: Draw, share: float) -> None:
    """Add one draw's gradient of the hyperparameters, through the frequencies and weights they scale."""
    grad_log_signal = total.log_signal
    if total.weights is not None and draw.weights is not None:
        grad_log_signal += 0.5 * float(total.weights @ draw.weights)
    gradient.log_lengthscale -= share * np.einsum("ij,ij->j", total.frequencies, draw.frequencies)
    if total.log_lengthscale is not None:
        gradient.log_lengthscale += share * total.log_lengthscale
    gradient.log_signal += share * grad_log_signal
    gradient.log_noise += share * total.log_noise


def _sum_gradients(parts: list[BlockGradient]) -> BlockGradient:
    """Value and derivatives, summed over the sampled blocks."""
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
    """Detector of the end of a rise: `patience` values in a row, none above the best so far by more than `tol`."""

    def __init__(self, tol: float, patience: int) -> None:
        self.tol, self.patience = tol, patience
        self._best, self._n_flat = -np.inf, 0

    def update(self, value: float) -> bool:
        """Whether the sequence is flat, after one more value."""
        self._n_flat = 0 if value > self._best + self.tol else self._n_flat + 1
        self._best = max(self._best, value)
        return self._n_flat >= self.patience


@dataclass(frozen=True)
class Schedule:
    """Number of steps, and their sizes: the last ones fall to zero, before `max_iter` or after a plateau.

    Attributes
    ----------
    max_iter : int
        Upper limit of the steps.
    tol : float or None
        Rise of the bound per row that counts as improvement; None for no early stop.
    decay_share : float
        Share of the steps over which the step size falls to zero.
    decay_after_plateau : float
        Steps over which it falls after a plateau, for each step before.
    steps_per_probe, blocks_per_probe, probes_per_plateau : int
        Steps between two probes of the bound, blocks of a probe, and probes without a rise that make a plateau.
    """

    max_iter: int
    tol: float | None
    decay_share: float = 0.4
    decay_after_plateau: float = 0.4
    steps_per_probe: int = 100
    blocks_per_probe: int = BLOCKS_PER_PROBE
    probes_per_plateau: int = 10


class Trainer:
    """Stochastic gradient ascent of the bound; between two steps the parameters are those of a complete model.

    Parameters
    ----------
    estimator : BoundEstimator
        The bound and its gradient.
    parameters : Parameters
        Where to start; moved in place.
    rows : Rows
        The blocks that are sampled.
    optimizers : pair of Optimizer
        For the vectors among the parameters, and for the mixing matrix.
    rng : Generator
        Source of the sampled blocks and of z.
    blocks_per_step, draws_per_step : int
        a and b of appendix G.
    least_noise : float
        Lower limit of the noise variance.
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
        least_noise: float = NOISE_RANGE[0],
    ) -> None:
        self.estimator, self.parameters, self.rows, self.rng = estimator, parameters, rows, rng
        self.blocks_per_step, self.draws_per_step = blocks_per_step, draws_per_step
        self.bounds: list[float] = []
        self.n_skipped = 0
        self._vector_optimizer, self._mixing_optimizer = optimizers
        self._mixing_factors: list[MixingFactors] = []
        self._samples = self._sample()
        self._summary = summarize_mixing(parameters)
        self._hyper_range = _hyper_range(parameters, least_noise)
        self._probe_blocks = rng.permutation(rows.n_blocks)[:BLOCKS_PER_PROBE].tolist()
        self._probe_z = estimator.draw(parameters.layout, 1, rng).astype(parameters.flat.dtype)

    def step(self, factor: float = 1.0) -> float:
        """Take a step, scaled by `factor`; return the estimate of L / n before it."""
        estimate = self._estimate(*next(self._samples))
        if estimate is None:
            self.n_skipped += 1
            self.bounds.append(self.bounds[-1] if self.bounds else -np.inf)
            return self.bounds[-1]
        self.parameters.vectors += self._vector_optimizer.step(estimate.gradient.vectors, factor)
        if self.estimator.learn_hyperparameters:
            np.clip(self.parameters.hyper, *self._hyper_range, out=self.parameters.hyper)
        self._step_mixing(estimate.mixing, factor)
        self.bounds.append(estimate.bound)
        return estimate.bound

    def run(self, schedule: Schedule) -> Iterator[int]:
        """Take steps until the schedule ends, yielding their number so far."""
        plateau = None if schedule.tol is None else Plateau(schedule.tol, schedule.probes_per_plateau)
        end = schedule.max_iter
        n_decay = max(1, int(schedule.decay_share * end))
        for t in range(schedule.max_iter):
            self.step(min(1.0, (end - t) / n_decay))
            yield t + 1
            if t + 1 >= end:
                return
            due = (t + 1) % schedule.steps_per_probe == 0 and t < end - n_decay
            if plateau is not None and due and plateau.update(self.probe(schedule.blocks_per_probe)):
                n_decay = max(LEAST_DECAY, int(schedule.decay_after_plateau * t))
                end = min(end, t + 1 + n_decay)

    def probe(self, most_blocks: int = BLOCKS_PER_PROBE) -> float:
        """Estimate of L / n on blocks and z that stay the same, so that two probes can be compared."""
        estimate = self._estimate(self._probe_blocks[:most_blocks], self._probe_z)
        return -np.inf if estimate is None else estimate.bound

    def _sample(self) -> Iterator[tuple[list[int], Array]]:
        """Sets I and Z of appendix G, for one step after another."""
        layout, dtype = self.parameters.layout, self.parameters.flat.dtype
        n_steps = max(1, min(STEPS_PER_SAMPLE, NUMBERS_PER_SAMPLE // layout.dimension))
        while True:
            blocks = self.rng.integers(0, self.rows.n_blocks, (n_steps, self.blocks_per_step)).tolist()
            z = self.estimator.draw(layout, n_steps * self.draws_per_step, self.rng).astype(dtype)
            yield from zip(blocks, np.split(z, n_steps), strict=True)

    def _step_mixing(self, factors: MixingFactors, factor: float) -> None:
        """Add to the gradient of the mixing matrix, and move it when the gradient is of enough steps."""
        if self.parameters.layout.kind == "diagonal":
            return
        self._mixing_factors.append(factors)
        if len(self._mixing_factors) < STEPS_PER_MIXING_STEP:
            return
        gradient = mixing_gradient(self.parameters, self._mixing_factors, self.estimator.base, self.rows.total)
        self._mixing_factors = []
        self.parameters.mixing += self._mixing_optimizer.step(gradient, factor)
        self._summary = summarize_mixing(self.parameters)

    def _estimate(self, blocks: list[int], z: Array) -> Estimate | None:
        """Estimate of the bound, None where it fails or is not finite: that costs one step, never the run."""
        try:
            with np.errstate(all="ignore"):
                estimate = self.estimator(self.parameters, self._summary, self.rows, blocks, z)
                vectors = estimate.gradient.vectors
                finite = isfinite(estimate.bound) and isfinite(vectors @ vectors)
        except np.linalg.LinAlgError:
            return None
        return estimate if finite else None
