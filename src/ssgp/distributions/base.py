"""Predictive distributions of rows: means, quantiles, densities, scores and draws of one object."""

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.checks import check_levels
from ssgp.distributions.expectations import ValueFunction

__all__ = [
    "LEAST_DOF",
    "MOST_DOF",
    "Distribution",
    "MappableDistribution",
    "RandomState",
    "StretchableDistribution",
    "generator",
]

RandomState = int | np.random.RandomState | np.random.Generator | None

# Least degrees of freedom of the tails, with which deviations exist.
LEAST_DOF = 3.0
# Degrees of freedom that stand for a normal distribution.
MOST_DOF = 1e4


class Distribution(ABC):
    """Predictive distributions of n rows, one per row.

    All methods are of the same distribution, so that they agree: quantiles do not cross, and intervals, densities and
    draws fit together. Rows are selected by indexing, as in an array: ``distribution[:10]``, ``distribution[[3, 5]]``,
    ``distribution[mask]``. Where a method takes `y`, it is one number per row, or one for all.

    Examples
    --------
    >>> import numpy as np
    >>> from ssgp import ExactGPRegressor
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> model = ExactGPRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> heights = model.predict_distribution([[1.0], [2.0], [4.0]])
    >>> len(heights), len(heights[:2])
    (3, 2)
    >>> [round(float(mean), 2) for mean in heights.mean()]
    [0.84, 0.91, -0.76]
    >>> (heights.cdf(0.0) > 0.5).tolist()
    [False, False, True]
    """

    @abstractmethod
    def __len__(self) -> int:
        """Number of rows."""

    @abstractmethod
    def __getitem__(self, rows: slice | Indices | Mask) -> Self:
        """Distributions of the selected rows."""

    @abstractmethod
    def mean(self) -> Array:
        """Means, shape (n,)."""

    @abstractmethod
    def variance(self) -> Array:
        """Variances, shape (n,)."""

    @abstractmethod
    def logpdf(self, y: ArrayLike) -> Array:
        """Log densities at y, shape (n,)."""

    @abstractmethod
    def cdf(self, y: ArrayLike) -> Array:
        """Probabilities of at most y, shape (n,)."""

    @abstractmethod
    def sample(self, n_samples: int = 1, random_state: RandomState = 0) -> Array:
        """Independent draws, shape (n, n_samples)."""

    @abstractmethod
    def excess(self, y: ArrayLike) -> Array:
        """Mean excess over y, E max(Y - y, 0), shape (n,)."""

    @abstractmethod
    def half_difference(self) -> Array:
        """Half the mean distance of two independent draws, E abs(Y - Y') / 2, shape (n,)."""

    @abstractmethod
    def _quantile(self, level: float | Array) -> Array:
        """Quantiles of one level, or of one for each row (n,), shape (n,)."""

    def std(self) -> Array:
        """Standard deviations, shape (n,)."""
        return np.sqrt(self.variance())

    def sf(self, y: ArrayLike) -> Array:
        """Probabilities of more than y, shape (n,), to the last digit also where they are small."""
        return 1.0 - self.cdf(y)

    def pdf(self, y: ArrayLike) -> Array:
        """Densities at y, shape (n,)."""
        with np.errstate(over="ignore"):
            return np.exp(self.logpdf(y))

    def quantile(self, levels: ArrayLike) -> Array:
        """Quantiles of one level between 0 and 1, shape (n,), or of k levels, shape (n, k)."""
        quantiles = [self._quantile(level) for level in check_levels(levels, "levels")]
        return quantiles[0] if np.ndim(levels) == 0 else np.stack(quantiles, axis=1)

    def interval(self, coverage: float = 0.95) -> Array:
        """Lower and upper ends of the central interval of probability `coverage`, shape (n, 2)."""
        (level,) = check_levels([coverage], "coverage")
        return self.quantile((0.5 - level / 2, 0.5 + level / 2))

    def crps(self, y: ArrayLike) -> Array:
        """Continuous ranked probability scores of observations y, E abs(Y - y) - E abs(Y - Y') / 2, shape (n,)."""
        y = np.asarray(y, dtype=float)
        # What is zero, or nearly, must not be less by rounding.
        return np.maximum(2.0 * self.excess(y) - (self.mean() - y) - self.half_difference(), 0.0)


class MappableDistribution(Distribution):
    """Distributions of all numbers, of which functions have means: those of targets that are mapped."""

    @abstractmethod
    def moments_of(self, function: ValueFunction) -> tuple[Array, Array]:
        """Means and variances of ``function(values, rows)`` of the values of each row, shapes (n,), by quadrature.

        The function takes values (..., k) of the k rows of these places; it is smooth, and grows at most linearly.
        """


class StretchableDistribution(MappableDistribution):
    """Distributions that a recalibration can stretch, on the two sides of their means."""

    @abstractmethod
    def upper_variance(self) -> Array:
        """Part of the variance from above the mean m, E max(Y - m, 0)^2, shape (n,)."""

    @abstractmethod
    def half_differences(self) -> tuple[Array, Array]:
        """Integrals of F (1 - F) below and above the mean, shapes (n,): the two parts of `half_difference`."""

    @abstractmethod
    def centred(self) -> "StretchableDistribution":
        """The distributions of distances from the mean: of mean zero, to the last digit."""

    @abstractmethod
    def with_tails(self, dof: float) -> "StretchableDistribution":
        """The distributions with heavier tails, of at most `dof` degrees of freedom."""

    def half_difference(self) -> Array:
        """Half the mean distance of two independent draws, E abs(Y - Y') / 2, shape (n,)."""
        below, above = self.half_differences()
        return below + above


def generator(random_state: RandomState) -> np.random.Generator:
    """NumPy's generator for a seed as scikit-learn takes it."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
