"""Distributions of counts: rounded values of distributions of positive numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ssgp._utils.arrays import Array
from ssgp.distributions.base import MappableDistribution, RandomState
from ssgp.distributions.mapped import MappedDistribution, ValueMap

__all__ = ["CountDistribution", "in_target_units"]

# Counts on each side of the middle, or of an observation, that are summed one by one: beyond, sums are integrals.
N_SUMMED = 12
# What sums beyond these are together, relative to a count, where they are left out.
NEGLIGIBLE = 1e-5


@dataclass(frozen=True)
class CountDistribution(MappedDistribution):
    """Distributions of the numbers 0, 1, 2, ...: of rounded values of a distribution that is mapped.

    The probability of k is that of values between k - 1/2 and k + 1/2, for 0 of all below 1/2. Quantiles and draws are
    whole numbers. `logpdf` is the logarithm of the probability of a count, not of a density, minus infinity for numbers
    that are not whole.
    """

    def mean(self) -> Array:
        """Means, shape (n,)."""
        middle = self._middle
        return middle + self._beyond(middle, 1.0) - self._beyond(middle, -1.0)

    def variance(self) -> Array:
        """Variances, shape (n,)."""
        middle = self._middle
        squares = self._beyond(middle, 1.0, squares=True) + self._beyond(middle, -1.0, squares=True)
        return np.maximum(squares - (self.mean() - middle) ** 2, 0.0)

    def logpdf(self, y: ArrayLike) -> Array:
        """Logarithms of the probabilities of counts y, shape (n,); minus infinity for numbers that are none."""
        y = self._each(y)
        possible = (y >= 0) & (y == np.floor(y))
        count = np.where(possible, y, 0.0)
        below, above = self.map.to_model(count - 0.5), self.map.to_model(count + 0.5)
        # From the side on which less is beyond, where small probabilities keep their digits.
        upper = below > self.before.mean()
        low, high = self.before.cdf(below), self.before.cdf(above)
        mass = np.where(upper, self.before.sf(below) - self.before.sf(above), high - low)
        density = self.before.logpdf(self.map.to_model(count)) + self.map.log_slope(count)
        tail = np.where(upper, self.before.sf(below), high)
        with np.errstate(divide="ignore"):
            # Differences that are rounding are of counts so many that their density is the probability.
            return np.where(possible, np.where(mass > 1e-6 * tail, np.log(mass), density), -np.inf)

    def cdf(self, y: ArrayLike) -> Array:
        """Probabilities of at most y, shape (n,)."""
        y = np.floor(self._each(y))
        return np.where(y < 0, 0.0, self.before.cdf(self.map.to_model(np.maximum(y, 0.0) + 0.5)))

    def cdf_left(self, y: ArrayLike) -> Array:
        """Probabilities of less than y, shape (n,)."""
        return self.cdf(np.ceil(self._each(y)) - 1.0)

    def sf(self, y: ArrayLike) -> Array:
        """Probabilities of more than y, shape (n,)."""
        y = np.floor(self._each(y))
        return np.where(y < 0, 1.0, self.before.sf(self.map.to_model(np.maximum(y, 0.0) + 0.5)))

    def sample(self, n_samples: int = 1, random_state: RandomState = 0) -> Array:
        """Independent draws, shape (n, n_samples)."""
        return np.rint(super().sample(n_samples, random_state))

    def excess(self, y: ArrayLike) -> Array:
        """Mean excess over y, E max(Y - y, 0), shape (n,)."""
        y = self._each(y)
        start = np.ceil(np.maximum(y, 0.0))
        upper = start > self._middle
        beyond = np.where(upper, self._beyond(start, 1.0), self.mean() - start + self._beyond(start, -1.0))
        return beyond + np.where(y < 0, -y, (start - y) * self.sf(y))

    def half_difference(self) -> Array:
        """Half the mean distance of two independent draws, E abs(Y - Y') / 2, shape (n,)."""
        middle = self._middle
        return self._beyond(middle, 1.0, both=True) + self._beyond(middle, -1.0, both=True)

    @property
    def _middle(self) -> Array:
        """A count in the midst of each distribution, shape (n,)."""
        return np.rint(self._to_target(self.before.mean()))

    def _beyond(self, start: Array, side: float, both: bool = False, squares: bool = False) -> Array:
        """Sums over counts k from `start` (n,) on of P(Y > k), or over those below it of P(Y <= k), shape (n,).

        With `both`, of the products of P(Y > k) and P(Y <= k); with `squares`, of the probabilities times twice the
        distance of k + 1/2 from `start`.
        """
        total = np.zeros(len(self))
        for number in range(N_SUMMED):
            count = start + number if side > 0 else start - 1 - number
            factor = 2.0 * number + 1.0 if squares else 1.0
            total += np.where(count >= 0, factor * self._probability(count + 0.5, side, both), 0.0)
        last = start + side * N_SUMMED
        left = self._probability(np.maximum(last, 0.0), side, both)
        most, enough = last + self._scale, 1.0 + start
        more = (last > 0) & (left * (most * most if squares else most) > NEGLIGIBLE * (1.0 if squares else enough))
        places = np.flatnonzero(more)
        if len(places):
            total[places] += self[places]._integral(last[places], side, both, start[places] if squares else None)
        return total

    def _integral(self, last: Array, side: float, both: bool, centre: Array | None) -> Array:
        """The sums beyond `last` (n,), by the integral, corrected for its end as Euler and Maclaurin do."""
        point = self.map.to_model(last)
        integral = self._tails(point, side, both, centre)
        if side < 0:
            integral -= self._tails(self.map.to_model(np.zeros(1))[0], side, both, centre)
        slope = np.exp(self.before.logpdf(point) + self.map.log_slope(last))
        if both:
            slope *= np.abs(1.0 - 2.0 * self.before.cdf(point))
        if centre is not None:
            slope = 2.0 * (np.abs(last - centre) * slope - self._probability(last, side, both))
        return np.maximum(integral - slope / 24.0, 0.0)

    def _probability(self, value: Array, side: float, both: bool) -> Array:
        """Probabilities beyond values (n,) of the distribution that is rounded."""
        point = self.map.to_model(np.maximum(value, 0.0))
        beyond = self.before.sf(point) if side > 0 else self.before.cdf(point)
        return beyond * (1.0 - beyond) if both else beyond

    @property
    def _scale(self) -> float:
        """The value up to which values grow exponentially."""
        return float(self.map.slope(np.array(50.0)))

    def _quantile(self, level: float | Array) -> Array:
        return np.maximum(np.ceil(self.map.to_target(self.before._quantile(level)) - 0.5), 0.0)


def in_target_units(before: MappableDistribution, target_map: ValueMap) -> MappedDistribution:
    """Distributions of targets whose maps are distributed as `before`."""
    kind = CountDistribution if target_map.kind == "count" else MappedDistribution
    return kind(before, target_map)
