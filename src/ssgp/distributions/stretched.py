"""Distributions that are shifted, and stretched on the two sides of their means."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp.distributions.base import MappableDistribution, RandomState, StretchableDistribution
from ssgp.distributions.expectations import ValueFunction

__all__ = ["StretchedDistribution"]


@dataclass(frozen=True)
class StretchedDistribution(MappableDistribution):
    """Distributions that are shifted, and stretched below and above their means.

    The map of the target is increasing: quantiles keep their order, and densities integrate to one. It is computed of
    distances from the mean, which have digits where values far from zero and near to each other have none.

    Attributes
    ----------
    before : StretchableDistribution
        Distributions of n rows before that.
    shift : float
        Number added to the means.
    below, above : float
        Factors of the distances from the mean on its two sides.
    """

    before: StretchableDistribution
    shift: float
    below: float
    above: float

    def __len__(self) -> int:
        return len(self.before)

    def __getitem__(self, rows: slice | Indices | Mask) -> "StretchedDistribution":
        return replace(self, before=self.before[rows])

    def mean(self) -> Array:
        """Means, shape (n,)."""
        return self.before.mean() + self.shift

    def variance(self) -> Array:
        """Variances, shape (n,)."""
        if self.above == self.below:
            return self.above**2 * self.before.variance()
        upper = self._distances.upper_variance()
        square = self.above**2 * upper + self.below**2 * (self._distances.variance() - upper)
        return square - self._join**2

    def logpdf(self, y: ArrayLike) -> Array:
        """Log densities at y, shape (n,)."""
        distance = self._unstretch(y)
        return self._distances.logpdf(distance) - np.log(self._factor(distance))

    def cdf(self, y: ArrayLike) -> Array:
        """Probabilities of at most y, shape (n,)."""
        return self._distances.cdf(self._unstretch(y))

    def sf(self, y: ArrayLike) -> Array:
        """Probabilities of more than y, shape (n,)."""
        return self._distances.sf(self._unstretch(y))

    def sample(self, n_samples: int = 1, random_state: RandomState = 0) -> Array:
        """Independent draws, shape (n, n_samples)."""
        return (self.mean() + self._stretch(self._distances.sample(n_samples, random_state).T)).T

    def excess(self, y: ArrayLike) -> Array:
        """Mean excess over y, E max(Y - y, 0), shape (n,)."""
        y = np.asarray(y, dtype=float)
        distance = self._unstretch(y)
        excess = self._distances.excess(distance)
        # Below the join the shortfall E max(y - Y, 0) is that of one side alone.
        shortfall = excess + distance
        return np.where(distance > 0, self.above * excess, self.mean() - y + self.below * shortfall)

    def moments_of(self, function: ValueFunction) -> tuple[Array, Array]:
        """Means and variances of ``function(values, rows)`` of the values of each row, shapes (n,).

        Where the two sides are stretched unequally, they are to about a thousandth of the deviation.
        """
        mean = self.mean()

        def of_distances(distance: Array, rows: slice | Indices) -> Array:
            return function(mean[rows] + self._stretch(distance, rows), rows)

        return self._distances.moments_of(of_distances)

    def half_difference(self) -> Array:
        """Half the mean distance of two independent draws, E abs(Y - Y') / 2, shape (n,)."""
        below, above = self._distances.half_differences()
        return self.below * below + self.above * above

    def _quantile(self, level: float | Array) -> Array:
        return self.mean() + self._stretch(self._distances._quantile(level))

    @cached_property
    def _distances(self) -> StretchableDistribution:
        """Distributions of the distances from the mean, before they are stretched."""
        return self.before.centred()

    @cached_property
    def _join(self) -> Array:
        """Distances from the mean to where the two sides meet, shape (n,): unequal factors do not move the mean."""
        return (self.below - self.above) * self._distances.excess(0.0)

    def _factor(self, distance: Array) -> Array:
        """Factors of distances from the mean, before or after they are stretched."""
        return np.where(distance > 0, self.above, self.below)

    def _stretch(self, distance: Array, rows: slice | Indices = slice(None)) -> Array:
        """Stretched distances from the mean, of those of these rows, shapes (..., k)."""
        return self._join[rows] + self._factor(distance) * distance

    def _unstretch(self, y: ArrayLike) -> Array:
        """Distances from the mean, before they are stretched, of values y, shape (n,)."""
        distance = np.asarray(y, dtype=float) - self.mean() - self._join
        return distance / self._factor(distance)
