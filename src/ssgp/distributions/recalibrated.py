"""Regressors whose predictive distributions are corrected on rows that they were not fitted to."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.checks import check_target
from ssgp.distributions.recalibration import Recalibration, fit_recalibration
from ssgp.distributions.regressor import DistributionRegressor
from ssgp.distributions.stretched import StretchedDistribution
from ssgp.saving.mixin import SaveMixin, stored_estimator

__all__ = ["LEAST_ROWS", "MOST_ROWS", "RecalibratedRegressor", "original", "recalibrate"]


# Four numbers are learned: fewer rows say too little of them, and more rows hardly more.
LEAST_ROWS, MOST_ROWS = 20, 10_000


@stored_estimator()
class RecalibratedRegressor(SaveMixin, DistributionRegressor, RegressorMixin, BaseEstimator):
    """A fitted regressor whose predictive distributions are corrected on rows held out.

    Every distribution is moved by one number, stretched below its mean by a second and above it by a third, and given
    heavier tails by a fourth. The first is the mean error of the held-out rows (weighted by the inverse of their
    deviations), and the others make these rows most probable. Quantiles do not cross, densities integrate to one (with
    a step near the mean where the two factors differ), and the mean is the regressor's plus the shift. Corrected are a
    bias, intervals that are too narrow or too wide as a whole or on one side, and tails that are too light. Not
    corrected is what differs by inputs.

    Parameters
    ----------
    regressor : regressor of this library
        Fitted; it stays as it is. `recalibrate` takes pipelines as well.

    Attributes
    ----------
    recalibration_ : Recalibration
        The four numbers: `shift` in the target's units, the factors `below` and `above`, and the degrees of freedom
        `dof` (10,000 where tails are left as they are).
    n_recalibration_rows_ : int
        Rows they were learned from, at most 10,000 drawn at random.
    n_features_in_, feature_names_in_
        Those of the regressor.

    Examples
    --------
    >>> import numpy as np
    >>> from ssgp import DTCRegressor, RecalibratedRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(2000, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_t(3, size=2000)
    >>> model = DTCRegressor(20, max_iter=200, random_state=0).fit(X[:1000], y[:1000])
    >>> calibrated = RecalibratedRegressor(model).fit(X[1000:], y[1000:])
    >>> bool(calibrated.log_prob(X, y).mean() > model.log_prob(X, y).mean() + 0.05)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {"regressor": [DistributionRegressor]}

    recalibration_: Recalibration
    n_recalibration_rows_: int

    def __init__(self, regressor: Any) -> None:  # noqa: ANN401  any regressor of the library
        self.regressor = regressor

    def _summarized(self) -> Any:  # noqa: ANN401
        return self.regressor

    def _summary_entries(self) -> dict[str, Any]:
        """What corrects the predictive distributions, and how many rows it was learned from."""
        return {"recalibration": {"n_rows": self.n_recalibration_rows_, **asdict(self.recalibration_)}}

    def __sklearn_clone__(self) -> Self:
        """The same fitted regressor, not recalibrated: `fit` does not fit it again."""
        return type(self)(self.regressor)

    @property
    def n_features_in_(self) -> int:
        """Columns of the inputs."""
        return self.regressor.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Their names, where the regressor was fitted on a table."""
        return self.regressor.feature_names_in_

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the four numbers; the regressor is not fitted again.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows that the regressor was not fitted to, some hundreds at least. On rows that it has seen its errors are
            smaller than they will be, and intervals would become too narrow.
        y : array-like of shape (n,)
            Their targets.
        sample_weight : array-like of shape (n,), optional
            How many rows each row counts for.

        Returns
        -------
        self
            Fitted.
        """
        check_is_fitted(self.regressor)
        y = check_target(y, X)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        some = _some_rows(y, weight)
        before = self.regressor.predict_distribution(_safe_indexing(X, some))
        self.recalibration_ = fit_recalibration(before, y[some], None if weight is None else weight[some])
        self.n_recalibration_rows_ = len(some)
        return self

    def predict_distribution(self, X: ArrayLike, **how: Any) -> StretchedDistribution:  # noqa: ANN401
        """Predictive distributions of observations at X (n, d): those of the regressor, corrected.

        Keywords are the regressor's own.
        """
        check_is_fitted(self)
        return self.recalibration_(self.regressor.predict_distribution(X, **how))

    def _means(self, X: ArrayLike, **how: Any) -> Array:  # noqa: ANN401
        check_is_fitted(self)
        return self.regressor.predict(X, **how) + self.recalibration_.shift

    def _distributions(self, X: ArrayLike, **how: Any) -> Iterator[StretchedDistribution]:  # noqa: ANN401
        check_is_fitted(self)
        return map(self.recalibration_, self.regressor._distributions(X, **how))

    @property
    def _n_jobs(self) -> int | None:
        return self.regressor._n_jobs


def recalibrate(model: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Any:  # noqa: ANN401
    """A fitted model whose predictive distributions are corrected on rows that it was not fitted to.

    Parameters
    ----------
    model : regressor of this library, or a Pipeline that ends with one
        Fitted; it stays as it is. If it is recalibrated already, the new recalibration takes the place of the old.
    X : array-like of shape (n, d)
        Rows that the model was not fitted to, as it takes them; some hundreds at least.
    y : array-like of shape (n,)
        Their targets.
    sample_weight : array-like of shape (n,), optional
        How many rows each row counts for.

    Returns
    -------
    RecalibratedRegressor or Pipeline
        A pipeline if the model is one: its last step is recalibrated.

    Examples
    --------
    >>> import numpy as np
    >>> import ssgp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(600, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=600)
    >>> model = ssgp.SSGPRegressor(n_frequencies=10, max_iter=20, random_state=0).fit(X[:300], y[:300])
    >>> moved = ssgp.recalibrate(model, X[300:], y[300:] + 1.0)
    >>> round(moved.recalibration_.shift, 1)
    1.0
    """
    if not isinstance(model, Pipeline):
        return RecalibratedRegressor(original(model)).fit(X, y, sample_weight)
    *before, (name, last) = model.steps
    for _, step in before:
        X = step.transform(X)
    return Pipeline([*before, (name, RecalibratedRegressor(original(last)).fit(X, y, sample_weight))])


def original(regressor: Any) -> Any:  # noqa: ANN401  any regressor of the library
    """The regressor itself, without its recalibration if it has one."""
    return regressor.regressor if isinstance(regressor, RecalibratedRegressor) else regressor


def _some_rows(y: Array, weight: Array | None) -> Indices:
    """Which rows to learn from: those that count, or so many of them at random, in their order."""
    known = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
    if len(known) < LEAST_ROWS:
        raise ValueError(f"a recalibration needs at least {LEAST_ROWS} rows that count, and X has {len(known)}")
    if len(known) > MOST_ROWS:
        return np.sort(np.random.default_rng(0).choice(known, MOST_ROWS, replace=False))
    return known
