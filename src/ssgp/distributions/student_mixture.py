"""Mixtures of Student-t distributions: what a forest predicts for a row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, stdtr, stdtrit

__all__ = ["StudentMixture", "average"]

Array = NDArray[np.floating]

# Numbers of components times rows whose arrays stay in a processor's cache.
IN_CACHE = 1 << 14
# Halley's steps have an error of third order: after one of this many scales, it is a billionth of one.
SMALL_STEP = 1e-3
MOST_STEPS = 200
# Inverse degrees of freedom, from normal distributions to the heaviest tails there are, of tabled quantiles.
TABLED = np.linspace(1e-6, 0.5, 128)
# Levels so far out that a table would be too coarse.
LEAST_TABLED = 1e-9


def average(by_component: Array, share: Array | None) -> Array:
    """Mean over components (the first axis) with the given probabilities, or equal ones."""
    return by_component.mean(axis=0) if share is None else np.einsum("tn,tn->n", share, by_component)


@dataclass(frozen=True)
class StudentMixture:
    """For each of n rows, a mixture of T Student-t distributions.

    Everything a prediction can be asked for comes from here, so that it always agrees:
    quantiles cannot cross, and intervals, densities and samples are of one distribution.

    Attributes
    ----------
    location, scale, dof : arrays of shape (T, n)
        Of the components; degrees of freedom above 2.
    share : array of shape (T, n) or None
        Their probabilities, which sum to one over the components; None for equal ones.
    """

    location: Array
    scale: Array
    dof: Array
    share: Array | None = None

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return self.location.shape[1]

    def rows(self, some: slice | NDArray[np.bool_] | NDArray[np.integer]) -> "StudentMixture":
        """Some of the rows."""
        share = None if self.share is None else self.share[:, some]
        return StudentMixture(self.location[:, some], self.scale[:, some], self.dof[:, some], share)

    def mean(self) -> Array:
        """Mean, shape (n,)."""
        return self._average(self.location)

    def _average(self, by_component: Array) -> Array:
        return average(by_component, self.share)

    def variance(self) -> Array:
        """Variance, shape (n,), by the law of total variance."""
        within = self.scale**2 * self.dof / (self.dof - 2.0)
        return self._average(within + (self.location - self.mean()) ** 2)

    def mean_excess(self) -> Array:
        """E max(Y - m, 0) about the mean m, which is E max(m - Y, 0) as well, shape (n,)."""
        apart = self.location - self.mean()
        z = -apart / self.scale
        density = np.exp(self._log_peaks() - (0.5 * self.dof + 0.5) * np.log1p(z * z / self.dof))
        own = self.scale**2 * density * (self.dof + z * z) / (self.dof - 1.0)
        return self._average(own + apart * stdtr(self.dof, -z))

    def upper_variance(self) -> Array:
        """Part of the variance that comes from above the mean m, E max(Y - m, 0)^2, shape (n,)."""
        apart, dof = self.location - self.mean(), self.dof
        z = -apart / self.scale
        above = stdtr(dof, -z)
        density = np.exp(self._log_peaks() - (0.5 * dof + 0.5) * np.log1p(z * z / dof))
        first = self.scale * density * (dof + z * z) / (dof - 1.0)
        second = dof * ((dof - 1.0) / (dof - 2.0) * stdtr(dof - 2.0, -z * np.sqrt((dof - 2.0) / dof)) - above)
        return self._average(self.scale**2 * second + 2.0 * self.scale * apart * first + apart**2 * above)

    def log_density(self, y: Array) -> Array:
        """Log density at y (n,), shape (n,)."""
        z = (y - self.location) / self.scale
        parts = self._log_peaks() - (0.5 * self.dof + 0.5) * np.log1p(z * z / self.dof)
        with np.errstate(divide="ignore"):
            parts += -np.log(len(parts)) if self.share is None else np.log(self.share)
        return np.logaddexp.reduce(parts, axis=0)

    def _log_peaks(self) -> Array:
        """Log densities of the components at their locations, shape (T, n)."""
        half = 0.5 * self.dof
        return gammaln(half + 0.5) - gammaln(half) - 0.5 * np.log(self.dof * np.pi) - np.log(self.scale)

    def cdf(self, y: Array) -> Array:
        """Cumulative distribution at y (n,), shape (n,)."""
        return self._average(stdtr(self.dof, (y - self.location) / self.scale))

    def quantile(self, level: float) -> Array:
        """Quantile, shape (n,): where the cumulative distribution is `level`."""
        n_components, n_rows = self.location.shape
        if n_components == 1:
            return (self.location + self.scale * stdtrit(self.dof, level))[0]
        size = max(IN_CACHE // n_components, 1)
        parts = [self.rows(slice(start, start + size)) for start in range(0, n_rows, size)]
        return np.concatenate([QuantileSearch(part, level).run() for part in parts]) if parts else np.empty(0)

    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Independent draws for each row, shape (n, n_samples)."""
        n_components, n_rows = self.location.shape
        rows = np.arange(n_rows)[:, None]
        if self.share is None:
            pick = rng.integers(0, n_components, (n_rows, n_samples))
        else:
            steps = np.cumsum(self.share, axis=0)[:-1, :, None]
            pick = np.sum(rng.random((n_rows, n_samples)) > steps, axis=0)
        return self.location[pick, rows] + self.scale[pick, rows] * rng.standard_t(self.dof[pick, rows])


