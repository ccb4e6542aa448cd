"""Mean and deviation of numbers that come in parts."""

import numpy as np

from ssgp._utils.arrays import Array

__all__ = ["Moments"]


class Moments:
    """Mean and deviation of all numbers so far, without loss of digits where these are far from zero.

    Attributes
    ----------
    total : float
        Sum of the weights: how many numbers there are, each counted as often as its weight says.
    mean : float
        Mean of the numbers.
    """

    def __init__(self) -> None:
        self.total, self.mean, self._squares = 0.0, 0.0, 0.0

    def add(self, y: Array, weight: Array | None = None) -> None:
        """Add numbers y (n,), each as often as its weight says."""
        total = float(len(y) if weight is None else weight.sum())
        if not total:
            return

        def sum_of(numbers: Array) -> float:
            return float(np.sum(numbers if weight is None else weight * numbers, dtype=float))

        # Squares may overflow; the regressor refuses such numbers with a message.
        with np.errstate(over="ignore", invalid="ignore"):
            mean = sum_of(y) / total
            self._add(total, mean, sum_of((y - mean) ** 2))

    def add_all(self, others: "Moments") -> None:
        """Add the numbers of others."""
        if others.total:
            with np.errstate(over="ignore", invalid="ignore"):
                self._add(others.total, others.mean, others._squares)

    def _add(self, total: float, mean: float, squares: float) -> None:
        difference, self.total = mean - self.mean, self.total + total
        between = difference * difference * total * (1.0 - total / self.total)
        self._squares += squares + between
        self.mean += difference * total / self.total

    @property
    def deviation(self) -> float:
        """Standard deviation of the numbers."""
        return float(np.sqrt(self._squares / self.total))
