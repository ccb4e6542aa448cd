"""Predictive distributions that are known by some quantiles alone, as quantile regressions give them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["LEVELS", "Quantiles"]

Array = NDArray[np.float64]
# Both ends of the intervals that are scored, the median and some between.
LEVELS = np.array([0.005, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.995])


@dataclass(frozen=True)
class Quantiles:
    """Quantiles of n rows; between them distribution functions are lines, and beyond them there is nothing.

    Attributes
    ----------
    levels : array of shape (k,)
        Levels, ascending, 0.5 among them.
    values : array of shape (n, k)
        Quantiles; those that cross are sorted.
    means : array of shape (n,), optional
        Predicted means; by default the medians.
    """

    levels: Array
    values: Array
    means: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", np.sort(self.values, axis=1))

    def __len__(self) -> int:
        return len(self.values)

    def mean(self) -> Array:
        """Means, shape (n,)."""
        return self.values[:, np.searchsorted(self.levels, 0.5)] if self.means is None else self.means

    def quantile(self, levels: ArrayLike) -> Array:
        """Quantiles, shape (n,) or (n, k), with those of the ends beyond the levels that are known."""
        wanted = np.clip(np.atleast_1d(levels), self.levels[0], self.levels[-1])
        right = np.clip(np.searchsorted(self.levels, wanted), 1, len(self.levels) - 1)
        share = (wanted - self.levels[right - 1]) / (self.levels[right] - self.levels[right - 1])
        found = (1 - share) * self.values[:, right - 1] + share * self.values[:, right]
        return found[:, 0] if np.ndim(levels) == 0 else found

    def interval(self, coverage: float = 0.95) -> Array:
        """Ends of central intervals, shape (n, 2)."""
        return self.quantile((0.5 - coverage / 2, 0.5 + coverage / 2))

    def cdf(self, y: Array) -> Array:
        """Probabilities of at most y, shape (n,)."""
        return self._probability(y, self.values <= y[:, None])

    def cdf_left(self, y: Array) -> Array:
        """Probabilities of less than y, shape (n,): others than of at most y where several quantiles are y."""
        return self._probability(y, self.values < y[:, None])

    def _probability(self, y: Array, passed: NDArray[np.bool_]) -> Array:
        """Probabilities (n,) of y (n,), which has passed some of the quantiles, (n, k)."""
        left = passed.sum(axis=1) - 1
        row, last = np.arange(len(y)), len(self.levels) - 1
        low, high = np.clip(left, 0, last), np.clip(left + 1, 0, last)
        start, width = self.values[row, low], self.values[row, high] - self.values[row, low]
        share = np.divide(y - start, width, out=np.zeros(len(y)), where=width > 0)
        inside = self.levels[low] + share * (self.levels[high] - self.levels[low])
        return np.where(left < 0, 0.0, np.where(left == last, 1.0, inside))

    def crps(self, y: Array) -> Array:
        """Continuous ranked probability scores, the integrals of (F - 1(x >= y))^2, shape (n,)."""
        passed = self.cdf(y)
        below, above = np.minimum(self.values, y[:, None]), np.maximum(self.values, y[:, None])
        at_below, at_above = np.minimum(self.levels, passed[:, None]), np.maximum(self.levels, passed[:, None])
        inner = _integral(below, at_below) + _integral(above, 1.0 - at_above)
        return inner + np.maximum(self.values[:, 0] - y, 0.0) + np.maximum(y - self.values[:, -1], 0.0)


def _integral(x: Array, height: Array) -> Array:
    """Integrals of the squares of lines through points (n, k), shape (n,)."""
    left, right = height[:, :-1], height[:, 1:]
    return np.sum(np.diff(x, axis=1) * (left * left + left * right + right * right), axis=1) / 3.0
