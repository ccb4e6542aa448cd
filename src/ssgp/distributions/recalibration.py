"""Four numbers that correct predictive distributions by how they did on rows that a model was not fitted to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ssgp.distributions.student_mixture import StudentMixture
from ssgp.forest.calibration import LEAST_DOF, MOST_DOF

__all__ = ["Recalibration", "StretchedMixture", "fit_recalibration"]

Array = NDArray[np.floating]

# Half the rows of a normal distribution are nearer its mean than this many deviations.
HALF_INSIDE = 0.6745
# How far the search for a factor goes on either side, as a logarithm.
MOST_STRETCH = 5.0
# So many degrees of freedom change nothing that could be seen.
NEARLY_NORMAL = 1000.0


@dataclass(frozen=True)
class StretchedMixture:
    """Mixtures moved, and stretched below and above their means.

    As a map of the target that only grows, it keeps quantiles in their order and densities integrating to one.

    Attributes
    ----------
    mixture : StudentMixture
        n rows.
    shift : float
        Added to the means.
    below, above : float
        Factors of the distances from the mean on its two sides.
    """

    mixture: StudentMixture
    shift: float
    below: float
    above: float

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return self.mixture.n_rows

    def rows(self, some: slice | NDArray[np.integer]) -> "StretchedMixture":
        """Some of the rows."""
        return replace(self, mixture=self.mixture.rows(some))

    def mean(self) -> Array:
        """Mean, shape (n,)."""
        return self.mixture.mean() + self.shift

    def variance(self) -> Array:
        """Variance, shape (n,)."""
        if self.above == self.below:
            return self.above**2 * self.mixture.variance()
        upper = self.mixture.upper_variance()
        square = self.above**2 * upper + self.below**2 * (self.mixture.variance() - upper)
        return square - ((self.above - self.below) * self.mixture.mean_excess()) ** 2

    def log_density(self, y: Array) -> Array:
        """Log density at y (n,), shape (n,)."""
        factor = np.where(y > self._join, self.above, self.below)
        return self.mixture.log_density(self._before(y)) - np.log(factor)

    def cdf(self, y: Array) -> Array:
        """Cumulative distribution at y (n,), shape (n,)."""
        return self.mixture.cdf(self._before(y))

    def quantile(self, level: float) -> Array:
        """Quantile, shape (n,)."""
        return self._after(self.mixture.quantile(level)[:, None])[:, 0]

    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Independent draws for each row, shape (n, n_samples)."""
        return self._after(self.mixture.sample(n_samples, rng))

    @cached_property
    def _join(self) -> Array:
        """Where the two sides meet: what uneven factors would add to the mean is taken back."""
        uneven = self.above - self.below
        return self.mean() - (uneven * self.mixture.mean_excess() if uneven else 0.0)

    def _after(self, x: Array) -> Array:
        """From values of the mixture (n, k) to values here."""
        distance = x - self.mixture.mean()[:, None]
        return self._join[:, None] + np.where(distance > 0, self.above, self.below) * distance

    def _before(self, y: Array) -> Array:
        """The way back, shape (n,)."""
        distance = y - self._join
        return self.mixture.mean() + distance / np.where(distance > 0, self.above, self.below)


