"""Regressors whose predictive distributions are corrected on held-out rows."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import sklearn.pipeline
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.checks import check_target, check_weights
from ssgp.distributions.base import Distribution
from ssgp.distributions.pipeline import Pipeline
from ssgp.distributions.recalibration import Recalibration, fit_recalibration
from ssgp.distributions.regressor import DistributionRegressor, means_of_distributions
from ssgp.saving.contents import ContentsError, Sizes, integer, made_of
from ssgp.saving.mixin import SaveMixin, stored_estimator
from ssgp.tables.arrow_columns import given_rows, to_table

__all__ = ["LEAST_ROWS", "MOST_ROWS", "RecalibratedRegressor", "original", "recalibrate"]


# Least and largest number of rows from which the four numbers are learned.
LEAST_ROWS, MOST_ROWS = 20, 10_000


def _regressor(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
    """A regressor that is not recalibrated itself."""
    made_of(DistributionRegressor)(value, sizes)
    if isinstance(value, RecalibratedRegressor):
        raise ContentsError("a recalibrated regressor cannot be recalibrated")


@stored_estimator(
    {"recalibration_": made_of(Recalibration), "n_recalibration_rows_": integer(1)},
    settings={"regressor": _regressor},
    has_columns=False,
)
class RecalibratedRegressor(SaveMixin, DistributionRegressor, RegressorMixin, BaseEstimator):
    """A fitted regressor whose predictive distributions are corrected with held-out rows.

    One number shifts every distribution, a second and a third stretch it below and above its mean, and a fourth makes
    its tails heavier. The first is the mean error of the held-out rows (weighted by the inverse of their
    deviations), and the others maximise the probability of these rows. Quantiles do not cross, densities integrate to
    one (with a step near the mean where the two factors differ), and the mean is the regressor's plus the shift.
    This corrects a bias, intervals that are too narrow or too wide as a whole or on one side, and tails that are too
    light. It does not correct errors that depend on the inputs.

    Parameters
    ----------
    regressor : regressor of this library
        Fitted; it is not changed. `recalibrate` accepts pipelines as well.

    Attributes
    ----------
    recalibration_ : Recalibration
        The four numbers: `shift` in the target's units, the factors `below` and `above`, and the degrees of freedom
        `dof` (10,000 if tails are unchanged). If the regressor has a `target_map_`, they apply to the mapped target:
        what is corrected is mapped back, and stays within the ends.
    n_recalibration_rows_ : int
        Number of rows they were learned from, at most 10,000 drawn at random.
    n_features_in_, feature_names_in_
        Number and names of the regressor's inputs.

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
        """The recalibration, and the number of rows it was learned from."""
        return {"recalibration": {"n_rows": self.n_recalibration_rows_, **asdict(self.recalibration_)}}

    def __sklearn_clone__(self) -> Self:
        """A recalibration, not fitted, of the same fitted regressor: `fit` does not fit it again."""
        return type(self)(self.regressor)

    @property
    def n_features_in_(self) -> int:
        """Number of inputs."""
        return self.regressor.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the inputs, where the regressor was fitted on a table."""
        return self.regressor.feature_names_in_

    @property
    def encoder_(self) -> Any:  # noqa: ANN401
        """The regressor's encoder."""
        return getattr(self.regressor, "encoder_", None)

    def _input_names(self) -> list[str]:
        return self.regressor._input_names()

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the four numbers; the regressor is not fitted again.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows that the regressor was not fitted to, a few hundred at least. On its training rows its errors are
            smaller than on new ones, and intervals would become too narrow.
        y : array-like of shape (n,)
            Their targets.
        sample_weight : array-like of shape (n,), optional
            How many rows each row counts for: see "Weights" in docs/mathematics.md.

        Returns
        -------
        self
            Fitted.
        """
        if isinstance(self.regressor, RecalibratedRegressor):
            raise ValueError("regressor is recalibrated already; recalibrate the one it was made of, its `regressor`")
        check_is_fitted(self.regressor)
        return self._learn(self.regressor, X, y, sample_weight)

    def _learn(self, model: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Self:  # noqa: ANN401
        """Learn the numbers from predictions of a model: the regressor, or a pipeline that ends with it."""
        X = given_rows(X)
        y = check_target(y, X)
        weight = None if sample_weight is None else check_weights(sample_weight, X)
        rows = _choose_rows(y, weight)
        before = model.predict_distribution(_some_rows(X, rows))
        self.recalibration_ = fit_recalibration(before, y[rows], None if weight is None else weight[rows])
        self.n_recalibration_rows_ = len(rows)
        return self

    def predict_distribution(self, X: ArrayLike, **keywords: Any) -> Distribution:  # noqa: ANN401
        """Predictive distributions of observations at X (n, d): those of the regressor, corrected.

        Keywords are those of the regressor.
        """
        check_is_fitted(self)
        return self.recalibration_(self.regressor.predict_distribution(X, **keywords))

    def _means(self, X: ArrayLike, **keywords: Any) -> Array:  # noqa: ANN401
        check_is_fitted(self)
        if getattr(self.regressor, "target_map_", None) is not None or len(getattr(self.regressor, "atoms_", ())):
            return means_of_distributions(self, X, **keywords)
        return self.regressor.predict(X, **keywords) + self.recalibration_.shift

    def _distributions(self, X: ArrayLike, **keywords: Any) -> Iterator[Distribution]:  # noqa: ANN401
        check_is_fitted(self)
        return map(self.recalibration_, self.regressor._distributions(X, **keywords))

    @property
    def _n_jobs(self) -> int | None:
        return self.regressor._n_jobs


def recalibrate(model: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Any:  # noqa: ANN401
    """A fitted model whose predictive distributions are corrected on held-out rows.

    Parameters
    ----------
    model : regressor of this library, or a Pipeline that ends with one
        Fitted; it stays as it is. If it is recalibrated already, the new recalibration replaces the old.
    X : array-like of shape (n, d)
        Rows that the model was not fitted to, as it takes them; a few hundred at least.
    y : array-like of shape (n,)
        Their targets.
    sample_weight : array-like of shape (n,), optional
        How many rows each row counts for: see "Weights" in docs/mathematics.md.

    Returns
    -------
    RecalibratedRegressor or Pipeline
        An `ssgp.Pipeline` if the model is a pipeline: its last step is recalibrated.

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
    if not isinstance(model, sklearn.pipeline.Pipeline):
        return RecalibratedRegressor(original(model)).fit(X, y, sample_weight)
    *before, (name, last) = model.steps
    unchanged = Pipeline([*before, (name, original(last))])
    recalibrated = RecalibratedRegressor(original(last))._learn(unchanged, X, y, sample_weight)
    return Pipeline([*before, (name, recalibrated)])


def original(regressor: Any) -> Any:  # noqa: ANN401  any regressor of the library
    """The regressor itself, without its recalibration if it has one."""
    return regressor.regressor if isinstance(regressor, RecalibratedRegressor) else regressor


def _some_rows(X: Any, rows: Indices) -> Any:  # noqa: ANN401
    """Rows of a table or an array; scikit-learn before 1.7 knows none of Arrow's, and its newer types have none."""
    return to_table(X).take(rows) if isinstance(X, pa.Table | pa.RecordBatch) else _safe_indexing(X, rows)


def _choose_rows(y: Array, weight: Array | None) -> Indices:
    """Numbers of the rows of positive weight, or of a random sample of these, in their order."""
    rows = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
    if len(rows) < LEAST_ROWS:
        raise ValueError(f"a recalibration needs at least {LEAST_ROWS} rows that count, and X has {len(rows)}")
    if len(rows) > MOST_ROWS:
        return np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
    return rows
