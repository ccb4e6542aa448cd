"""The face of regressors whose predictions are normal."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ssgp.noise import LOG_TWO_PI
from ssgp.rows import Standardizer
from ssgp.saving import SaveMixin
from ssgp.validation import check_count, check_inputs, check_levels, check_target

__all__ = ["GaussianRegressor"]

Array = NDArray[np.floating]

PREDICT_ROWS = 1 << 14


class GaussianRegressor(SaveMixin, RegressorMixin, BaseEstimator, ABC):
    """A fitted regressor that says N(mean, variance) of every row.

    Subclasses give `_latent`: mean and variance of the latent function in the model's units.
    """

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    lengthscale_: Array
    signal_variance_: float
    noise_variance_: float
    n_rows_: int
    _units: Standardizer

    @abstractmethod
    def _latent(self, X: Array, with_variance: bool) -> tuple[Array, Array | None]:
        """Mean and variance of the latent function at standardised rows, shapes (n,)."""

    def predict(self, X: ArrayLike, return_std: bool = False, *, latent: bool = False) -> Array | tuple[Array, Array]:
        """Predictive mean, and deviation.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        return_std : bool, default=False
            Whether to return deviations too.
        latent : bool, default=False
            Whether they are the latent function's; by default they are a noisy observation's.

        Returns
        -------
        mean : array of shape (n,)
            In the target's units.
        std : array of shape (n,)
            Only with `return_std`.
        """
        mean, variance = self._moments(X, return_std)
        if variance is None:
            return mean
        return mean, np.sqrt(variance + (0.0 if latent else self.noise_variance_))

    def predict_quantiles(self, X: ArrayLike, quantiles: ArrayLike = (0.05, 0.25, 0.5, 0.75, 0.95)) -> Array:
        """Quantiles of an observation at X (n, d), shape (n, k)."""
        levels = check_levels(quantiles, "quantiles")
        mean, deviation = self.predict(X, return_std=True)
        return mean[:, None] + deviation[:, None] * ndtri(levels)

    def predict_interval(self, X: ArrayLike, coverage: float = 0.95) -> Array:
        """Central interval of an observation at X (n, d), shape (n, 2)."""
        (level,) = check_levels([coverage], "coverage")
        return self.predict_quantiles(X, (0.5 - level / 2, 0.5 + level / 2))

    def log_prob(self, X: ArrayLike, y: ArrayLike) -> Array:
        """Log density of observations y (n,) at X (n, d), shape (n,)."""
        check_is_fitted(self, "_units")
        target = check_target(y, X)
        mean, deviation = self.predict(X, return_std=True)
        return -0.5 * (((target - mean) / deviation) ** 2 + LOG_TWO_PI) - np.log(deviation)

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: int | np.random.RandomState | None = 0) -> Array:
        """Independent draws of observations at X (n, d), shape (n, n_samples)."""
        n_samples = check_count(n_samples, "n_samples", 1)
        mean, deviation = self.predict(X, return_std=True)
        normal = check_random_state(random_state).normal(size=(len(mean), n_samples))
        return mean[:, None] + deviation[:, None] * normal

    @property
    def _rows_at_once(self) -> int:
        """Rows that are predicted together."""
        return PREDICT_ROWS

    def _moments(self, X: ArrayLike, with_variance: bool) -> tuple[Array, Array | None]:
        """Of the latent function, in the target's units, some rows at a time."""
        check_is_fitted(self, "_units")
        X = check_inputs(self, X)
        mean, variance = np.empty(len(X)), np.empty(len(X)) if with_variance else None
        for start in range(0, len(X), self._rows_at_once):
            part = slice(start, start + self._rows_at_once)
            mean[part], spread = self._latent(self._units.inputs(X[part]), with_variance)
            if variance is not None and spread is not None:
                variance[part] = np.maximum(spread, 0.0)
        mean = self._units.y_mean + self._units.y_scale * mean
        return mean, None if variance is None else self._units.y_scale**2 * variance