@dataclass(frozen=True)
class Recalibration:
    """Moves a distribution, stretches it below and above its mean, and gives it heavier tails.

    Attributes
    ----------
    shift : float
        What is added to every mean, in the target's units.
    below, above : float
        Factors of the distances from the mean on its two sides.
    dof : float
        Degrees of freedom of what is left to chance, beside those that components have.
    """

    shift: float = 0.0
    below: float = 1.0
    above: float = 1.0
    dof: float = MOST_DOF

    def __call__(self, mixture: StudentMixture) -> StretchedMixture:
        """The mixture, recalibrated."""
        return StretchedMixture(self.with_tails(mixture), self.shift, self.below, self.above)

    def with_tails(self, mixture: StudentMixture) -> StudentMixture:
        """The mixture with heavier tails, neither moved nor stretched."""
        dof = np.maximum(1.0 / (1.0 / mixture.dof + 1.0 / self.dof), 0.8 * LEAST_DOF)
        return StudentMixture(mixture.location, mixture.scale, dof, mixture.share)

    def describe(self) -> str:
        """In words.

        Examples
        --------
        >>> Recalibration(-0.25, 1.5, 1.2, 8.0).describe()
        'moved by -0.25, stretched 1.5 times below the mean and 1.2 times above, tails of 8 degrees of freedom at most'
        >>> Recalibration(2.0, 0.9, 0.8).describe()
        'moved by +2, stretched 0.9 times below the mean and 0.8 times above, tails as they were'
        """
        tails = "as they were" if self.dof > NEARLY_NORMAL else f"of {self.dof:.3g} degrees of freedom at most"
        stretched = f"stretched {self.below:.3g} times below the mean and {self.above:.3g} times above"
        return f"moved by {self.shift:+.3g}, {stretched}, tails {tails}"


def fit_recalibration(mixtures: Sequence[StudentMixture], y: Array, weight: Array | None = None) -> Recalibration:
    """The mean error of rows that the model has not seen, and the factors and tails that make them most probable.

    In the mean error rows count by the inverse of their deviations: those of which the model is sure say more. Weak
    priors of the factors and the tails, around "leave it as it is", are worth a few rows.

    Parameters
    ----------
    mixtures : sequence of StudentMixture
        What the model says of n rows, some of them each.
    y : array of shape (n,)
        Their targets.
    weight : array of shape (n,), optional
        How many rows each row counts for.
    """
    counts = np.ones(len(y)) if weight is None else weight
    total, ends = float(counts.sum()), np.cumsum([mixture.location.shape[1] for mixture in mixtures])[:-1]
    parts = list(zip(mixtures, np.split(y, ends), np.split(counts, ends), strict=True))
    error = y - np.concatenate([mixture.mean() for mixture in mixtures])
    deviation = np.sqrt(np.concatenate([mixture.variance() for mixture in mixtures]))
    shift = float(np.average(error, weights=counts / deviation))
    start = _start(error - shift, deviation, counts)

    def loss(free: Array) -> float:
        recalibrate = _from_free(free, shift)
        fit = sum(float(count @ recalibrate(mixture).log_density(own)) for mixture, own, count in parts)
        return -(fit - float(free[:2] @ free[:2]) - 10.0 * float(free[2])) / total

    first, around = np.array([start, start, 0.05]), (start - MOST_STRETCH, start + MOST_STRETCH)
    corners = first + np.vstack([np.zeros(3), np.diag([0.2, 0.2, 0.1])])
    bounds = [around, around, (1.0 / MOST_DOF, 1.0 / LEAST_DOF)]
    options = {"initial_simplex": corners, "xatol": 1e-3, "fatol": 1e-7, "maxfev": 300}
    # The density has a step at the mean, and so the loss has small ones everywhere: gradients would not do.
    best = minimize(loss, first, method="Nelder-Mead", bounds=bounds, options=options)
    return _from_free(best.x, shift)


def _start(error: Array, deviation: Array, weight: Array) -> float:
    """Log factor that puts half of the errors where half of them should be: nothing leads there from far tails."""
    middle = np.quantile(np.abs(error) / deviation, 0.5, weights=weight, method="inverted_cdf")
    stretch = float(middle) / HALF_INSIDE
    return float(np.log(np.clip(stretch, np.exp(-MOST_STRETCH), np.exp(MOST_STRETCH))))


def _from_free(free: Array, shift: float) -> Recalibration:
    below, above, tail = free.tolist()
    return Recalibration(shift, float(np.exp(below)), float(np.exp(above)), 1.0 / tail)
