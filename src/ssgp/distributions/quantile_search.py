"""Quantiles of mixtures of Student-t distributions, by one search per row."""

from functools import lru_cache

import numpy as np
from scipy.special import stdtr, stdtrit

from ssgp._utils.arrays import Array, Mask
from ssgp.engine.tiles import mean_in_order

__all__ = ["PRECISION", "QuantileSearch", "standard_quantiles"]

# Width of a bracket, in scales, that is not halved any further.
PRECISION = 1e-9
# Length of a last step, in scales: Halley's steps have an error of third order, which is then a billionth of a scale.
SMALL_STEP = 1e-3
MOST_STEPS = 200
# Inverse degrees of freedom of tabled quantiles, from normal distributions to the heaviest tails.
TABLED = np.linspace(1e-6, 0.5, 128)
# Lowest level of tabled quantiles: further out the table would be too coarse.
LEAST_TABLED = 1e-9


class QuantileSearch:
    """Search for the points at which the cumulative distributions of n rows have a level.

    A quantile lies between those of the components, and Halley's steps converge to it from a good start. A step that
    leaves the bracket, or that is not half as long as the one before, is replaced by a halving of the bracket. Rows
    that have converged leave the search.

    Parameters
    ----------
    location, scale, dof, log_peaks : arrays of shape (T, n)
        Components of the mixtures, and their log densities at their locations.
    level : float or array of shape (n,)
        Probability, between 0 and 1, of all rows or of each.
    """

    def __init__(self, location: Array, scale: Array, dof: Array, log_peaks: Array, level: float | Array) -> None:
        self._location, self._scale, self._dof, self._log_peaks = location, scale, dof, log_peaks
        self._row = np.arange(location.shape[1])
        self._level = np.broadcast_to(np.asarray(level, dtype=float), len(self._row))
        standard = standard_quantiles(dof, level)
        quantiles, margin = location + scale * standard, scale * (0.01 * np.abs(standard) + 1e-6)
        self._low, self._high = (quantiles - margin).min(axis=0), (quantiles + margin).max(axis=0)
        start, middle = self._start(quantiles, standard), 0.5 * (self._low + self._high)
        self._point = np.clip(np.where(np.isfinite(start), start, middle), self._low, self._high)
        self._last_length = self._high - self._low

    def _start(self, quantiles: Array, standard: Array) -> Array:
        """Initial points (n,) between the quantiles of the components (T, n), of standardised values `standard`.

        For levels near 1/2 they are means of the quantiles, weighted by the densities there. In the tails, where the
        probability beyond a distance is about a power of it, their distance is a power mean of those of the quantiles.
        """
        density = np.exp(self._log_peaks - (0.5 * self._dof + 0.5) * np.log1p(standard**2 / self._dof))
        tail = np.minimum(self._level, 1.0 - self._level)
        near = tail > 0.4
        if not near.any():
            return self._start_in_tail(quantiles, standard, density, tail)
        start = mean_in_order(density * quantiles) / mean_in_order(density)
        return start if near.all() else np.where(near, start, self._start_in_tail(quantiles, standard, density, tail))

    def _start_in_tail(self, quantiles: Array, standard: Array, density: Array, tail: Array) -> Array:
        mean, side = mean_in_order(self._location), np.sign(self._level - 0.5)
        power = mean_in_order(density * self._scale * np.abs(standard)) / tail
        distance = np.maximum(side * (quantiles - mean), SMALL_STEP * self._scale)
        longest = distance.max(axis=0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return mean + side * longest * mean_in_order((distance / longest) ** power) ** (1.0 / power)

    def run(self) -> Array:
        """Quantiles, shape (n,)."""
        quantiles = np.empty(len(self._row))
        for _ in range(MOST_STEPS):
            done = self._step()
            quantiles[self._row[done]] = self._point[done]
            if done.all():
                return quantiles
            self._keep(~done)
        quantiles[self._row] = self._point
        return quantiles

    def _step(self) -> Mask:
        """Take a step; return which rows have converged, shape (n,)."""
        excess, step = self._excess_and_step()
        below = excess <= 0
        self._low, self._high = np.where(below, self._point, self._low), np.where(below, self._high, self._point)
        point = self._point - step
        accepted = (self._low <= point) & (point <= self._high) & (np.abs(step) <= 0.5 * self._last_length)
        point = np.where(accepted, point, 0.5 * (self._low + self._high))
        self._last_length, self._point = np.abs(point - self._point), point
        smallest = self._scale.min(axis=0)
        narrow = self._high - self._low <= np.maximum(PRECISION * smallest, 2.0 * np.spacing(np.abs(point)))
        return narrow | (accepted & (self._last_length <= SMALL_STEP * smallest))

    def _excess_and_step(self) -> tuple[Array, Array]:
        """Cumulative probability beyond the level, and Halley's step down from the points, shapes (n,)."""
        dof, z = self._dof, (self._point - self._location) / self._scale
        excess = mean_in_order(stdtr(dof, z)) - self._level
        densities = np.exp(self._log_peaks - (0.5 * dof + 0.5) * np.log1p(z * z / dof))
        density = mean_in_order(densities)
        slope = -mean_in_order(densities * (dof + 1.0) * z / ((dof + z * z) * self._scale))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = excess / density
            return excess, newton / (1.0 - 0.5 * newton * slope / density)

    def _keep(self, rows: Mask) -> None:
        """Continue the search for these rows only."""
        self._location, self._scale = self._location[:, rows], self._scale[:, rows]
        self._dof, self._log_peaks = self._dof[:, rows], self._log_peaks[:, rows]
        self._row, self._point, self._last_length = self._row[rows], self._point[rows], self._last_length[rows]
        self._level = self._level[rows]
        self._low, self._high = self._low[rows], self._high[rows]


def standard_quantiles(dof: Array, level: float | Array) -> Array:
    """Quantiles of Student-t distributions of location 0 and scale 1, to a relative error of a hundredth.

    Those of one level are from a table, which does not depend on the rows, and so neither does a row's quantile on the
    other rows.
    """
    if isinstance(level, np.ndarray):
        return stdtrit(dof, level)
    if level == 0.5:
        return np.zeros_like(dof)
    if min(level, 1.0 - level) < LEAST_TABLED:
        return stdtrit(dof, level)
    return np.sign(level - 0.5) * np.exp(np.interp(1.0 / dof, TABLED, _tabled_logs(level)))


@lru_cache(maxsize=64)
def _tabled_logs(level: float) -> Array:
    """Logs of the distances of tabled quantiles: kept, since they take longer than the rest of one row's search."""
    return np.log(np.abs(stdtrit(1.0 / TABLED, level)))
