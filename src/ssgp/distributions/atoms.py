"""Distributions with atoms: values that have probabilities of their own, and a distribution of everything else."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp.distributions.base import Distribution, RandomState, generator

__all__ = ["AtomDistribution", "distance_from", "mean_with_atoms"]

# Levels between which quantiles of what is elsewhere are looked for.
LEAST_LEVEL, MOST_LEVEL = 1e-300, 1.0 - 1e-15


@dataclass(frozen=True)
class AtomDistribution(Distribution):
    """Distributions of n rows that are at one of k values, the atoms, with some probability, or else elsewhere.

    `logpdf` of an atom is the logarithm of its probability, and elsewhere that of a density: the two are never compared
    by it. All else, such as `cdf`, quantiles, CRPS and draws, is of one distribution.

    Attributes
    ----------
    elsewhere : Distribution
        Distributions of the rows, given that they are at no atom.
    values : array of shape (k,)
        The atoms, ascending.
    probability : array of shape (k, n)
        Their probabilities.
    """

    elsewhere: Distribution
    values: Array
    probability: Array

    def __len__(self) -> int:
        return len(self.elsewhere)

    def __getitem__(self, rows: slice | Indices | Mask) -> "AtomDistribution":
        return replace(self, elsewhere=self.elsewhere[rows], probability=self.probability[:, rows])

    def mean(self) -> Array:
        """Means, shape (n,)."""
        return mean_with_atoms(self.values, self.probability, self.elsewhere.mean())

    def variance(self) -> Array:
        """Variances by the law of total variance, shape (n,)."""
        mean = self.mean()
        within = self.elsewhere.variance() + (self.elsewhere.mean() - mean) ** 2
        return self._share * within + self._sum((value - mean) ** 2 for value in self.values)

    def logpdf(self, y: ArrayLike) -> Array:
        """Log densities at y, shape (n,); of atoms, logarithms of their probabilities."""
        y = self._each(y)
        with np.errstate(divide="ignore"):
            logs = np.log(self._share) + self.elsewhere.logpdf(y)
            for k, value in enumerate(self.values):
                here = y == value
                if here.any():
                    logs = np.where(here, np.log(self._mass[k]), logs)
        return logs

    def cdf(self, y: ArrayLike) -> Array:
        """Probabilities of at most y, shape (n,)."""
        y = self._each(y)
        return np.minimum(self._share * self.elsewhere.cdf(y) + self._sum(y >= value for value in self.values), 1.0)

    def cdf_left(self, y: ArrayLike) -> Array:
        """Probabilities of less than y, shape (n,)."""
        y = self._each(y)
        below = _cdf_left(self.elsewhere, y)
        return np.minimum(self._share * below + self._sum(y > value for value in self.values), 1.0)

    def sf(self, y: ArrayLike) -> Array:
        """Probabilities of more than y, shape (n,)."""
        y = self._each(y)
        return np.minimum(self._share * self.elsewhere.sf(y) + self._sum(y < value for value in self.values), 1.0)

    def sample(self, n_samples: int = 1, random_state: RandomState = 0) -> Array:
        """Independent draws, shape (n, n_samples)."""
        rng = generator(random_state)
        drawn, chance = self.elsewhere.sample(n_samples, rng), rng.random((len(self), n_samples))
        above = np.zeros(len(self))
        for value, probability in zip(self.values, self.probability, strict=True):
            below, above = above, above + probability
            drawn = np.where((chance >= below[:, None]) & (chance < above[:, None]), value, drawn)
        return drawn

    def excess(self, y: ArrayLike) -> Array:
        """Mean excess over y, E max(Y - y, 0), shape (n,)."""
        y = self._each(y)
        return self._share * self.elsewhere.excess(y) + self._sum(np.maximum(value - y, 0.0) for value in self.values)

    def half_difference(self) -> Array:
        """Half the mean distance of two independent draws, E abs(Y - Y') / 2, shape (n,)."""
        both = self._share**2 * self.elsewhere.half_difference()
        one = self._share * self._sum(distance_from(self.elsewhere, self._each(value)) for value in self.values)
        none = np.zeros(len(self))
        for first, second in combinations(range(len(self.values)), 2):
            distance = self.values[second] - self.values[first]
            none = none + distance * self.probability[first] * self.probability[second]
        return both + one + none

    def _quantile(self, level: float | Array) -> Array:
        level = np.broadcast_to(np.asarray(level, dtype=float), len(self))
        # Atoms below the quantile, whose probabilities are passed, and the one that it is, if any.
        passed, at = np.zeros(len(self)), np.full(len(self), -1)
        low, high = np.full(len(self), -np.inf), np.full(len(self), np.inf)
        for k, value in enumerate(self.values):
            below, at_most = self._steps[k]
            at = np.where((below < level) & (level <= at_most), k, at)
            low = np.where(at_most < level, value, low)
            high = np.where(level <= below, np.minimum(high, value), high)
            passed = passed + np.where(at_most < level, self.probability[k], 0.0)
        quantiles = self.values[at]
        some = np.flatnonzero(at < 0)
        if len(some):
            with np.errstate(divide="ignore", invalid="ignore"):
                inner = (level[some] - passed[some]) / self._share[some]
            inner = np.clip(np.nan_to_num(inner, nan=0.5), LEAST_LEVEL, MOST_LEVEL)
            quantiles[some] = np.clip(self.elsewhere[some]._quantile(inner), low[some], high[some])
        return quantiles

    @cached_property
    def _share(self) -> Array:
        """Probabilities of no atom, shape (n,)."""
        return _share_elsewhere(self.probability)

    @cached_property
    def _mass(self) -> Array:
        """Probabilities of the atoms, with what else has them as a value of its own, shape (k, n)."""
        elsewhere = [self.elsewhere.cdf(value) - _cdf_left(self.elsewhere, self._each(value)) for value in self.values]
        return self.probability + self._share * np.maximum(np.stack(elsewhere), 0.0)

    @cached_property
    def _steps(self) -> list[tuple[Array, Array]]:
        """Probabilities of less than each atom, and of at most it, shapes (n,)."""
        return [(self.cdf_left(value), self.cdf(value)) for value in self.values]

    def _sum(self, parts: Iterable[Array]) -> Array:
        """Sum over the atoms of probabilities times parts (n,), from the first atom to the last, shape (n,)."""
        total = np.zeros(len(self))
        for probability, part in zip(self.probability, parts, strict=True):
            total = total + probability * part
        return total

    def _each(self, y: ArrayLike) -> Array:
        return np.broadcast_to(np.asarray(y, dtype=float), len(self))


def mean_with_atoms(values: Array, probability: Array, elsewhere: Array) -> Array:
    """Means of atoms with probabilities (k, n) and of what is elsewhere, whose means are (n,); shape (n,)."""
    mean = _share_elsewhere(probability) * elsewhere
    for value, own in zip(values, probability, strict=True):
        mean = mean + own * value
    return mean


def distance_from(distribution: Distribution, y: Array) -> Array:
    """Mean distances of draws from y (n,), E abs(Y - y), shape (n,)."""
    return np.maximum(2.0 * distribution.excess(y) - (distribution.mean() - y), 0.0)


def _share_elsewhere(probability: Array) -> Array:
    """What probabilities (k, n) of atoms leave, shape (n,); added in their order, whatever rows come together."""
    share = np.ones(probability.shape[1])
    for own in probability:
        share = share - own
    return np.maximum(share, 0.0)


def _cdf_left(distribution: Distribution, y: Array) -> Array:
    """Probabilities of less than y (n,), shape (n,)."""
    left = getattr(distribution, "cdf_left", None)
    return distribution.cdf(y) if left is None else left(y)
