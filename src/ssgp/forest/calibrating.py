"""Calibrations learned from held-out rows, by maximum likelihood with gradients in closed form."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import minimize

from ssgp._utils.arrays import Array
from ssgp._utils.weights import MOST_SHARE_OF_ERRORS, limit_share
from ssgp.distributions.base import LEAST_DOF
from ssgp.distributions.student_mixture import LEAST_COMBINED_DOF
from ssgp.forest.calibration import Calibration, Components
from ssgp.forest.noise_shape import NoiseShape, NoiseTrend, RowNoise

__all__ = [
    "START",
    "Density",
    "DensityOf",
    "HeldOutTargets",
    "Likelihood",
    "LikelihoodPart",
    "calibrated_score",
    "fit_calibration",
]

# The mean log density of rows, and its gradient, as a function of free numbers.
Density = Callable[[Array], tuple[float, Array]]

# Components of a shape that is not a Student-t, and of a finer one that halves each of them.
SHAPE_COMPONENTS = 8
FINER_COMPONENTS = 16
# How far the halves of a component are from it at first, in its scales, and the change of their log scales.
HALF_APART, HALF_NARROWER = 0.6, -0.2
# What each number of a shape must gain, in nats of all held-out rows together.
NATS_PER_NUMBER = 1.0
# What more components must gain per row, since they take more time to ask: one for every tree over one for all trees,
# and those of a finer shape.
NATS_PER_ROW = 0.003
# Bounds of the ten numbers of every calibration, as `Likelihood.calibration` has them, and where the search begins.
BOUNDS = [(-5.0, 5.0), (-5.0, 5.0), (-6.0, 6.0), (-6.0, 6.0), *[(-3.0, 3.0)] * 2, (-8.0, 4.0), *[(-2.0, 2.0)] * 3]
START = np.array([0.0] * 6 + [-1.0] + [0.0] * 3)
# The same of a shape's numbers: offsets and log scales of all components, then their slopes.
OFFSET_BOUNDS, SCALE_BOUNDS, SLOPE_BOUNDS = (-6.0, 6.0), (-4.0, 3.0), (-2.0, 2.0)
SHAPE_START = np.concatenate([np.linspace(-0.7, 0.7, SHAPE_COMPONENTS), np.full(SHAPE_COMPONENTS, -0.3)])
# Factors of the squares of the free numbers in the search: of the ten, of a shape's, of its slopes.
PRIOR, SHAPE_PRIOR, SLOPE_PRIOR = 2.0, 1.0, 2.0
# How long the search goes on; of many rows it has more to find, and of few it would follow them too closely.
OPTIONS, OPTIONS_OF_MANY = {"maxiter": 60, "ftol": 1e-7}, {"maxiter": 120, "maxcor": 20, "ftol": 1e-7}
LAST_OPTIONS = {"maxiter": 60, "maxcor": 20, "ftol": 1e-7}
MANY_ROWS = 10_000
# Least deviation of the predicted means, in the model's units.
LEAST_DEVIATION = 1e-9
# Rows whose arrays of numbers for each component stay in a core's cache, where calls of a part are long beside their
# number. Threads for parts of them wait for each other.
ROWS_PER_PART = 8192
# Of many rows about so many, from all over the table, tell where the best numbers are: all of them judge these, and
# have the last steps.
FEWER_ROWS = 5000


def fit_calibration(
    components: Components, y: Array, weight: Array | None = None, density_of: "DensityOf | None" = None
) -> tuple[Calibration, float]:
    """The calibration under which held-out rows are most probable, and their mean log density.

    The density is computed by the processor, or by what `density_of` makes of the likelihood.

    It has a component for every tree, one for all trees, or a shape around their mean: whatever is so much more
    probable that its numbers, or the time of many components, are worth it. The priors are worth a few rows: enough to
    decide where there is nothing to learn from.
    """
    rows, fit = HeldOutTargets.of(y, weight), partial(_fit, density_of=density_of or Likelihood.density)
    separate = fit(Likelihood(components, rows, together=False), START)
    last = fit(Likelihood(components, rows, together=True), START)
    candidates = [last, separate]
    for start in (SHAPE_START, np.zeros_like(SHAPE_START)):
        before, last = last, fit(last.likelihood, np.concatenate([last.free, start]))
        candidates.append(last)
        if last.worth < before.worth:
            break
    best = max(candidates, key=lambda fitted: fitted.worth)
    if len(best.free) > len(START):
        finer = fit(Likelihood(components, rows, True, FINER_COMPONENTS), _halved(best.free))
        best = max(best, finer, key=lambda fitted: fitted.worth)
    best = fit(best.likelihood, best.free, to_all=True) if best.likelihood.has_many else best
    return best.likelihood.calibration(best.free), best.score


def calibrated_score(components: Components, y: Array, weight: Array | None = None) -> float:
    """Mean log density of held-out rows under the best calibration with a component for every tree."""
    likelihood = Likelihood(components, HeldOutTargets.of(y, weight), together=False)
    return _fit(likelihood, START, Likelihood.density).score


@dataclass(frozen=True)
class HeldOutTargets:
    """Targets of n held-out rows, the share of each in their likelihood, and how many rows they count for."""

    y: Array
    share: Array
    total: float

    @classmethod
    def of(cls, y: Array, weight: Array | None) -> "HeldOutTargets":
        """Targets of rows with these weights."""
        if weight is None:
            return cls(y, np.full(len(y), 1.0 / len(y)), float(len(y)))
        limited = limit_share(weight, MOST_SHARE_OF_ERRORS)
        total = float(limited.sum())
        return cls(y, limited / total, total)

    def part(self, rows: slice) -> "HeldOutTargets":
        """Some of the rows, with their shares of all."""
        return HeldOutTargets(self.y[rows], self.share[rows], self.total)

    def alone(self, rows: slice) -> "HeldOutTargets":
        """Some of the rows, as if there were no others."""
        share = self.share[rows].sum()
        return HeldOutTargets(self.y[rows], self.share[rows] / share, self.total * share)


class Likelihood:
    """The likelihood of held-out rows as a function of a calibration's free numbers.

    These are ten, around zero where the trees are taken at their word, and, of a shape, two or four for each of its
    components.

    Parameters
    ----------
    components : Components
        Predictions of the rows by T trees.
    rows : HeldOutTargets
        Their targets.
    together : bool
        Whether all trees have one component, or one shape, or each its own.
    n_components : int
        Components of a shape.
    """

    def __init__(
        self, components: Components, rows: HeldOutTargets, together: bool, n_components: int = SHAPE_COMPONENTS
    ) -> None:
        self.rows, self.together, self.n_components = rows, together, n_components
        noise: RowNoise = components.row_noise(together)
        share, mean = rows.share, noise.mean
        self.usual_log_noise = float(share @ noise.log_noise)
        self.usual_variation = float(share @ noise.variation)
        self.usual_mean = float(share @ mean)
        self.usual_deviation = max(float(np.sqrt(share @ (mean - self.usual_mean) ** 2)), LEAST_DEVIATION)
        position = self._trend(START).position(mean)

        def part(own: slice, rows: HeldOutTargets) -> LikelihoodPart:
            return LikelihoodPart(rows, components.mean[:, own], noise.rows(own), position[own])

        slices = [slice(i, i + ROWS_PER_PART) for i in range(0, len(mean), ROWS_PER_PART)]
        self.parts = [part(own, rows.part(own)) for own in slices]
        fewer = slice(None, None, -(-len(mean) // FEWER_ROWS))
        self.fewer = part(fewer, rows.alone(fewer)) if self.has_many else None

    @property
    def has_many(self) -> bool:
        """Whether there are so many rows that fewer tell about where the best numbers are."""
        return len(self.rows.y) >= MANY_ROWS

    def calibration(self, free: Array) -> Calibration:
        """The calibration of free numbers."""
        noise, leverage, spread, dof = free[:4].tolist()
        return Calibration(
            noise=float(np.exp(0.5 * noise)),
            leverage=float(np.exp(leverage)),
            spread=0.0 if self.together else float(1.0 / (1.0 + np.exp(-spread))),
            dof=LEAST_DOF + 17.0 * float(np.exp(dof)),
            trend=self._trend(free),
            shape=_shape(free[len(START) :], self.n_components) if self.together else None,
        )

    def _trend(self, free: Array) -> NoiseTrend:
        power, between, disagreement, slope, bend, variation = free[4 : len(START)].tolist()
        return NoiseTrend(
            power=1.0 + power,
            between=0.0 if self.together else 1.0 + between,
            disagreement=float(np.exp(disagreement - 2.0)),
            slope=slope,
            bend=bend,
            variation=variation,
            usual_log_noise=self.usual_log_noise,
            usual_variation=self.usual_variation,
            usual_mean=self.usual_mean,
            usual_deviation=self.usual_deviation,
        )

    def density(self, parts: "Sequence[LikelihoodPart]") -> Density:
        """The mean log density of the rows of some parts, and its gradient, as a function of the free numbers."""

        def with_gradient(free: Array) -> tuple[float, Array]:
            calibration, trend = self.calibration(free), self._trend(free)
            value, gradient = 0.0, np.zeros(len(free))
            for part in parts:
                own_value, own_gradient = part.with_gradient(calibration, trend, len(free))
                value, gradient = value + own_value, gradient + own_gradient
            return value, gradient

        return with_gradient


@dataclass(frozen=True)
class LikelihoodPart:
    """Some held-out rows of a likelihood, with all that is known of them.

    Attributes
    ----------
    rows : HeldOutTargets
        Targets and shares of n rows.
    means : array of shape (T, n)
        Means of the trees.
    noise : RowNoise
        What they say of the noise.
    position : array of shape (n,)
        Positions of the rows' means.
    """

    rows: HeldOutTargets
    means: Array
    noise: RowNoise
    position: Array

    def with_gradient(self, calibration: Calibration, trend: NoiseTrend, n_free: int) -> tuple[float, Array]:
        """The rows' part of the mean log density, and of its gradient by so many free numbers."""
        rows, shape = self.rows, calibration.shape
        mixture = calibration.of_rows(self.means, self.noise, trend)
        dof = mixture.dof if shape is None else mixture.dof[:1]
        z = (rows.y - mixture.location) / mixture.scale
        squared, (log_peak, peak_slope) = z * z, _log_peaks(dof)
        log_tail = np.log1p(squared / dof)
        parts = log_peak - np.log(mixture.scale) - (0.5 * dof + 0.5) * log_tail
        highest = parts.max(axis=0)
        parts = np.exp(parts - highest)
        total = parts.sum(axis=0)
        value = float(rows.share @ (highest + np.log(total / len(parts))))
        # Shares of the components in the density of a row, times the row's share: derivatives by logs of the parts.
        parts *= rows.share / total
        pull = parts * (dof + 1.0) / (dof + squared)
        by_log_scale = pull * squared - parts
        by_location = pull * z / mixture.scale
        by_dof = (parts * (peak_slope - 0.5 * log_tail) + 0.5 * pull * squared / dof) * dof**2
        gradient = np.zeros(n_free)
        gradient[3] = np.sum(by_dof * (dof > LEAST_COMBINED_DOF)) * (calibration.dof - LEAST_DOF) / calibration.dof**2
        by_log_noise = by_log_scale
        if shape is None:
            offset = self.means - self.noise.mean
            gradient[2] = calibration.spread * (1.0 - calibration.spread) * np.sum(by_location * offset)
        else:
            by_distance = by_location * (mixture.location - self.noise.mean)
            by_log_noise = (by_log_scale + by_distance).sum(axis=0)[None]
            by_place = by_location * (calibration.noise * trend.scale(self.noise, calibration.leverage))
            gradient[len(START) :] = self._by_shape(by_place, by_log_scale)[: n_free - len(START)]
        self._add_by_noise(gradient, calibration.leverage, trend, by_log_noise)
        return value, gradient

    def _add_by_noise(self, gradient: Array, leverage: float, trend: NoiseTrend, by_log_scale: Array) -> None:
        """Put derivatives by numbers of the noise, of those by the logarithms of its scales (T, n)."""
        noise, by_variance, by_row = self.noise, 0.5 * by_log_scale, by_log_scale.sum(axis=0)
        by_excess = by_variance / trend.excess(noise, leverage)
        gradient[0] = by_variance.sum()
        gradient[1] = leverage * np.sum(by_excess * noise.leverage)
        gradient[4] = 0.5 * by_row @ (noise.log_noise - trend.usual_log_noise)
        gradient[5] = np.sum(by_variance * noise.log_ratio)
        gradient[6] = trend.disagreement * np.sum(by_excess * noise.disagreement)
        gradient[7] = by_row @ self.position
        gradient[8] = by_row @ (self.position**2 - 0.5)
        gradient[9] = by_row @ (noise.variation - trend.usual_variation)

    def _by_shape(self, by_place: Array, by_log_scale: Array) -> Array:
        """Derivatives by a shape's free numbers, of those by places and log scales of its components (K, n)."""
        by_offset, by_slope = by_place.sum(axis=1), by_place @ self.position
        # Offsets are free numbers less their mean.
        by_offset, by_slope = by_offset - by_offset.mean(), by_slope - by_slope.mean()
        return np.concatenate([by_offset, by_log_scale.sum(axis=1), by_slope, by_log_scale @ self.position])


