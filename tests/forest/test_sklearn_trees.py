"""What boosted trees need of scikit-learn's private modules: where a version lacks it, a test here says what."""

from importlib import import_module

import numpy as np
import pytest
import sklearn
from sklearn.ensemble import HistGradientBoostingRegressor

MEND = f"scikit-learn {sklearn.__version__} has changed: mend ssgp/forest/sklearn_trees.py"


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("sklearn.ensemble._hist_gradient_boosting.common", "PREDICTOR_RECORD_DTYPE"),
        ("sklearn.ensemble._hist_gradient_boosting.predictor", "TreePredictor"),
        ("sklearn.utils._openmp_helpers", "_openmp_effective_n_threads"),
    ],
)
def test_private_names_are_there(module, name):
    try:
        assert hasattr(import_module(module), name), f"{MEND}: {module} has no {name}"
    except ImportError as error:
        pytest.fail(f"{MEND}: {error}")


def test_nodes_have_the_fields_that_are_read_and_written():
    common = import_module("sklearn.ensemble._hist_gradient_boosting.common")
    fields = {"value", "feature_idx", "num_threshold", "left", "right", "is_leaf"}
    missing = fields - set(common.PREDICTOR_RECORD_DTYPE.names)
    assert not missing, f"{MEND}: nodes have no fields {sorted(missing)}"


def test_a_fitted_booster_has_its_trees_and_its_constant():
    X = np.random.default_rng(0).normal(size=(200, 2))
    booster = HistGradientBoostingRegressor(max_iter=3).fit(X, X[:, 0])
    for name in ("_predictors", "_baseline_prediction"):
        assert hasattr(booster, name), f"{MEND}: a fitted booster has no {name}"
    assert [len(stage) for stage in booster._predictors] == [1, 1, 1], f"{MEND}: not one tree per stage"


def test_the_compiled_descent_takes_the_arguments_it_is_given():
    trees = import_module("ssgp.forest.sklearn_trees")
    arrays = (np.array([0, 3]), np.array([0, -1, -1]), np.array([0.5, 10.0, 20.0]), np.array([[1, 2], [0, 0], [0, 0]]))
    try:
        compiled = trees.compile_trees(*arrays)
        predictions = trees.sum_of_trees(compiled, np.array([[0.5], [0.6]]), 1.0)
    except (TypeError, ValueError) as error:
        pytest.fail(f"{MEND}: {error}")
    assert predictions.tolist() == [11.0, 21.0], f"{MEND}: the descent goes another way"
