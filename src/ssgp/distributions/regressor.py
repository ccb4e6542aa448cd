"""The methods of every regressor of the library, all of one predictive distribution."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ssgp._utils.arrays import Array
from ssgp._utils.checks import check_count, check_levels, check_target
from ssgp.distributions.base import Distribution
from ssgp.engine.threads import map_in_threads

__all__ = ["DistributionRegressor", "map_distributions", "means_of_distributions", "means_of_parts"]

Result = TypeVar("Result")

# Rows whose distributions a thread evaluates together.
ROWS_PER_TASK = 1 << 14


class DistributionRegressor(ABC):
    """A regressor that predicts the distribution of every row's target.

    Subclasses implement `predict_distribution`, and `_means`, which may be cheaper. All methods take the keywords of
    `predict_distribution` as well.
    """

    @abstractmethod
    def predict_distribution(self, X: ArrayLike) -> Distribution:
        """Predictive distributions of observations at X (n, d), as one object with all other methods."""

    @abstractmethod
    def _means(self, X: ArrayLike) -> Array:
        """Means of the distributions, shape (n,)."""

    def _distributions(self, X: ArrayLike, **keywords: Any) -> Iterator[Distribution]:  # noqa: ANN401
        """Distributions of all rows in their order, in one part, or in several that take less memory."""
        yield self.predict_distribution(X, **keywords)

    @property
    def _n_jobs(self) -> int | None:
        """Number of threads that evaluate distributions."""
        return getattr(self, "n_jobs", None)

    def predict(self, X: ArrayLike, return_std: bool = False, **keywords: Any) -> Array | tuple[Array, Array]:  # noqa: ANN401
        """Predictive mean, and standard deviation of an observation.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        return_std : bool, default=False
            Whether to return standard deviations too.
        **keywords
            Keywords of `predict_distribution`, for regressors that have any.

        Returns
        -------
        mean : array of shape (n,)
            Means in the target's units.
        std : array of shape (n,)
            Standard deviations, only with `return_std`.
        """
        if not return_std:
            return self._means(X, **keywords)
        parts = map_distributions(self, X, lambda part, _: np.stack([part.mean(), part.std()]), **keywords)
        mean, std = np.concatenate(parts, axis=1)
        return mean, std

    def predict_quantiles(
        self,
        X: ArrayLike,
        quantiles: ArrayLike = (0.05, 0.25, 0.5, 0.75, 0.95),
        **keywords: Any,  # noqa: ANN401
    ) -> Array:
        """Quantiles of an observation.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        quantiles : array-like of shape (k,), default=(0.05, 0.25, 0.5, 0.75, 0.95)
            Levels between 0 and 1.
        **keywords
            Keywords of `predict_distribution`, for regressors that have any.

        Returns
        -------
        array of shape (n, k)
            Quantiles, which never cross, since all come from one distribution.
        """
        levels = check_levels(quantiles, "quantiles")
        return np.concatenate(map_distributions(self, X, lambda part, _: part.quantile(levels), **keywords))

    def predict_interval(self, X: ArrayLike, coverage: float = 0.95, **keywords: Any) -> Array:  # noqa: ANN401
        """Central interval of an observation.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        coverage : float, default=0.95
            Probability that the interval covers.
        **keywords
            Keywords of `predict_distribution`, for regressors that have any.

        Returns
        -------
        array of shape (n, 2)
            Lower and upper ends of the intervals.
        """
        check_levels([coverage], "coverage")
        return np.concatenate(map_distributions(self, X, lambda part, _: part.interval(coverage), **keywords))

    def log_prob(self, X: ArrayLike, y: ArrayLike, **keywords: Any) -> Array:  # noqa: ANN401
        """Log densities of observations y (n,) at X (n, d), shape (n,); of counts, logarithms of probabilities."""
        check_is_fitted(self)
        target = check_target(y, X)
        return np.concatenate(map_distributions(self, X, lambda part, rows: part.logpdf(target[rows]), **keywords))

    def cdf(self, X: ArrayLike, y: ArrayLike, **keywords: Any) -> Array:  # noqa: ANN401
        """Predictive probabilities that an observation is at most y (n,) at X (n, d), shape (n,)."""
        check_is_fitted(self)
        target = check_target(y, X)
        return np.concatenate(map_distributions(self, X, lambda part, rows: part.cdf(target[rows]), **keywords))

    def sample_y(
        self,
        X: ArrayLike,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = 0,
        **keywords: Any,  # noqa: ANN401
    ) -> Array:
        """Independent draws of observations at X (n, d), shape (n, n_samples)."""
        n_samples = check_count(n_samples, "n_samples", 1)
        return self.predict_distribution(X, **keywords).sample(n_samples, random_state)


def map_distributions(
    regressor: DistributionRegressor,
    X: ArrayLike,
    function: Callable[[Distribution, slice], Result],
    **keywords: Any,  # noqa: ANN401
) -> list[Result]:
    """Values of ``function(distribution, rows)`` for consecutive slices of the rows of X (n, d), in threads.

    `distribution` is the predictive distribution of these rows, and `keywords` are those of `predict_distribution`.
    """
    return map_parts(regressor._distributions(X, **keywords), function, regressor._n_jobs)


def map_parts(
    parts: Iterable[Distribution], function: Callable[[Distribution, slice], Result], n_jobs: int | None
) -> list[Result]:
    """The same of distributions of all rows that come in parts."""
    results: list[Result] = []
    start = 0
    for part in parts:
        tasks = [slice(i, min(i + ROWS_PER_TASK, len(part))) for i in range(0, len(part), ROWS_PER_TASK)]

        def evaluate(task: slice, part: Distribution = part, start: int = start) -> Result:
            return function(part[task], slice(start + task.start, start + task.stop))

        results += map_in_threads(evaluate, tasks, n_jobs)
        start += len(part)
    return results


def means_of_distributions(regressor: DistributionRegressor, X: ArrayLike, **keywords: Any) -> Array:  # noqa: ANN401
    """Means of the distributions of rows X (n, d), where there is no shorter way to them, shape (n,)."""
    return means_of_parts(regressor._distributions(X, **keywords), regressor._n_jobs)


def means_of_parts(parts: Iterable[Distribution], n_jobs: int | None) -> Array:
    """Means of the distributions of all rows, which come in parts, shape (n,)."""
    return np.concatenate(map_parts(parts, lambda part, _: part.mean(), n_jobs))