# What makes such a function of the parts of a likelihood's rows.
DensityOf = Callable[[Likelihood, Sequence[LikelihoodPart]], Density]


def _shape(free: Array, n_components: int) -> NoiseShape:
    """The shape of its free numbers, a Student-t's if there are none."""
    if not len(free):
        return NoiseShape()
    numbers = np.zeros((4, n_components))
    numbers.ravel()[: len(free)] = free
    numbers[0] -= numbers[0].mean()
    numbers[2] -= numbers[2].mean()
    return NoiseShape(*(tuple(row) for row in numbers.tolist()))


@dataclass(frozen=True)
class _Fitted:
    """Free numbers at which a likelihood is best, and the mean log density there."""

    likelihood: Likelihood
    free: Array
    score: float

    @property
    def worth(self) -> float:
        """Log density of all rows, less what more numbers than ten, or more than one component, must gain."""
        slow = not self.likelihood.together or self.likelihood.n_components > SHAPE_COMPONENTS
        worth = self.likelihood.rows.total * (self.score - (NATS_PER_ROW if slow else 0.0))
        return worth - NATS_PER_NUMBER * (len(self.free) - len(START))


def _fit(likelihood: Likelihood, start: Array, density_of: DensityOf, to_all: bool = False) -> _Fitted:
    """The most probable numbers, from a start that says how many there are; of many rows for fewer or `to_all`."""
    of_all = density_of(likelihood, likelihood.parts)
    fewer = None if to_all else likelihood.fewer
    density, total = of_all, likelihood.rows.total
    if fewer is not None:
        density, total = density_of(likelihood, [fewer]), fewer.rows.total
    options = LAST_OPTIONS if to_all else OPTIONS_OF_MANY if likelihood.has_many else OPTIONS
    free = _ascend(density, total, start, likelihood.n_components, options)
    return _Fitted(likelihood, free, of_all(free)[0])


