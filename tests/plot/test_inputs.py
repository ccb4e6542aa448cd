"""Inputs as the model takes them: names of columns, and steps of pipelines."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import small_forest
from ssgp import SSGPRegressor, plot


@pytest.mark.slow
def test_names_of_columns_come_from_the_table_the_model_or_the_caller(data):
    X, y = data
    table: Any = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    named, unnamed = (SSGPRegressor(n_frequencies=3, max_iter=3).fit(rows, y) for rows in (table, X))
    assert sorted(plot.ImportanceDisplay.from_estimator(named, table, y).names) == ["a", "b", "c"]
    numbered = pd.DataFrame(X)
    assert sorted(plot.ImportanceDisplay.from_estimator(unnamed, numbered, y).names) == ["0", "1", "2"]
    given = plot.ImportanceDisplay.from_estimator(unnamed, X, y, feature_names=["p", "q", "r"])
    assert sorted(given.names) == ["p", "q", "r"]
    with pytest.raises(ValueError, match="feature_names has 2 names, and X has 3 columns"):
        plot.ImportanceDisplay.from_estimator(unnamed, X, y, feature_names=["p", "q"])
    with pytest.raises(ValueError, match="feature_names are for arrays"):
        plot.ImportanceDisplay.from_estimator(named, table, y, feature_names=["p", "q", "r"])


@pytest.mark.slow
def test_other_steps_before_the_regressor_are_fine(data):
    X, y = data
    scaler, forest = StandardScaler(), small_forest()
    display = plot.PITDisplay.from_estimator(make_pipeline(scaler, forest).fit(X, y), X, y)
    np.testing.assert_array_equal(display.pit, forest.cdf(scaler.transform(X), y))
