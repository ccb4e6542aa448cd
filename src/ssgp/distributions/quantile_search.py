"""Quantiles of mixtures of Student-t distributions, by a search for each row."""

import numpy as np
from scipy.special import stdtr, stdtrit

from ssgp._utils.arrays import Array, Mask

__all__ = ["QuantileSearch", "standard_quantiles"]

# Halley's steps have an error of third order: after one of this many scales, it is a billionth of one.
SMALL_STEP = 1e-3
MOST_STEPS = 200
# Inverse degrees of freedom, from normal distributions to the heaviest tails there are, of tabled quantiles.
TABLED = np.linspace(1e-6, 0.5, 128)
# Levels so far out that a table would be too coarse.
LEAST_TABLED = 1e-9


class QuantileSearch:
    """Search for the points at which the cumulative distributions of n rows have a level.

    A quantile lies between those of the components, and Halley's steps lead to it from a good guess. A step that leaves
    the bracket, or that is not half as long as the one before, is replaced by a halving of the bracket. Rows whose
    quantile is found leave the search.

    Parameters
    ----------
    location, scale, dof, log_peaks : arrays of shape (T, n)
        Components of the mixtures, and their log densities at their locations.
    level : float
        Probability, between 0 and 1.
    """

    def __init__(self, location: Array, scale: Array, dof: Array, log_peaks: Array, level: float) -> None:
        self._location, self._scale, self._dof, self._log_peaks = location, scale, dof, log_peaks
        self._level, self._tail = level, min(level, 1.0 - level)
        self._row = np.arange(location.shape[1])
        standard = standard_quantiles(dof, level)
        by_component, margin = location + scale * standard, scale * (0.01 * np.abs(standard) + 1e-6)
        self._low, self._high = (by_component - margin).min(axis=0), (by_component + margin).max(axis=0)
        guess, middle = self._guess(by_component, standard), 0.5 * (self._low + self._high)
        self._at = np.clip(np.where(np.isfinite(guess), guess, middle), self._low, self._high)
        self._last = self._high - self._low

    def _guess(self, by_component: Array, standard: Array) -> Array:
        """A point between the quantiles of the components.

        In the middle they count by their density there. Towards the tails, where the probability beyond a distance is
        about a power of it, the distance is the power mean of theirs.
        """
        density = np.exp(self._log_peaks - (0.5 * self._dof + 0.5) * np.log1p(standard**2 / self._dof))
        if self._tail > 0.4:
            return (density * by_component).mean(axis=0) / density.mean(axis=0)
        mean, side = self._location.mean(axis=0), np.sign(self._level - 0.5)
        power = (density * self._scale * np.abs(standard)).mean(axis=0) / self._tail
        distance = np.maximum(side * (by_component - mean), SMALL_STEP * self._scale)
        longest = distance.max(axis=0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return mean + side * longest * ((distance / longest) ** power).mean(axis=0) ** (1.0 / power)

    def run(self) -> Array:
        """Quantiles, shape (n,)."""
        quantiles = np.empty(len(self._row))
        for _ in range(MOST_STEPS):
            done = self._step()
            quantiles[self._row[done]] = self._at[done]
            if done.all():
                return quantiles
            self._keep(~done)
        quantiles[self._row] = self._at
        return quantiles

    def _step(self) -> Mask:
        """Move on, and tell which rows are done, shape (n,)."""
        excess, step = self._excess_and_step()
        below = excess <= 0
        self._low, self._high = np.where(below, self._at, self._low), np.where(below, self._high, self._at)
        taken = self._at - step
        fine = (self._low <= taken) & (taken <= self._high) & (np.abs(step) <= 0.5 * self._last)
        taken = np.where(fine, taken, 0.5 * (self._low + self._high))
        self._last, self._at = np.abs(taken - self._at), taken
        smallest = self._scale.min(axis=0)
        narrow = self._high - self._low <= np.maximum(1e-9 * smallest, 2.0 * np.spacing(np.abs(taken)))
        return narrow | (fine & (self._last <= SMALL_STEP * smallest))

    def _excess_and_step(self) -> tuple[Array, Array]:
        """Cumulative probability beyond the level, and Halley's step down from here, shapes (n,)."""
        dof, z = self._dof, (self._at - self._location) / self._scale
        excess = stdtr(dof, z).mean(axis=0) - self._level
        densities = np.exp(self._log_peaks - (0.5 * dof + 0.5) * np.log1p(z * z / dof))
        density = densities.mean(axis=0)
        slope = -(densities * (dof + 1.0) * z / ((dof + z * z) * self._scale)).mean(axis=0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = excess / density
            return excess, newton / (1.0 - 0.5 * newton * slope / density)

    def _keep(self, rows: Mask) -> None:
        self._location, self._scale = self._location[:, rows], self._scale[:, rows]
        self._dof, self._log_peaks = self._dof[:, rows], self._log_peaks[:, rows]
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
