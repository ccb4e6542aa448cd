"""Fits to tables given in parts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import fit_checks
from ssgp import SpectralForestRegressor
from ssgp._utils.progress import observed
from ssgp.forest.builder import LEAST_FITTED_ROWS
from ssgp.forest.sizes import MemoryShares

pytestmark = pytest.mark.slow

N_ROWS = fit_checks.N_ROWS
SETTINGS: dict[str, Any] = {"n_trees": 3, "max_iter": 60, "random_state": 0}


@pytest.fixture
def table():
    return fit_checks.sorted_rows()


@pytest.fixture
def small_parts(monkeypatch):
    """As if these rows were many."""
    fit_checks.learn_from_few_rows(monkeypatch)
    monkeypatch.setattr("ssgp.rows.row_tables.CHUNK", 1000)
    monkeypatch.setattr("ssgp.rows.row_files.CHUNK_BYTES", 30_000)


def in_batches(*columns, size=1100):
    for start in range(0, N_ROWS, size):
        yield tuple(column[start : start + size] for column in columns)


def fit(model, X, y, weight=None):
    """In batches of a thousand rows."""
    columns = [column for column in (X, y, weight) if column is not None]
    return model.fit_batches(lambda: in_batches(*columns))


@pytest.mark.parametrize("weighted", [False, True])
def test_is_the_fit_to_all_rows(weighted):
    fit_checks.check_is_the_fit_in_memory(fit, weighted)


def test_atoms_are_those_of_memory():
    fit_checks.check_atoms_are_those_of_memory(fit)


def test_tables_are_encoded(small_parts):
    fit_checks.check_tables_are_encoded(fit)


def test_weights_of_nothing_are_refused():
    fit_checks.check_weights_of_nothing_are_refused(fit)


@pytest.mark.parametrize("weighted", [False, True])
def test_of_a_large_table_too(table, weighted, small_parts, monkeypatch, rng):
    """From 2,500 sampled rows on, in memory and from files in parts of some hundred rows."""
    X, y = table
    columns = (X, y, rng.integers(0, 3, N_ROWS).astype(float)) if weighted else (X, y)
    whole = SpectralForestRegressor(**SETTINGS).fit(*columns)
    monkeypatch.setattr("ssgp.forest.sizes.MemoryShares.of", smaller_parts())
    fit_checks.assert_same_model(whole, SpectralForestRegressor(**SETTINGS).fit_batches(in_batches(*columns)), X[::10])


def smaller_parts():
    """Shares of memory with which a file is sorted in a dozen parts."""
    usual = MemoryShares.of
    return lambda *given: replace(usual(*given), part_bytes=20_000)


def test_fitted_rows_are_counted(table, small_parts, monkeypatch):
    monkeypatch.setattr("ssgp.forest.sizes.MemoryShares.of", smaller_parts())
    seen = []
    with observed(lambda *what: seen.append(what)):
        SpectralForestRegressor(**SETTINGS).fit_batches(in_batches(*table))
    counts = [done for what, done, _ in seen if what == "fitted row"]
    assert len(counts) > 20
    assert counts == sorted(counts)
    # Three trees, first without the rows that are held out, then with all of them.
    assert counts[-1] == 3 * (N_ROWS - 600) + 3 * N_ROWS
    assert {total for what, _, total in seen if what == "fitted row"} == {6 * N_ROWS}


def test_a_sample_teaches_as_much(table, small_parts, rng):
    """Leaves are filled with all rows: nothing but the waves and cuts come from the sample, at random."""
    X, y = table
    model = SpectralForestRegressor(**SETTINGS).fit(X, y)
    new = rng.normal(size=(2000, 3)) * [1.0, 100.0, 0.01] + [0.0, 1e5, 0.0]
    error = model.predict(new) - np.sin(2 * new[:, 0]) - new[:, 1] / 100
    assert np.sqrt(np.mean(error**2)) < 0.05
    low, high = model.predict_interval(new, 0.9).T
    truth = np.sin(2 * new[:, 0]) + new[:, 1] / 100 + 0.1 * rng.normal(size=2000)
    assert abs(np.mean((low < truth) & (truth < high)) - 0.9) < 0.04


def test_more_rows_of_a_large_table(table, small_parts):
    X, y = table
    model = SpectralForestRegressor(**SETTINGS, keep_rows=True).fit(X[::2], y[::2])
    model.partial_fit(X[1::2], y[1::2])
    assert model.n_rows_ == N_ROWS
    model.partial_fit(X[:10], y[:10], n_steps=5)
    assert model.n_rows_ == N_ROWS + 10


def test_columns_keep_their_names():
    fit_checks.check_columns_keep_their_names(fit)


def test_a_failed_fit_leaves_the_model_as_it_was(table):
    X, y = table
    model = SpectralForestRegressor(**SETTINGS).fit(X, y)
    before = model.predict(X[:5])
    with pytest.raises(ValueError, match="batch 1"):
        model.fit_batches([(X[:10, :2], y[:10]), (X[:10], y[:10])])
    np.testing.assert_array_equal(model.predict(X[:5]), before)


def test_no_rows_are_kept_if_none_should_be(table):
    assert SpectralForestRegressor(**SETTINGS, keep_rows=False).fit_batches([table])._fitted.rows is None


def test_leaves_smaller_than_a_sample_can_place(table, small_parts):
    model = SpectralForestRegressor(**SETTINGS, leaf_size=2).fit(*table)
    assert model.n_leaves_ <= 2500 / 8


def test_rows_cannot_be_kept(table):
    with pytest.raises(ValueError, match="keep_rows=True keeps all rows in memory"):
        SpectralForestRegressor(keep_rows=True).fit_batches([table])


@pytest.mark.filterwarnings("ignore:.*of the rows repeat another exactly")
def test_a_time_limit_takes_fewer_rows(table, small_parts, monkeypatch):
    monkeypatch.setattr("ssgp.forest.builder.TIMED_ROWS", 2000)
    X, y = (np.concatenate([column] * 3) for column in table)
    model = SpectralForestRegressor(n_trees=3, random_state=0, max_time=1e-3)
    left = len(y) - LEAST_FITTED_ROWS
    with pytest.warns(ConvergenceWarning, match=f"left out: .*{left:,} of {len(y):,} rows, .* trees, the correction"):
        model.fit_batches([(X, y)])
    assert np.isfinite(model.predict(X[:5])).all()
    assert model.leaf_size_ * model.n_leaves_ == pytest.approx(LEAST_FITTED_ROWS)


@pytest.mark.parametrize("memory", [0, 1000, "much", "512 kB"])
def test_too_little_memory_is_an_error(table, memory):
    with pytest.raises(ValueError, match="'max_memory' parameter of SpectralForestRegressor"):
        SpectralForestRegressor(max_memory=memory).fit_batches([table])
