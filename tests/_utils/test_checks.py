"""Rows to predict: plain arrays are taken as they are, and all else is shown to scikit-learn."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from ssgp._utils.checks import check_inputs


@pytest.fixture
def estimator():
    estimator = BaseEstimator()
    vars(estimator)["n_features_in_"] = 2
    return estimator


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 3])
def test_plain_arrays_are_not_copied(estimator, n, dtype):
    X = np.ones((n, 2), dtype)
    assert check_inputs(estimator, X) is X


@pytest.mark.parametrize("X", [
    [[1, 2]], np.array([[1, 2]]), np.array([[1, 2]], dtype=object), np.array([[1.0, 2.0]], dtype=np.float16),
    np.array([[1.0, 2.0]], dtype=">f8"),
], ids=["list", "integers", "objects", "half precision", "other byte order"])  # fmt: skip
def test_others_become_floats(estimator, X):
    found = check_inputs(estimator, X)
    assert found.dtype in (np.float32, np.float64)
    np.testing.assert_array_equal(found, [[1.0, 2.0]])


@pytest.mark.parametrize(("X", "message"), [
    (np.ones((2, 3)), "X has 3 features, but BaseEstimator is expecting 2"),
    (np.ones(2), "Expected 2D array, got 1D"),
    (np.ones((0, 2)), "0 sample"),
    (np.array([[1.0, np.nan]]), "contains NaN in column 1"),
    (np.array([[np.inf, 1.0]], dtype=np.float32), "contains infinity in column 0"),
], ids=["columns", "dimensions", "no rows", "missing", "infinite"])  # fmt: skip
def test_what_cannot_be_predicted_is_refused(estimator, X, message):
    with pytest.raises(ValueError, match=message):
        check_inputs(estimator, X)


def test_an_array_without_the_names_of_a_fit_gives_the_warning_of_scikit_learn(estimator):
    estimator.feature_names_in_ = np.array(["a", "b"], dtype=object)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        check_inputs(estimator, np.ones((1, 2)))
