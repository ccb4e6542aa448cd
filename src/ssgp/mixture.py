"""Mixtures of Student-t distributions: what a forest predicts for a row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp, stdtr, stdtrit

__all__ = ["StudentMixture", "average"]

Array = NDArray[np.floating]


def average(by_component: Array, share: Array | None) -> Array:
    """Mean over components (the first axis) with the given probabilities, or equal ones."""
    return by_component.mean(axis=0) if share is None else np.einsum("tn,tn->n", share, by_component)


@dataclass(frozen=True)
class StudentMixture:
    """For each of n rows, a mixture of T Student-t distributions.

    Everything a prediction can be asked for comes from here, so that it always agrees:
    quantiles cannot cross, and intervals, densities and samples are of one distribution.

    Attributes
    ----------
    location, scale, dof : arrays of shape (T, n)
        Of the components; degrees of freedom above 2.
    share : array of shape (T, n) or None
        Their probabilities, which sum to one over the components; None for equal ones.
    """

    location: Array
    scale: Array
    dof: Array
    share: Array | None = None

    def rows(self, some: slice | NDArray[np.bool_] | NDArray[np.integer]) -> "StudentMixture":
        """Some of the rows."""
        share = None if self.share is None else self.share[:, some]
        return StudentMixture(self.location[:, some], self.scale[:, some], self.dof[:, some], share)

    def mean(self) -> Array:
        """Mean, shape (n,)."""
        return self._average(self.location)

    def _average(self, by_component: Array) -> Array:
        return average(by_component, self.share)

    def variance(self) -> Array:
        """Variance, shape (n,), by the law of total variance."""
        within = self.scale**2 * self.dof / (self.dof - 2.0)
        return self._average(within + (self.location - self.mean()) ** 2)

    def log_density(self, y: Array) -> Array:
        """Log density at y (n,), shape (n,)."""
        z, half = (y - self.location) / self.scale, 0.5 * self.dof
        constant = gammaln(half + 0.5) - gammaln(half) - 0.5 * np.log(self.dof * np.pi) - np.log(self.scale)
        parts = constant - (half + 0.5) * np.log1p(z * z / self.dof)
        with np.errstate(divide="ignore"):
            parts += -np.log(len(parts)) if self.share is None else np.log(self.share)
        return np.asarray(logsumexp(parts, axis=0))

    def cdf(self, y: Array) -> Array:
        """Cumulative distribution at y (n,), shape (n,)."""
        return self._average(stdtr(self.dof, (y - self.location) / self.scale))

    def quantile(self, level: float, n_steps: int = 60) -> Array:
        """Quantile, shape (n,): where the cumulative distribution is `level`.

        It lies between the components' own quantiles, and regula falsi with halving (the Illinois
        rule) closes in on it from both sides.
        """
        own = self.location + self.scale * stdtrit(self.dof, level)
        low, high = own.min(axis=0), own.max(axis=0)
        at_low, at_high = self.cdf(low) - level, self.cdf(high) - level
        tolerance = 1e-9 * self.scale.min(axis=0)
        for _ in range(n_steps):
            gap = at_high - at_low
            step = np.where(gap > 0, at_high / np.where(gap > 0, gap, 1.0), 0.5)
            middle = high - np.clip(step, 0.0, 1.0) * (high - low)
            at_middle = self.cdf(middle) - level
            below = at_middle <= 0
            # The end that stays is made to look half as far off, or it might stay for ever.
            at_high = np.where(below, 0.5 * at_high, at_middle)
            at_low = np.where(below, at_middle, 0.5 * at_low)
            low, high = np.where(below, middle, low), np.where(below, high, middle)
            if np.all((high - low <= tolerance) | (np.abs(at_middle) < 1e-8 * min(level, 1.0 - level))):
                break
        return middle

    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Independent draws for each row, shape (n, n_samples)."""
        n_components, n_rows = self.location.shape
        rows = np.arange(n_rows)[:, None]
        if self.share is None:
            pick = rng.integers(0, n_components, (n_rows, n_samples))
        else:
            steps = np.cumsum(self.share, axis=0)[:-1, :, None]
            pick = np.sum(rng.random((n_rows, n_samples)) > steps, axis=0)
        return self.location[pick, rows] + self.scale[pick, rows] * rng.standard_t(self.dof[pick, rows])
