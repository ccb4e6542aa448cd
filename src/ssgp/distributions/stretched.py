"""Distributions moved, and stretched on the two sides of their means."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp.distributions.base import Distribution, RandomState, StretchableDistribution

__all__ = ["StretchedDistribution"]


@dataclass(frozen=True)
class StretchedDistribution(Distribution):
    """Distributions of other distributions' values, moved and stretched below and above their means.

    As a map of the target that only grows, it keeps quantiles in their order and densities integrating to one.

    Attributes
    ----------
    before : StretchableDistribution
        Distributions of n rows.
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
        return self.before.logpdf(self._back(y)) - np.log(factor)

    def cdf(self, y: ArrayLike) -> Array:
        """Probabilities of at most y, shape (n,)."""
        return self.before.cdf(self._back(np.asarray(y, dtype=float)))

    def sample(self, n_samples: int = 1, random_state: RandomState = 0) -> Array:
        """Independent draws, shape (n, n_samples)."""
        return self._forth(self.before.sample(n_samples, random_state))

    def excess(self, y: ArrayLike) -> Array:
        """Mean excess over y, E max(Y - y, 0), shape (n,)."""
        y = np.asarray(y, dtype=float)
        point = self._back(y)
        over = self.before.excess(point)
        # Below the join the shortfall E max(y - Y, 0) is that of one side alone.
        shortfall = over - (self.before.mean() - point)
        return np.where(y > self._join, self.above * over, self.mean() - y + self.below * shortfall)

    def half_difference(self) -> Array:
        """Half the mean distance of two independent draws, E |Y - Y'| / 2, shape (n,)."""
        below, above = self.before.half_differences()
        return self.below * below + self.above * above

    def _quantile(self, level: float) -> Array:
        return self._forth(self.before.quantile(level)[:, None])[:, 0]

    @cached_property
    def _mean_excess(self) -> Array:
        """Mean excess of the values before over their mean, shape (n,)."""
        return self.before.excess(self.before.mean())

    @cached_property
    def _join(self) -> Array:
        """Point where the two sides meet: what uneven factors would add to the mean is taken back."""
        uneven = self.above - self.below
        return self.mean() - (uneven * self._mean_excess if uneven else 0.0)

    def _forth(self, x: Array) -> Array:
        """From values before (n, k) to values here."""
        distance = x - self.before.mean()[:, None]
        return self._join[:, None] + np.where(distance > 0, self.above, self.below) * distance

    def _back(self, y: Array) -> Array:
        """From values here to values before, shape (n,)."""
        distance = y - self._join
        return self.before.mean() + distance / np.where(distance > 0, self.above, self.below)
