"""Normal distributions, the predictions of the paper's regressor and of the baselines."""

from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri
from sklearn.utils import check_random_state

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp.distributions.base import MOST_DOF, RandomState, StretchableDistribution
from ssgp.distributions.expectations import ValueFunction
from ssgp.distributions.student_mixture import StudentMixture

__all__ = ["NormalDistribution"]

LOG_TWO_PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class NormalDistribution(StretchableDistribution):
    """Normal distributions of n rows.

    Attributes
    ----------
    location, scale : arrays of shape (n,)
        Means and standard deviations.
    """

    location: Array
    scale: Array

    @classmethod
    def of(cls, mean: ArrayLike, std: ArrayLike) -> "NormalDistribution":
        """Distributions of array-likes of means and deviations, shapes (n,)."""
        return cls(np.asarray(mean, dtype=float), np.asarray(std, dtype=float))

    def __len__(self) -> int:
        return len(self.location)

    def __getitem__(self, rows: slice | Indices | Mask) -> "NormalDistribution":
        return NormalDistribution(self.location[rows], self.scale[rows])

    def mean(self) -> Array:
        """Means, shape (n,)."""
        return self.location

    def variance(self) -> Array:
        """Variances, shape (n,)."""
        return self.scale**2

    def std(self) -> Array:
        """Standard deviations, shape (n,)."""
        return self.scale

    def logpdf(self, y: ArrayLike) -> Array:
        """Log densities at y, shape (n,)."""
        return -0.5 * (self._standardized(y) ** 2 + LOG_TWO_PI) - np.log(self.scale)

    def cdf(self, y: ArrayLike) -> Array:
        """Probabilities of at most y, shape (n,)."""
        return ndtr(self._standardized(y))

    def sf(self, y: ArrayLike) -> Array:
        """Probabilities of more than y, shape (n,)."""
        return ndtr(-self._standardized(y))

    def sample(self, n_samples: int = 1, random_state: RandomState = 0) -> Array:
        """Independent draws, shape (n, n_samples)."""
        rng = random_state if isinstance(random_state, np.random.Generator) else check_random_state(random_state)
        return self.location[:, None] + self.scale[:, None] * rng.normal(size=(len(self), n_samples))

    def excess(self, y: ArrayLike) -> Array:
        """Mean excess over y, E max(Y - y, 0), shape (n,)."""
        z = self._standardized(y)
        return self.scale * (np.exp(-0.5 * z * z) / sqrt(2.0 * pi) - z * ndtr(-z))

    def moments_of(self, function: ValueFunction) -> tuple[Array, Array]:
        """Means and variances of ``function(values, rows)`` of the values of each row, shapes (n,)."""
        return self.as_students().moments_of(function)

    def upper_variance(self) -> Array:
        """Half of the variance, shape (n,)."""
        return 0.5 * self.variance()

    def half_differences(self) -> tuple[Array, Array]:
        """Integrals of F (1 - F) below and above the mean, shapes (n,)."""
        half = 0.5 * self.scale / sqrt(pi)
        return half, half

    def centred(self) -> "NormalDistribution":
        """The distributions of distances from the mean."""
        return NormalDistribution(np.zeros_like(self.location), self.scale)

    def with_tails(self, dof: float) -> StudentMixture:
        """Student-t distributions of at most `dof` degrees of freedom."""
        return self.as_students().with_tails(dof)

    def as_students(self) -> StudentMixture:
        """Student-t distributions of so many degrees of freedom that they are nearly the same."""
        location, scale = self.location[None], self.scale[None]
        return StudentMixture(location, scale, np.full_like(location, MOST_DOF))

    def _quantile(self, level: float | Array) -> Array:
        return self.location + self.scale * ndtri(level)

    def _standardized(self, y: ArrayLike) -> Array:
        return (np.asarray(y, dtype=float) - self.location) / self.scale
