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

    The map of the target is increasing: quantiles keep their order, and densities integrate to one.

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
        upper = self.before.upper_variance()
        square = self.above**2 * upper + self.below**2 * (self.before.variance() - upper)
        return square - ((self.above - self.below) * self._mean_excess) ** 2

    def logpdf(self, y: ArrayLike) -> Array:
        """Log densities at y, shape (n,)."""
        y = np.asarray(y, dtype=float)
        factor = np.where(y > self._join, self.above, self.below)
        return self.before.logpdf(self._unstretch(y)) - np.log(factor)

    def cdf(self, y: ArrayLike) -> Array:
        """Probabilities of at most y, shape (n,)."""
        return self.before.cdf(self._unstretch(np.asarray(y, dtype=float)))

    def sf(self, y: ArrayLike) -> Array:
        """Probabilities of more than y, shape (n,)."""
        return self.before.sf(self._unstretch(np.asarray(y, dtype=float)))

    def sample(self, n_samples: int = 1, random_state: RandomState = 0) -> Array:
        """Independent draws, shape (n, n_samples)."""
        return self._stretch(self.before.sample(n_samples, random_state))

    def excess(self, y: ArrayLike) -> Array:
        """Mean excess over y, E max(Y - y, 0), shape (n,)."""
        y = np.asarray(y, dtype=float)
        point = self._unstretch(y)
        excess = self.before.excess(point)
        # Below the join the shortfall E max(y - Y, 0) is that of one side alone.
        shortfall = excess - (self.before.mean() - point)
        return np.where(y > self._join, self.above * excess, self.mean() - y + self.below * shortfall)

    def moments_of(self, function: ValueFunction) -> tuple[Array, Array]:
        """Means and variances of ``function(values, rows)`` of the values of each row, shapes (n,).

        Where the two sides are stretched unequally, they are to about a thousandth of the deviation.
        """
        centre, join = self.before.mean(), self._join

        def of_stretched(values: Array, rows: slice | Indices) -> Array:
            distance = values - centre[rows]
            return function(join[rows] + np.where(distance > 0, self.above, self.below) * distance, rows)

        return self.before.moments_of(of_stretched)

    def half_difference(self) -> Array:
        """Half the mean distance of two independent draws, E abs(Y - Y') / 2, shape (n,)."""
        below, above = self.before.half_differences()
        return self.below * below + self.above * above

    def _quantile(self, level: float | Array) -> Array:
        return self._stretch(self.before._quantile(level)[:, None])[:, 0]

    @cached_property
    def _mean_excess(self) -> Array:
        """Mean excess of the values before over their mean, shape (n,)."""
        return self.before.excess(self.before.mean())

    @cached_property
    def _join(self) -> Array:
        """Points where the two sides meet, shape (n,), such that unequal factors do not move the means."""
        difference = self.above - self.below
        return self.mean() - (difference * self._mean_excess if difference else 0.0)

    def _stretch(self, x: Array) -> Array:
        """Stretched values of values before, shapes (n, k)."""
        distance = x - self.before.mean()[:, None]
        return self._join[:, None] + np.where(distance > 0, self.above, self.below) * distance

    def _unstretch(self, y: Array) -> Array:
        """Values before, of stretched values y, shapes (n,)."""
        distance = y - self._join
        return self.before.mean() + distance / np.where(distance > 0, self.above, self.below)
