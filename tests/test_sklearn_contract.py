"""The scikit-learn face: its own checks, frames, pipelines, searches, callbacks."""

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

import ssgp
from ssgp import (
    DTCRegressor,
    ExactGPRegressor,
    PICRegressor,
    SpectralForestRegressor,
    SSGPRegressor,
    SVBSSGPRegressor,
    VSSGPRegressor,
)

pytestmark = pytest.mark.slow

SMALL: dict[str, Any] = {"n_frequencies": 5, "max_iter": 60, "n_draws": 2, "random_state": 0}
SMALL_FOREST: dict[str, Any] = {"n_trees": 2, "n_frequencies": 5, "max_iter": 30, "n_jobs": 1, "random_state": 0}
ESTIMATORS = [
    SVBSSGPRegressor(**SMALL),
    SpectralForestRegressor(**SMALL_FOREST),
    SSGPRegressor(5, max_iter=20, n_restarts=2, random_state=0),
    VSSGPRegressor(8, max_iter=20, random_state=0),
    DTCRegressor(10, max_iter=60, random_state=0),
    PICRegressor(10, max_iter=60, random_state=0),
    ExactGPRegressor(random_state=0),
]
every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
stepwise = pytest.mark.parametrize("estimator", ESTIMATORS[:-1], ids=lambda estimator: type(estimator).__name__)

# scikit-learn's own stochastic regressors (SGDRegressor, RandomForestRegressor, MLPRegressor and others)
# carry the same expected failure for the same reason.
STOCHASTIC = "rows are drawn one by one: a row of weight two and a row twice give other draws"
CONVERGED = "the same to the tolerance of the optimiser, which is larger than the check's"


def expected_failures(estimator):
    if isinstance(estimator, (DTCRegressor, PICRegressor)):
        return {}
    reason = CONVERGED if isinstance(estimator, ExactGPRegressor) else STOCHASTIC
    return {"check_sample_weight_equivalence_on_dense_data": reason}


# Some checks have few rows, of which a forest warns.
@pytest.mark.filterwarnings("ignore:the forest is fitted to")
@parametrize_with_checks(
    [*ESTIMATORS, SVBSSGPRegressor(**SMALL, objective="local")],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_exported_names():
    assert sorted(ssgp.__all__) == [
        "DTCRegressor",
        "ExactGPRegressor",
        "PICRegressor",
        "Pipeline",
        "RecalibratedRegressor",
        "SSGPRegressor",
        "SVBSSGPRegressor",
        "SpectralForestRegressor",
        "TableEncoder",
        "VSSGPRegressor",
        "bases",
        "importances",
        "load",
        "metrics",
        "recalibrate",
        "save",
    ]


def test_what_the_documents_name_is_there_after_importing_the_library():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    names = ["bases", "datasets", "metrics", "plot", "report.write_report", "table_files.open_table"]
    code = "import ssgp; " + "; ".join(f"ssgp.{name}" for name in names)
    subprocess.run([sys.executable, "-c", code], check=True)


def fresh(estimator) -> Any:
    return clone(estimator)


@pytest.fixture
def table(rng):
    X = rng.normal(size=(120, 3))
    return X, X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=120)


@pytest.mark.parametrize(
    "frame",
    [
        lambda X: pd.DataFrame(X, columns=pd.Index(["a", "b", "c"])),
        lambda X: pl.DataFrame(X, schema=["a", "b", "c"]),
        lambda X: pa.table({name: X[:, i] for i, name in enumerate("abc")}),
    ],
    ids=["pandas", "polars", "arrow"],
)
@every
def test_frames_give_the_same_answer_and_their_names(estimator, frame, table):
    X, y = table
    model = fresh(estimator).fit(frame(X), y)
    np.testing.assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    expected = fresh(estimator).fit(X, y).predict(X)
    np.testing.assert_allclose(model.predict(frame(X)), expected)


@every
def test_a_renamed_column_is_named(estimator, table):
    X, y = table
    model = fresh(estimator).fit(pd.DataFrame(X, columns=pd.Index(["a", "b", "c"])), y)
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- delta"):
        model.predict(pd.DataFrame(X, columns=pd.Index(["a", "b", "delta"])))


@every
def test_pickle_and_clone(estimator, table):
    X, y = table
    model = fresh(estimator).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert not hasattr(clone(model), "posterior_")


@every
def test_pipeline_and_search(estimator, table):
    X, y = table
    pipeline = make_pipeline(PolynomialFeatures(2, include_bias=False), fresh(estimator))
    name = type(estimator).__name__.lower()
    size = next(size for size in ("n_frequencies", "n_inducing", "learn_rows") if size in estimator.get_params())
    search = GridSearchCV(pipeline, {f"{name}__{size}": [2, 5]}, cv=2).fit(X, y)
    assert search.best_estimator_.predict(X).shape == (120,)
    assert np.isfinite(cross_val_score(pipeline, X, y, cv=2)).all()


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_frequencies", 0),
        ("gamma", 1.5),
        ("posterior", "dense"),
        ("minibatch", "all"),
        ("decay", 0.5),
        ("tol", -1.0),
        ("n_blocks", 0),
        ("learning_rate", 0.0),
        ("lengthscale", -1.0),
        ("lengthscale", [1.0, 2.0]),
        ("noise_variance", 0.0),
        ("signal_variance", "large"),
        ("base", "cauchy"),
    ],
)
def test_a_bad_parameter_is_named(parameter, value, table):
    X, y = table
    with pytest.raises(ValueError, match=f"{parameter}.*{str(value)[:4].replace('[', '.')}"):
        SVBSSGPRegressor(**{**SMALL, parameter: value}).fit(X, y)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_trees", 0),
        ("n_frequencies", "many"),
        ("leaf_size", 0),
        ("kernel", "cosine"),
        ("n_sketches", "all"),
        ("max_iter", 0),
        ("tol", -1.0),
        ("learning_rate", 0.0),
        ("max_time", 0.0),
        ("shrink", "no"),
        ("keep_rows", "yes"),
    ],
)
def test_a_bad_parameter_of_the_forest_is_named(parameter, value, table):
    X, y = table
    with pytest.raises(ValueError, match=f"{parameter}.*{value}"):
        SpectralForestRegressor(**{**SMALL_FOREST, parameter: value}).fit(X, y)


@stepwise
def test_callbacks_of_scikit_learn_see_every_step_and_can_stop(estimator, table):
    pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")
    X, y = table

    class Stopper:
        def __init__(self):
            self.scores = []

        def setup(self, estimator, context): ...

        def teardown(self, estimator, context): ...

        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context, *, fitted_estimator: Any = None):
            if context.task_name == "step":
                self.scores.append(fitted_estimator.score(X, y))
            return len(self.scores) >= 7

    stopper = Stopper()
    model = fresh(estimator).set_callbacks(stopper).fit(X, y)
    assert model.n_iter_ == len(stopper.scores) == 7
    assert stopper.scores[-1] == model.score(X, y)


@stepwise
def test_the_progress_bar_of_scikit_learn_works(estimator, table, capfd):
    callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")
    X, y = table
    fresh(estimator).set_callbacks(callback.ProgressBar()).fit(X, y)
    assert type(estimator).__name__ in capfd.readouterr().out
