"""The face of regressors whose predictions are normal and whose noise is the same everywhere."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ssgp._utils.arrays import Array
from ssgp._utils.checks import check_inputs
from ssgp.distributions.normal import NormalDistribution
from ssgp.distributions.regressor import DistributionRegressor
from ssgp.rows.standardized import Standardizer
from ssgp.saving.mixin import SaveMixin

__all__ = ["GaussianRegressor"]

PREDICT_ROWS = 1 << 14


class GaussianRegressor(SaveMixin, DistributionRegressor, RegressorMixin, BaseEstimator):
    """A fitted regressor that predicts a normal distribution for every row.

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

    def predict_distribution(self, X: ArrayLike, *, latent: bool = False) -> NormalDistribution:
        """Predictive distributions of observations.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        latent : bool, default=False
            Whether they are those of the function without its noise.

        Returns
        -------
        NormalDistribution
            A distribution for each row, in the target's units.
        """
        mean, variance = self._moments(X, with_variance=True)
        return NormalDistribution(mean, np.sqrt(variance + (0.0 if latent else self.noise_variance_)))

    def _means(self, X: ArrayLike, *, latent: bool = False) -> Array:
        return self._moments(X, with_variance=False)[0]

    @property
    def _rows_at_once(self) -> int:
        """Rows that are predicted together."""
        return PREDICT_ROWS

    def _moments(self, X: ArrayLike, with_variance: bool) -> tuple[Array, Array]:
        """Mean and variance (zeros where it is not wanted) of the latent function, in the target's units."""
        check_is_fitted(self, "_units")
        X = check_inputs(self, X)
        mean, variance = np.empty(len(X)), np.zeros(len(X))
        for start in range(0, len(X), self._rows_at_once):
            part = slice(start, start + self._rows_at_once)
            mean[part], spread = self._latent(self._units.inputs(X[part]), with_variance)
            if spread is not None:
                variance[part] = np.maximum(spread, 0.0)
        return self._units.y_mean + self._units.y_scale * mean, self._units.y_scale**2 * variance