def _ascend(density: Density, total: float, start: Array, n_components: int, options: dict[str, float]) -> Array:
    """The most probable numbers for rows of a density that count for so many."""
    precision = np.full(len(start), PRIOR)
    n_slopes = len(START) + 2 * n_components
    precision[len(START) : n_slopes], precision[n_slopes:] = SHAPE_PRIOR, SLOPE_PRIOR
    precision /= total

    def loss(free: Array) -> tuple[float, Array]:
        value, gradient = density(free)
        return float(precision @ (free * free)) - value, 2.0 * precision * free - gradient

    shape = [OFFSET_BOUNDS] * n_components + [SCALE_BOUNDS] * n_components + [SLOPE_BOUNDS] * (2 * n_components)
    bounds = [*BOUNDS, *shape][: len(start)]
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x


def _halved(free: Array) -> Array:
    """Free numbers of a finer shape, each component in two halves beside each other."""
    numbers = np.repeat(free[len(START) :].reshape(-1, SHAPE_COMPONENTS), 2, axis=1)
    numbers[0] += np.exp(numbers[1]) * np.tile([-HALF_APART, HALF_APART], numbers.shape[1] // 2)
    numbers[1] += HALF_NARROWER
    return np.concatenate([free[: len(START)], numbers.ravel()])


def _log_peaks(dof: Array) -> tuple[Array, Array]:
    """Log densities of Student-t's at their places, of scale 1, and derivatives by the degrees of freedom.

    By Stirling's series two steps up, where its error is below 1e-7 from 2.4 degrees on: functions for any argument
    take many times as long.
    """
    half = 0.5 * dof
    inverse = 1.0 / (half + 2.0)
    square = inverse * inverse
    series = inverse * (1 / 8 - square * (1 / 192 - square * (1 / 640 - square * 17 / 14336)))
    slope = square * (1 / 8 - square * (3 / 192 - square * (5 / 640 - square * 119 / 14336)))
    steps = (half + 0.5) * (half + 1.5) / (half * (half + 1.0))
    ratio = -0.5 * np.log(inverse) - series - np.log(steps)
    ratio_slope = 0.5 * inverse + slope - 1 / (half + 0.5) - 1 / (half + 1.5) + 1 / half + 1 / (half + 1.0)
    return ratio - 0.5 * np.log(dof * np.pi), 0.5 * (ratio_slope - 1 / dof)
