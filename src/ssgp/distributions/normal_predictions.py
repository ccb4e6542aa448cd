"""What follows from means and deviations where predictions are normal: quantiles, intervals, densities and draws."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ssgp._utils.checks import check_count, check_levels, check_target
from ssgp.spectrum.noise import LOG_TWO_PI

__all__ = ["NormalPredictions"]

Array = NDArray[np.floating]


class NormalPredictions:
    """A regressor that says N(mean, variance) of every row.

    Every method takes the keywords of `predict` as well, as in ``predict_interval(X, latent=True)``.
    """

    @abstractmethod
    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:  # noqa: ANN401  an array, or two
        """Means, and deviations if `return_std`."""

    def predict_quantiles(
        self,
        X: ArrayLike,
        quantiles: ArrayLike = (0.05, 0.25, 0.5, 0.75, 0.95),
        **how: Any,  # noqa: ANN401
    ) -> Array:
        """Quantiles of an observation at X (n, d), shape (n, k)."""
        levels = check_levels(quantiles, "quantiles")
        mean, deviation = self.predict(X, return_std=True, **how)
        return mean[:, None] + deviation[:, None] * ndtri(levels)

    def predict_interval(self, X: ArrayLike, coverage: float = 0.95, **how: Any) -> Array:  # noqa: ANN401
        """Central interval of an observation at X (n, d), shape (n, 2)."""
        (level,) = check_levels([coverage], "coverage")
        return self.predict_quantiles(X, (0.5 - level / 2, 0.5 + level / 2), **how)

    def log_prob(self, X: ArrayLike, y: ArrayLike, **how: Any) -> Array:  # noqa: ANN401
        """Log density of observations y (n,) at X (n, d), shape (n,)."""
        z, deviation = self._errors(X, y, how)
        return -0.5 * (z**2 + LOG_TWO_PI) - np.log(deviation)

    def cdf(self, X: ArrayLike, y: ArrayLike, **how: Any) -> Array:  # noqa: ANN401
        """Predictive probability of an observation at most y (n,) at X (n, d), shape (n,)."""
        return ndtr(self._errors(X, y, how)[0])

    def sample_y(
        self,
        X: ArrayLike,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = 0,
        **how: Any,  # noqa: ANN401
    ) -> Array:
        """Independent draws of observations at X (n, d), shape (n, n_samples)."""
        n_samples = check_count(n_samples, "n_samples", 1)
        mean, deviation = self.predict(X, return_std=True, **how)
        normal = check_random_state(random_state).normal(size=(len(mean), n_samples))
        return mean[:, None] + deviation[:, None] * normal

    def _errors(self, X: ArrayLike, y: ArrayLike, how: dict[str, Any]) -> tuple[Array, Array]:
        """Errors in deviations, and the deviations."""
        check_is_fitted(self)
        target = check_target(y, X)
        mean, deviation = self.predict(X, return_std=True, **how)
        return (target - mean) / deviation, deviation
