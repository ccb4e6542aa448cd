"""Mean and deviation of numbers that come in parts."""

import numpy as np

from ssgp._utils.arrays import Array

__all__ = ["Moments"]


class Moments:
    """Sums from which mean and deviation follow, without loss of digits where numbers are far from zero.

    Attributes
    ----------
    total : float
        How many numbers there are, each counted as often as its weight says.
    mean : float
        Of all so far.
    """

    def __init__(self) -> None:
        self.total, self.mean, self._squares = 0.0, 0.0, 0.0

    def add(self, y: Array, weight: Array | None = None) -> None:
        """Some more."""
        weight = np.ones(len(y)) if weight is None else weight
        own = float(weight.sum())
        # Squares may overflow; a model of such numbers is refused with a message of its own.
        with np.errstate(over="ignore", invalid="ignore"):
            self._add(y, weight, own)

    def _add(self, y: Array, weight: Array, own: float) -> None:
        if own:
            mean = float(np.average(y, weights=weight))
            apart, self.total = mean - self.mean, self.total + own
            self._squares += float(weight @ (y - mean) ** 2) + apart * apart * own * (1.0 - own / self.total)
            self.mean += apart * own / self.total

    @property
    def deviation(self) -> float:
        """Of all so far."""
        return float(np.sqrt(self._squares / self.total))
