"""The face of regressors with a forest."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ssgp._utils.checks import check_inputs
from ssgp._utils.progress import CallbackSupportMixin
from ssgp.distributions.regressor import DistributionRegressor
from ssgp.distributions.student_mixture import StudentMixture
from ssgp.forest.calibration import Calibration
from ssgp.forest.folds import Seedling
from ssgp.forest.trees import Forest
from ssgp.rows.standardized import Rows, Standardizer
from ssgp.saving.mixin import SaveMixin
from ssgp.spectrum.parameters import Parameters
from ssgp.spectrum.posterior import AffinePosterior

__all__ = ["MixtureRegressor"]

Array = NDArray[np.floating]

PREDICT_ROWS = 1 << 17


class MixtureRegressor(SaveMixin, CallbackSupportMixin, DistributionRegressor, RegressorMixin, BaseEstimator):
    """A fitted regressor with a forest.

    The attributes are those that `ssgp.forest.fit.ForestFitting.attributes` gives.
    """

    n_jobs: int | None

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    posterior_: AffinePosterior
    lengthscale_: Array
    feature_importances_: Array
    kernel_: str
    n_frequencies_: int
    n_trees_: int
    n_leaves_: int
    leaf_size_: float
    calibration_: Calibration
    corrected_share_: float
    n_rows_: int
    n_iter_: int
    bound_trace_: Array
    _units: Standardizer
    _forest: Forest
    _seedlings: list[Seedling]
    _parameters: Parameters
    _rows: Rows | None
    _seed: int

    def _means(self, X: ArrayLike) -> Array:
        check_is_fitted(self, "_forest")
        X = check_inputs(self, X)
        parts = [slice(start, start + PREDICT_ROWS) for start in range(0, len(X), PREDICT_ROWS)]
        means = [self._forest.means(self._units.inputs(X[part]), self.n_jobs) for part in parts]
        return self._units.y_mean + self._units.y_scale * np.concatenate(means)

    def noise_variance(self, X: ArrayLike) -> Array:
        """Variance of the noise in the region of each row of X (n, d), shape (n,), in squared target units."""
        check_is_fitted(self, "_forest")
        X = check_inputs(self, X)
        out = np.empty(len(X))
        for start in range(0, len(X), PREDICT_ROWS):
            part = slice(start, start + PREDICT_ROWS)
            known = self._forest.components(self._units.inputs(X[part]), self.n_jobs)
            out[part] = self._forest.calibration.noise_variance(known)
        return out * self._units.y_scale**2

    def predict_distribution(self, X: ArrayLike) -> StudentMixture:
        """Predictive distributions of observations at X (n, d), in the target's units."""
        check_is_fitted(self, "_forest")
        return self._mixture(check_inputs(self, X))

    def _distributions(self, X: ArrayLike) -> Iterator[StudentMixture]:
        check_is_fitted(self, "_forest")
        X = check_inputs(self, X)
        for start in range(0, len(X), PREDICT_ROWS):
            yield self._mixture(X[start : start + PREDICT_ROWS])

    def _mixture(self, X: Array) -> StudentMixture:
        """Distributions of rows that have been checked."""
        units = self._units
        mixture = self._forest.calibration(self._forest.components(units.inputs(X), self.n_jobs))
        location, scale = units.y_mean + units.y_scale * mixture.location, units.y_scale * mixture.scale
        return StudentMixture(location, scale, mixture.dof)
