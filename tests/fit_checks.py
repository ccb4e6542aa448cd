"""What has to be true of every way of fitting a forest to rows that are not in memory.

A way is a function ``fit(model, X, y, sample_weight=None)``, which hands the rows over in parts of its own.
"""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ssgp import SpectralForestRegressor

N_ROWS = 6000
SETTINGS: dict[str, Any] = {"n_trees": 2, "max_iter": 30, "random_state": 0}
# From so many rows on, all others only fill the leaves.
SAMPLED = 2500


def sorted_rows(n_rows=N_ROWS):
    """Rows sorted by an input, as in many files."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3)) * [1.0, 100.0, 0.01] + [0.0, 1e5, 0.0]
    X = X[np.argsort(X[:, 0])]
    return X, np.sin(2 * X[:, 0]) + X[:, 1] / 100 + 0.1 * rng.normal(size=n_rows)


def learn_from_few_rows(monkeypatch):
    """As if these rows were many."""
    monkeypatch.setattr("ssgp.forest.sizes.LEAST_SAMPLED", SAMPLED)
    monkeypatch.setattr("ssgp.forest.sizes.MOST_SAMPLED", SAMPLED)


def assert_same_model(model, other, X):
    np.testing.assert_array_equal(model.predict_interval(X), other.predict_interval(X))
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    assert model.n_rows_ == other.n_rows_
    np.testing.assert_allclose(model.bound_trace_, other.bound_trace_, rtol=1e-6)


def check_is_the_fit_in_memory(fit, weighted=False):
    """To the last bit."""
    X, y = sorted_rows()
    weight = np.random.default_rng(1).integers(0, 3, N_ROWS).astype(float) if weighted else None
    whole = SpectralForestRegressor(**SETTINGS).fit(X, y, weight)
    assert_same_model(whole, fit(SpectralForestRegressor(**SETTINGS), X, y, weight), X[::10])


def check_atoms_are_those_of_memory(fit):
    """Rows at atoms are left out of the forest wherever they lie."""
    X, y = sorted_rows()
    y = np.where(np.arange(N_ROWS) % 5 < 2, 0.5, y)
    settings = {**SETTINGS, "atoms": 0.5}
    whole = SpectralForestRegressor(**settings).fit(X, y)
    assert whole.n_rows_ == np.count_nonzero(y != 0.5)
    assert_same_model(whole, fit(SpectralForestRegressor(**settings), X, y), X[::10])


def check_columns_keep_their_names(fit):
    X, y = sorted_rows()
    model = fit(SpectralForestRegressor(**SETTINGS), pd.DataFrame(X, columns=pd.Index(["a", "b", "c"])), y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]


def check_tables_are_encoded(fit):
    """Text and missing values, by encodings of a sample whose rows are cross-fitted."""
    from ssgp import TableEncoder

    X, y = sorted_rows()
    table = pd.DataFrame({"size": X[:, 1], "town": [f"town {i % 17}" for i in range(N_ROWS)]})
    table.loc[::50, "size"] = np.nan
    y = y + np.arange(N_ROWS) % 17
    settings = {**SETTINGS, "encoder": TableEncoder(max_rows=1500)}
    whole = SpectralForestRegressor(**settings).fit(table, y)
    model = fit(SpectralForestRegressor(**settings), table, y)
    assert model.encoder_.describe() == whole.encoder_.describe()
    assert_same_model(whole, model, table[::10])


def check_a_failed_fit_leaves_the_model_as_it_was(fit):
    X, y = sorted_rows()
    model = SpectralForestRegressor(**SETTINGS).fit(X, y)
    before = model.predict(X[:5])
    X = X.copy()
    X[-1, 1] = np.nan
    with pytest.raises(ValueError, match="NaN in column 1"):
        fit(model, X, y)
    np.testing.assert_array_equal(model.predict(X[:5]), before)


def check_weights_of_nothing_are_refused(fit):
    X, y = sorted_rows()
    with pytest.raises(ValueError, match="there is nothing to fit to"):
        fit(SpectralForestRegressor(**SETTINGS), X, y, np.zeros(N_ROWS))