class QuantileSearch:
    """Finds where the cumulative distributions of rows have a level; rows that are found leave the search.

    A quantile lies between the components' own, and Halley's steps lead to it from a good guess. A step that leaves
    the bracket, or that is not half as long as the one before, is replaced by a halving of the bracket.

    Parameters
    ----------
    mixture : StudentMixture
        n rows.
    level : float
        Between 0 and 1.
    """

    def __init__(self, mixture: StudentMixture, level: float) -> None:
        self._level, self._tail = level, min(level, 1.0 - level)
        self._mixture, self._log_peaks = mixture, mixture._log_peaks()
        self._row = np.arange(mixture.location.shape[1])
        standard = standard_quantiles(mixture.dof, level)
        own, margin = mixture.location + mixture.scale * standard, mixture.scale * (0.01 * np.abs(standard) + 1e-6)
        self._low, self._high = (own - margin).min(axis=0), (own + margin).max(axis=0)
        guess, middle = self._guess(own, standard), 0.5 * (self._low + self._high)
        self._at = np.clip(np.where(np.isfinite(guess), guess, middle), self._low, self._high)
        self._last = self._high - self._low

    def _guess(self, own: Array, standard: Array) -> Array:
        """Between the components' own quantiles.

        In the middle they count by their density there. Towards the tails, where the probability beyond a distance is
        about a power of it, the distance is the power mean of theirs.
        """
        density = np.exp(self._log_peaks - (0.5 * self._mixture.dof + 0.5) * np.log1p(standard**2 / self._mixture.dof))
        if self._tail > 0.4:
            return self._average(density * own) / self._average(density)
        mean, side = self._mixture.mean(), np.sign(self._level - 0.5)
        power = self._average(density * self._mixture.scale * np.abs(standard)) / self._tail
        distance = np.maximum(side * (own - mean), SMALL_STEP * self._mixture.scale)
        longest = distance.max(axis=0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return mean + side * longest * self._average((distance / longest) ** power) ** (1.0 / power)

    def _average(self, by_component: Array) -> Array:
        return average(by_component, self._mixture.share)

    def run(self) -> Array:
        """Quantiles, shape (n,)."""
        found = np.empty(len(self._row))
        for _ in range(MOST_STEPS):
            done = self._step()
            found[self._row[done]] = self._at[done]
            if done.all():
                return found
            self._keep(~done)
        found[self._row] = self._at
        return found

    def _step(self) -> NDArray[np.bool_]:
        """Move on; return which rows are found."""
        excess, step = self._excess_and_step()
        below = excess <= 0
        self._low, self._high = np.where(below, self._at, self._low), np.where(below, self._high, self._at)
        taken = self._at - step
        fine = (self._low <= taken) & (taken <= self._high) & (np.abs(step) <= 0.5 * self._last)
        taken = np.where(fine, taken, 0.5 * (self._low + self._high))
        self._last, self._at = np.abs(taken - self._at), taken
        smallest = self._mixture.scale.min(axis=0)
        narrow = self._high - self._low <= np.maximum(1e-9 * smallest, 2.0 * np.spacing(np.abs(taken)))
        return narrow | (fine & (self._last <= SMALL_STEP * smallest))

    def _excess_and_step(self) -> tuple[Array, Array]:
        """Cumulative probability beyond the level, and Halley's step down from here, shapes (n,)."""
        mixture = self._mixture
        dof, z = mixture.dof, (self._at - mixture.location) / mixture.scale
        excess = self._average(stdtr(dof, z)) - self._level
        densities = np.exp(self._log_peaks - (0.5 * dof + 0.5) * np.log1p(z * z / dof))
        density = self._average(densities)
        slope = -self._average(densities * (dof + 1.0) * z / ((dof + z * z) * mixture.scale))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = excess / density
            return excess, newton / (1.0 - 0.5 * newton * slope / density)

    def _keep(self, rows: NDArray[np.bool_]) -> None:
        self._mixture, self._log_peaks = self._mixture.rows(rows), self._log_peaks[:, rows]
        self._row, self._at, self._last = self._row[rows], self._at[rows], self._last[rows]
        self._low, self._high = self._low[rows], self._high[rows]


def standard_quantiles(dof: Array, level: float) -> Array:
    """Quantiles of Student-t's of location 0 and scale 1, to a hundredth of themselves, from a table of a few.

    The table does not depend on the rows, and so neither does a row's quantile on others that are predicted with it.
    """
    if level == 0.5:
        return np.zeros_like(dof)
    if min(level, 1.0 - level) < LEAST_TABLED:
        return stdtrit(dof, level)
    logs = np.log(np.abs(stdtrit(1.0 / TABLED, level)))
    return np.sign(level - 0.5) * np.exp(np.interp(1.0 / dof, TABLED, logs))
