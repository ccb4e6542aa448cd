"""Importances of whole models, against closed forms and what the tables were made of."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

import ssgp
from helpers import small_forest
from plot_rows import mixed_rows
from ssgp.distributions import NormalDistribution
from ssgp.plot.exchange import _other_rows


class Known(RegressorMixin, BaseEstimator):
    """Normal predictions of mean 3 a + b^2 and of log deviation 0.5 c - 1."""

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict_distribution(self, X):
        a, b, c, _ = np.asarray(X, dtype=float).T
        return NormalDistribution.of(3 * a + b**2, np.exp(0.5 * c - 1))


@pytest.fixture
def X(rng):
    return rng.normal(size=(4000, 4))


def test_are_root_mean_squares_of_changes(X):
    found = ssgp.importances(Known(), X, max_rows=4000, feature_names=list("abcd"))
    assert found.columns == ("a", "b", "c", "d")
    # Differences of two independent normal numbers have variance 2, and those of their squares 4.
    np.testing.assert_allclose(found.mean, [3 * np.sqrt(2), 2.0, 0.0, 0.0], rtol=0.06)
    np.testing.assert_allclose(found.spread, [0.0, 0.0, 0.5 * np.sqrt(2), 0.0], rtol=0.06)


def test_are_printed_the_largest_first(X):
    found = ssgp.importances(Known(), X, feature_names=["small", "x", "wide", "none"])
    lines = str(found).splitlines()
    assert [line.split()[0] for line in lines] == ["column", "small", "x", "wide", "none"]
    assert found.rows == "2,000 of 4,000 rows, drawn at random"
    np.testing.assert_array_equal(found.mean, ssgp.importances(Known(), X).mean)


def test_a_row_is_exchanged_with_another_one(rng):
    other = _other_rows(50, rng)
    assert (other != np.arange(50)).all()
    assert sorted(other) == list(range(50))


def test_are_of_the_users_columns(pipeline):
    table, _ = mixed_rows()
    assert sorted(ssgp.importances(pipeline, table).columns) == ["kind", "size", "when"]


def test_of_kept_rows_are_about_those_of_the_rows(pipeline):
    table, _ = mixed_rows()
    found, expected = ssgp.importances(pipeline), ssgp.importances(pipeline, table)
    assert found.columns == expected.columns
    assert found.rows == f"{min(500, len(table)):,} training rows"
    np.testing.assert_allclose(found.mean, expected.mean, rtol=0.25, atol=0.05 * expected.mean.max())
    last = pipeline.steps[-1][1]
    alone = type(last)(**{**last.get_params(deep=False), "encoder": ssgp.TableEncoder()})
    assert ssgp.importances(alone.fit(*mixed_rows())).columns == expected.columns
    with pytest.raises(ValueError, match="X is needed: the model keeps no training rows"):
        ssgp.importances(last)


@pytest.mark.slow
def test_of_one_kept_row_ask_for_others():
    table, y = mixed_rows()
    model = small_forest(encoder=ssgp.TableEncoder(kept_rows=1), max_iter=3).fit(table, y)
    with pytest.raises(ValueError, match="X is needed: the model keeps a training row alone"):
        ssgp.importances(model)


def test_a_row_alone_has_none(X):
    with pytest.raises(ValueError, match="X has 1 row: columns are exchanged between rows"):
        ssgp.importances(Known(), X[:1])


@pytest.mark.slow
def test_know_what_a_metric_does_not(rng):
    """A straight line and a jump, which lengthscales hardly tell; and noise that one column alone sets."""
    X = pd.DataFrame(rng.uniform(-1, 1, size=(3000, 3)), columns=pd.Index(["line", "noise", "nothing"]))
    y = X["line"] + np.exp(2 * X["noise"] - 2) * rng.normal(size=3000)
    model = small_forest(max_iter=300).fit(X, y)
    found = ssgp.importances(ssgp.recalibrate(model, X, y), X)
    assert found.columns[int(np.argmax(found.mean))] == "line"
    assert found.columns[int(np.argmax(found.spread))] == "noise"
    assert found.mean[0] == pytest.approx(np.sqrt(2 / 3), rel=0.15)
    assert found.mean[2] < 0.2 * found.mean[0]
