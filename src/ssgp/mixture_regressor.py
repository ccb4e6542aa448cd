"""The face of regressors that predict a mixture: everything a prediction can be asked for."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ssgp.calibration import Calibration
from ssgp.forest import Forest
from ssgp.mixture import StudentMixture
from ssgp.parameters import Parameters
from ssgp.posterior import AffinePosterior
from ssgp.progress import CallbackSupportMixin
from ssgp.rows import Rows, Standardizer
from ssgp.saving import SaveMixin
from ssgp.trial import Seedling
from ssgp.validation import check_count, check_inputs, check_levels, check_target

__all__ = ["MixtureRegressor"]

Array = NDArray[np.floating]

PREDICT_ROWS = 1 << 17


class MixtureRegressor(SaveMixin, CallbackSupportMixin, RegressorMixin, BaseEstimator):
    """A fitted regressor with a forest.

    The attributes are those that `ssgp.forest_fitting.ForestFitting.attributes` gives.
    """

    n_jobs: int | None

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    posterior_: AffinePosterior
    lengthscales_: Array
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
        if return_std:
            mean, variance = self._by_part(X, lambda mixture, _: np.stack([mixture.mean(), mixture.variance()])).T
            return mean, np.sqrt(variance)
        check_is_fitted(self, "_forest")
        X = check_inputs(self, X)
        parts = [slice(start, start + PREDICT_ROWS) for start in range(0, len(X), PREDICT_ROWS)]
        means = [self._forest.means(self._units.inputs(X[part]), self.n_jobs) for part in parts]
        return self._units.y_mean + self._units.y_scale * np.concatenate(means)

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
        return self._by_part(X, lambda mixture, _: np.stack([mixture.quantile(level) for level in levels]))

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
        check_is_fitted(self, "_forest")
        target = check_target(y, X)
        return self._by_part(X, lambda mixture, part: mixture.log_density(target[part])[None])[:, 0]

    def cdf(self, X: ArrayLike, y: ArrayLike) -> Array:
        """Predictive probability of an observation at most y (n,) at X (n, d), shape (n,)."""
        check_is_fitted(self, "_forest")
        target = check_target(y, X)
        return self._by_part(X, lambda mixture, part: mixture.cdf(target[part])[None])[:, 0]

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: int | np.random.RandomState | None = 0) -> Array:
        """Independent draws of observations at X (n, d), shape (n, n_samples)."""
        n_samples = check_count(n_samples, "n_samples", 1)
        rng = np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        return self._by_part(X, lambda mixture, _: mixture.sample(n_samples, rng).T)

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

    def _by_part(self, X: ArrayLike, what: Callable[[StudentMixture, slice], Array]) -> Array:
        """What is asked of the mixture, (k, rows), for all rows: shape (n, k)."""
        check_is_fitted(self, "_forest")
        X = check_inputs(self, X)
        found = []
        for start in range(0, len(X), PREDICT_ROWS):
            part = slice(start, start + PREDICT_ROWS)
            components = self._forest.components(self._units.inputs(X[part]), self.n_jobs)
            mixture = self._forest.calibration(components)
            found.append(what(self._in_units(mixture), part))
        return np.concatenate(found, axis=1).T

    def _in_units(self, mixture: StudentMixture) -> StudentMixture:
        """A mixture in the target's units."""
        units = self._units
        location, scale = units.y_mean + units.y_scale * mixture.location, units.y_scale * mixture.scale
        return StudentMixture(location, scale, mixture.dof, mixture.share)
