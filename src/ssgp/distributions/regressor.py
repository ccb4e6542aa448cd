"""The methods that every regressor of the library has, all of them of one predictive distribution."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ssgp._utils.arrays import Array
from ssgp._utils.checks import check_count, check_levels, check_target
from ssgp.distributions.base import Distribution
from ssgp.engine.threads import map_in_threads

__all__ = ["DistributionRegressor"]

Result = TypeVar("Result")

# Rows whose distributions a thread evaluates at a time.
ROWS_PER_TASK = 1 << 14


class DistributionRegressor(ABC):
    """A regressor that predicts the distribution of every row's target.

    Subclasses give `predict_distribution`, and `_means`, which may be had for less. All methods take the keywords of
    `predict_distribution` as well.
    """

    @abstractmethod
    def predict_distribution(self, X: ArrayLike) -> Distribution:
        """Predictive distributions of observations at X (n, d): one object that answers everything else."""

    @abstractmethod
    def _means(self, X: ArrayLike) -> Array:
        """Means of the distributions, shape (n,)."""

    def _distributions(self, X: ArrayLike, **how: Any) -> Iterator[Distribution]:  # noqa: ANN401
        """Distributions of all rows in their order, in one part or, where memory asks for it, in several."""
        yield self.predict_distribution(X, **how)

    @property
    def _n_jobs(self) -> int | None:
        """Threads that evaluate distributions."""
        return getattr(self, "n_jobs", None)

    def predict(self, X: ArrayLike, return_std: bool = False, **how: Any) -> Array | tuple[Array, Array]:  # noqa: ANN401
        """Predictive mean, and standard deviation of an observation.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        return_std : bool, default=False
            Whether to return deviations too.
        **how
            Keywords of `predict_distribution`, where the regressor has some.

        Returns
        -------
        mean : array of shape (n,)
            In the target's units.
        std : array of shape (n,)
            Only with `return_std`.
        """
        if not return_std:
            return self._means(X, **how)
        mean, std = np.concatenate(
            self._evaluate(X, lambda said, _: np.stack([said.mean(), said.std()]), **how), axis=1
        )
        return mean, std

    def predict_quantiles(
        self,
        X: ArrayLike,
        quantiles: ArrayLike = (0.05, 0.25, 0.5, 0.75, 0.95),
        **how: Any,  # noqa: ANN401
    ) -> Array:
        """Quantiles of an observation.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        quantiles : array-like of shape (k,), default=(0.05, 0.25, 0.5, 0.75, 0.95)
            Levels between 0 and 1.
        **how
            Keywords of `predict_distribution`, where the regressor has some.

        Returns
        -------
        array of shape (n, k)
            They never cross: all are of one distribution.
        """
        levels = check_levels(quantiles, "quantiles")
        return np.concatenate(self._evaluate(X, lambda said, _: said.quantile(levels), **how))

    def predict_interval(self, X: ArrayLike, coverage: float = 0.95, **how: Any) -> Array:  # noqa: ANN401
        """Central interval of an observation.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        coverage : float, default=0.95
            Share of observations that should fall inside.
        **how
            Keywords of `predict_distribution`, where the regressor has some.

        Returns
        -------
        array of shape (n, 2)
            Lower and upper ends.
        """
        check_levels([coverage], "coverage")
        return np.concatenate(self._evaluate(X, lambda said, _: said.interval(coverage), **how))

    def log_prob(self, X: ArrayLike, y: ArrayLike, **how: Any) -> Array:  # noqa: ANN401
        """Log densities of observations y (n,) at X (n, d), shape (n,)."""
        check_is_fitted(self)
        target = check_target(y, X)
        return np.concatenate(self._evaluate(X, lambda said, rows: said.logpdf(target[rows]), **how))

    def cdf(self, X: ArrayLike, y: ArrayLike, **how: Any) -> Array:  # noqa: ANN401
        """Predictive probabilities of an observation at most y (n,) at X (n, d), shape (n,)."""
        check_is_fitted(self)
        target = check_target(y, X)
        return np.concatenate(self._evaluate(X, lambda said, rows: said.cdf(target[rows]), **how))

    def sample_y(
        self,
        X: ArrayLike,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = 0,
        **how: Any,  # noqa: ANN401
    ) -> Array:
        """Independent draws of observations at X (n, d), shape (n, n_samples)."""
        n_samples = check_count(n_samples, "n_samples", 1)
        return self.predict_distribution(X, **how).sample(n_samples, random_state)

    def _evaluate(
        self,
        X: ArrayLike,
        function: Callable[[Distribution, slice], Result],
        **how: Any,  # noqa: ANN401
    ) -> list[Result]:
        """``function(distribution, rows)`` for some rows at a time, in threads, in the order of the rows."""
        results: list[Result] = []
        start = 0
        for part in self._distributions(X, **how):
            tasks = [slice(at, min(at + ROWS_PER_TASK, len(part))) for at in range(0, len(part), ROWS_PER_TASK)]

            def evaluate(task: slice, part: Distribution = part, start: int = start) -> Result:
                return function(part[task], slice(start + task.start, start + task.stop))

            results += map_in_threads(evaluate, tasks, self._n_jobs)
            start += len(part)
        return results
