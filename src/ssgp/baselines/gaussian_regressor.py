"""The face of regressors whose predictions are normal and whose noise is the same everywhere."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ssgp._utils.checks import check_inputs
from ssgp.distributions.normal_predictions import NormalPredictions
from ssgp.rows.standardized import Standardizer
from ssgp.saving.mixin import SaveMixin

__all__ = ["GaussianRegressor"]

Array = NDArray[np.floating]

PREDICT_ROWS = 1 << 14


class GaussianRegressor(SaveMixin, NormalPredictions, RegressorMixin, BaseEstimator, ABC):
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
