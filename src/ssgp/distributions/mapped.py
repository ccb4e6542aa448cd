"""Distributions of targets that are positive or within bounds, by a map of distributions of all numbers."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp.distributions.base import Distribution, MappableDistribution, RandomState
from ssgp.distributions.quadrature import half_line_integral

__all__ = ["MappedDistribution", "ValueMap"]


class ValueMap(Protocol):
    """An increasing, smooth map between values y from `low` to `high` and all numbers z."""

    @property
    def kind(self) -> str:
        """What values are; those of the kind "count" are rounded."""
        ...

    @property
    def low(self) -> float:
        """The least value."""
        ...

    @property
    def high(self) -> float:
        """The largest value."""
        ...

    def to_model(self, y: Array) -> Array:
        """Z of values y, infinite of those beyond all."""
        ...

    def learned(self, y: Array) -> Array:
        """Z to learn from of values y, all finite."""
        ...

    def to_target(self, z: Array) -> Array:
        """Values of z, which may be beyond the ends: these stand for the ends."""
        ...

    def slope(self, z: Array) -> Array:
        """Dy / dz at z."""
        ...

    def log_slope(self, y: Array) -> Array:
        """log(dz / dy) at values y."""
        ...


@dataclass(frozen=True)
class MappedDistribution(Distribution):
    """Distributions of values y within ends, whose maps z are distributed as they were `before`.

    Quantiles are mapped, and probabilities are those of the mapped value, so that nothing is beyond the ends. Where the
    map reaches beyond an end, all of that is a point mass at the end: `logpdf` of the end is the logarithm of its mass.
    Means, deviations and scores are integrals, by quadrature, to about five digits.

    Attributes
    ----------
    before : MappableDistribution
        Distributions of z of n rows.
    map : ValueMap
        The map between y and z.
    """

    before: MappableDistribution
    map: ValueMap

    def __len__(self) -> int:
        return len(self.before)

    def __getitem__(self, rows: slice | Indices | Mask) -> Self:
        return replace(self, before=self.before[rows])

    def mean(self) -> Array:
        """Means, shape (n,)."""
        return self._moments[0]

    def variance(self) -> Array:
        """Variances, shape (n,)."""
        return self._moments[1]

    def logpdf(self, y: ArrayLike) -> Array:
        """Log densities at y, shape (n,), log masses at ends that have a mass; minus infinity beyond the ends."""
        y = self._each(y)
        inside = (y > self.map.low) & (y < self.map.high)
        # Values that are not inside are replaced by one that is.
        known = np.where(inside, y, self.map.to_target(np.zeros(1)))
        density = self.before.logpdf(self.map.to_model(known)) + self.map.log_slope(known)
        return density if inside.all() else np.where(inside, density, self._log_mass(y))

    def _log_mass(self, y: Array) -> Array:
        """Logarithms of the masses of the ends, minus infinity at all other values y, shape (n,)."""
        first, last = self._ends
        with np.errstate(divide="ignore"):
            low, high = np.log(self.before.cdf(first)), np.log(self.before.sf(last))
        return np.where(y == self.map.low, low, np.where(y == self.map.high, high, -np.inf))

    def cdf(self, y: ArrayLike) -> Array:
        """Probabilities of at most y, shape (n,)."""
        y = self._each(y)
        return np.where(y < self.map.low, 0.0, np.where(y >= self.map.high, 1.0, self.before.cdf(self.map.to_model(y))))

    def cdf_left(self, y: ArrayLike) -> Array:
        """Probabilities of less than y, shape (n,)."""
        y = self._each(y)
        return np.where(y <= self.map.low, 0.0, np.where(y > self.map.high, 1.0, self.before.cdf(self.map.to_model(y))))

    def sf(self, y: ArrayLike) -> Array:
        """Probabilities of more than y, shape (n,)."""
        y = self._each(y)
        return np.where(y < self.map.low, 1.0, np.where(y >= self.map.high, 0.0, self.before.sf(self.map.to_model(y))))

    def sample(self, n_samples: int = 1, random_state: RandomState = 0) -> Array:
        """Independent draws, shape (n, n_samples)."""
        return self._to_target(self.before.sample(n_samples, random_state))

    def excess(self, y: ArrayLike) -> Array:
        """Mean excess over y, E max(Y - y, 0), shape (n,)."""
        y = self._each(y)
        within = np.clip(y, self.map.low, self.map.high)
        point, (first, last) = self.map.to_model(within), self._ends
        # From the point away from the middle: the integrand falls from there on.
        upper = point > self.before.mean()
        above = self._tails(np.where(upper, point, np.inf), 1.0) - self._tails(last, 1.0)
        below = self._tails(np.where(upper, -np.inf, point), -1.0) - self._tails(first, -1.0)
        return np.where(upper, above, self.mean() - within + below) + np.maximum(self.map.low - y, 0.0)

    def half_difference(self) -> Array:
        """Half the mean distance of two independent draws, E abs(Y - Y') / 2, shape (n,)."""
        first, last = self._ends
        start = np.clip(self.before.mean(), first, last)
        above = self._tails(start, 1.0, both=True) - self._tails(last, 1.0, both=True)
        return above + self._tails(start, -1.0, both=True) - self._tails(first, -1.0, both=True)

    def _tails(self, start: Array | float, side: float, both: bool = False, centre: Array | None = None) -> Array:
        """Integrals over y of the probability beyond it, from that of z = `start` (n,) on to one side, shape (n,).

        With `both`, of the product of the probabilities on the two sides; with a `centre` (n,), of twice the distance
        from it times the probability. Zero where `start` is infinite.
        """
        start = np.broadcast_to(start, len(self))
        some = np.flatnonzero(np.isfinite(start))
        result = np.zeros(len(self))
        if not len(some):
            return result
        before, origin = self.before[some], start[some]

        def integrand(distance: Array, rows: Indices) -> Array:
            z, part = origin[rows] + side * distance, before[rows]
            beyond = part.sf(z) if side > 0 else part.cdf(z)
            if centre is not None:
                beyond *= 2.0 * side * (self.map.to_target(z) - centre[some[rows]])
            return self.map.slope(z) * (beyond * (1.0 - beyond) if both else beyond)

        result[some] = half_line_integral(integrand, before.std())
        return result

    def _quantile(self, level: float | Array) -> Array:
        return self._to_target(self.before._quantile(level))

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        return self.before.moments_of(lambda z, _: self._to_target(z))

    @property
    def _ends(self) -> tuple[float, float]:
        """Z of the ends: what is beyond them has the mass of the ends."""
        low, high = self.map.to_model(np.array([self.map.low, self.map.high])).tolist()
        return low, high

    def _to_target(self, z: Array) -> Array:
        """Values of z (...), none beyond the ends."""
        return np.clip(self.map.to_target(z), self.map.low, self.map.high)

    def _each(self, y: ArrayLike) -> Array:
        return np.broadcast_to(np.asarray(y, dtype=float), len(self))
