"""Everything a prediction that is a distribution can be asked for."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ssgp._utils.checks import check_count, check_levels, check_target
from ssgp.engine.threads import map_in_threads

__all__ = ["DistributionRegressor", "Distributions"]

Array = NDArray[np.floating]
Result = TypeVar("Result")

# Rows whose distributions a thread looks at.
AT_ONCE = 1 << 14


class Distributions(Protocol):
    """Of n rows."""

    @property
    def n_rows(self) -> int:
        """How many there are."""
        ...

    def rows(self, some: slice | NDArray[np.integer]) -> Self:
        """Some of them."""
        ...

    def mean(self) -> Array:
        """Shape (n,)."""
        ...

    def variance(self) -> Array:
        """Shape (n,)."""
        ...

    def log_density(self, y: Array) -> Array:
        """At y (n,), shape (n,)."""
        ...

    def cdf(self, y: Array) -> Array:
        """Probability of at most y (n,), shape (n,)."""
        ...

    def quantile(self, level: float) -> Array:
        """Shape (n,)."""
        ...

    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Independent draws, shape (n, n_samples)."""
        ...


class DistributionRegressor(ABC):
    """A regressor that says of every row how its target is distributed.

    Subclasses give `_distributions`, from which all that is asked comes, so that it always agrees, and `_means`, which
    may be had for less.
    """

    @abstractmethod
    def _means(self, X: ArrayLike) -> Array:
        """Means of the distributions, shape (n,)."""

    @abstractmethod
    def _distributions(self, X: ArrayLike) -> Iterator[tuple[Distributions, slice]]:
        """Distributions in the target's units of some rows at a time, and which rows they are."""

    def predict(self, X: ArrayLike, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Predictive mean, and deviation of an observation.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        return_std : bool, default=False
            Whether to return deviations too.

        Returns
        -------
        mean : array of shape (n,)
            In the target's units.
        std : array of shape (n,)
            Only with `return_std`.
        """
        if not return_std:
            return self._means(X)
        mean, variance = self._by_part(X, lambda found, _: np.stack([found.mean(), found.variance()])).T
        return mean, np.sqrt(variance)

    def predict_quantiles(self, X: ArrayLike, quantiles: ArrayLike = (0.05, 0.25, 0.5, 0.75, 0.95)) -> Array:
        """Quantiles of an observation.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        quantiles : array-like of shape (k,), default=(0.05, 0.25, 0.5, 0.75, 0.95)
            Levels between 0 and 1.

        Returns
        -------
        array of shape (n, k)
            They never cross: all are of one distribution.
        """
        levels = check_levels(quantiles, "quantiles")
        return self._by_part(X, lambda found, _: np.stack([found.quantile(level) for level in levels]))

    def predict_interval(self, X: ArrayLike, coverage: float = 0.95) -> Array:
        """Central interval of an observation.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        coverage : float, default=0.95
            Share of observations that should fall inside.

        Returns
        -------
        array of shape (n, 2)
            Lower and upper ends.
        """
        (level,) = check_levels([coverage], "coverage")
        return self.predict_quantiles(X, (0.5 - level / 2, 0.5 + level / 2))

    def log_prob(self, X: ArrayLike, y: ArrayLike) -> Array:
        """Log density of observations y (n,) at X (n, d), shape (n,)."""
        check_is_fitted(self)
        target = check_target(y, X)
        return self._by_part(X, lambda found, part: found.log_density(target[part])[None])[:, 0]

    def cdf(self, X: ArrayLike, y: ArrayLike) -> Array:
        """Predictive probability of an observation at most y (n,) at X (n, d), shape (n,)."""
        check_is_fitted(self)
        target = check_target(y, X)
        return self._by_part(X, lambda found, part: found.cdf(target[part])[None])[:, 0]

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: int | np.random.RandomState | None = 0) -> Array:
        """Independent draws of observations at X (n, d), shape (n, n_samples)."""
        n_samples = check_count(n_samples, "n_samples", 1)
        rng = np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        return np.concatenate([found.sample(n_samples, rng) for found, _ in self._distributions(X)])

    def _by_part(self, X: ArrayLike, what: Callable[[Distributions, slice], Array]) -> Array:
        """What is asked of the distributions, (k, rows), for all rows: shape (n, k)."""
        return np.concatenate(self._looked_at(X, what), axis=1).T

    def _looked_at(self, X: ArrayLike, what: Callable[[Distributions, slice], Result]) -> list[Result]:
        """What is asked of the distributions of some rows at a time, in threads, in the rows' order."""
        results: list[Result] = []
        for found, part in self._distributions(X):
            pieces = [slice(start, min(start + AT_ONCE, found.n_rows)) for start in range(0, found.n_rows, AT_ONCE)]

            def look(piece: slice, found: Distributions = found, first: int = part.start) -> Result:
                return what(found.rows(piece), slice(first + piece.start, first + piece.stop))

            results += map_in_threads(look, pieces, self._threads_to_look)
        return results

    @property
    def _threads_to_look(self) -> int | None:
        """As many as `n_jobs` says."""
        return getattr(self, "n_jobs", None)
