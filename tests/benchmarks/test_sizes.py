"""Benchmarks that vary threads, rows and columns, on tables made here."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from threadpoolctl import threadpool_info

from benchmarks import cores, regressors, sizes
from benchmarks.regressors import BOOSTING, FOREST, LIGHTGBM, available, in_threads, make_regressor
from experiments.tables import AIRLINE_INPUTS, FOLDER_VARIABLE
from helpers import wavy
from ssgp.datasets import Split


@pytest.fixture
def quick(monkeypatch):
    make = regressors.MAKERS[FOREST]
    monkeypatch.setitem(regressors.MAKERS, FOREST, lambda n: make(n, n_trees=2, max_iter=5, n_frequencies=10))


@pytest.fixture
def folder(tmp_path):
    X, y, _ = wavy(2000, d=len(AIRLINE_INPUTS))
    columns = {**dict(zip(AIRLINE_INPUTS, X.T, strict=True)), "ArrDelay": y}
    pq.write_table(pa.table(columns), tmp_path / "airline.parquet")
    return tmp_path


class TestMethods:
    def test_have_the_threads_that_are_asked_for(self):
        assert make_regressor(FOREST, 3).n_jobs == 3
        with in_threads(1):
            assert {library["num_threads"] for library in threadpool_info()} == {1}

    def test_settings_are_passed_on(self):
        assert make_regressor(BOOSTING, 1, max_iter=7).max_iter == 7

    def test_what_is_not_installed_is_left_out_with_a_sentence(self, monkeypatch, capsys):
        monkeypatch.setattr(regressors, "find_spec", lambda name: None)
        assert available([FOREST, LIGHTGBM, BOOSTING]) == [FOREST, BOOSTING]
        assert "LightGBM is not installed" in capsys.readouterr().out
        assert available([FOREST]) == [FOREST]
        assert capsys.readouterr().out == ""


class TestCores:
    @pytest.mark.parametrize(("most", "numbers"), [(1, [1]), (2, [1, 2]), (7, [1, 2, 4]), (16, [1, 2, 4, 8, 16])])
    def test_threads_are_powers_of_two_up_to_the_cores(self, most, numbers):
        assert cores.powers_of_two(most) == numbers

    def test_every_method_has_every_number_of_threads_and_its_trees(self):
        chosen = cores.cells(100, 50, [1, 2], [FOREST, BOOSTING], {BOOSTING: 30})
        assert [(cell.threads, cell.method, cell.trees) for cell in chosen] == [
            (1, FOREST, 0),
            (1, BOOSTING, 30),
            (2, FOREST, 0),
            (2, BOOSTING, 30),
        ]
        assert [cell.settings for cell in chosen[:2]] == [{}, {"max_iter": 30}]
        assert cores.Fit(100, 50, LIGHTGBM, 9, 1).settings == {"num_leaves": 255, "n_estimators": 9}

    def test_speed_ups_are_over_one_thread(self):
        times = {1: (8.0, 2.0), 2: (4.0, 2.0), 4: (2.5, 1.0)}
        rows = [
            {"method": FOREST, "threads": n, "fit_s": fit, "predict_s": predict} for n, (fit, predict) in times.items()
        ]
        shown = cores.with_speed_ups([*rows, {"method": BOOSTING, "threads": 2, "fit_s": 1.0, "predict_s": 1.0}])
        assert [row["fit_speed_up"] for row in shown] == [1.0, 2.0, 3.2, None]
        assert [row["predict_speed_up"] for row in shown] == [1.0, 1.0, 2.0, None]

    @pytest.mark.slow
    @pytest.mark.parametrize(("method", "trees"), [(FOREST, 0), (BOOSTING, 20)])
    @pytest.mark.usefixtures("quick")
    def test_measured(self, folder, method, trees):
        one, two = (row for n in (1, 2) for row in cores.measure(folder, cores.Fit(2000, 5000, method, trees, n)))
        assert one["rmse"] == pytest.approx(two["rmse"], rel=1e-6)
        assert 0 < one["busy"] < 1.5
        assert one["busy"] == one["cpu_s"] / one["fit_s"]
        assert one["peak_gb"] >= one["loaded_gb"] > 0
        assert one["predict_s"] > 0
        assert set(cores.COLUMNS) <= {*one, "method", "trees", "threads"}


class TestSizes:
    def test_rows_are_those_of_the_folder_where_there_is_one(self, tmp_path, monkeypatch):
        monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
        assert (sizes.table_of(None), sizes.table_of(tmp_path)) == ("flights", "airline")
        monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
        assert sizes.table_of(None) == "airline"

    @pytest.mark.parametrize("table", ["airline", "flights"])
    def test_fewer_rows_are_among_more_and_none_is_tested(self, table, folder, monkeypatch):
        X, y, _ = wavy(2000, d=len(AIRLINE_INPUTS))
        monkeypatch.setattr(sizes, "TEST_ROWS", 500)
        monkeypatch.setattr(sizes, "load_flights", lambda: Split(X, y, X[:0], y[:0], AIRLINE_INPUTS))
        few, many = (sizes.real_rows(table, folder, n) for n in (100, 1000))
        np.testing.assert_array_equal(few.X_train, many.X_train[:100])
        np.testing.assert_array_equal(few.X_test, many.X_test)
        assert (len(many.y_train), len(many.y_test)) == (1000, 500)
        assert not set(map(tuple, many.X_train)) & set(map(tuple, many.X_test))

    def test_wide_targets_depend_on_five_columns(self):
        data = sizes.draw_wide(3000, 9)
        assert data.X_train.shape == data.X_test.shape == (3000, 9)
        a, b, c, d, e = data.X_test[:, ::2].T
        noise = data.y_test - (np.sin(2 * a) + b * c + 0.5 * d**2 + e)
        assert noise.std() == pytest.approx(sizes.NOISE, rel=0.05)
        assert np.abs(np.corrcoef(noise, data.X_test.T)[0, 1:]).max() < 0.08

    def test_calls_are_timed_without_the_first(self, monkeypatch):
        now, seconds = [0.0], iter([50.0, 1.0, 3.0, 2.0])

        def call():
            now[0] += next(seconds)

        monkeypatch.setattr("experiments.measures.time", SimpleNamespace(perf_counter=lambda: now[0]))
        assert sizes.milliseconds(call, 3) == (2000.0, 1000.0)
        assert next(seconds, None) is None

    @pytest.mark.slow
    @pytest.mark.usefixtures("quick")
    def test_short_tables_are_measured(self, folder, monkeypatch):
        monkeypatch.setattr(sizes, "TEST_ROWS", 500)
        monkeypatch.setattr(sizes, "CALLS", 3)
        (forest,) = sizes.measure_length(folder, sizes.Length("airline", 300, FOREST, 1))
        (boosting,) = sizes.measure_length(folder, sizes.Length("airline", 300, BOOSTING, 1))
        assert forest["interval_ms"] >= forest["least_interval_ms"] > 0
        assert "interval_ms" not in boosting
        for row in (forest, boosting):
            assert np.isfinite(row["mnlp"])
            assert row["mean_ms"] >= row["least_mean_ms"] > 0

    @pytest.mark.slow
    @pytest.mark.usefixtures("quick")
    def test_wide_tables_are_measured(self):
        (row,) = sizes.measure_width(sizes.Width(300, 20, FOREST, 1))
        assert row["rmse"] < 2.0
        assert row["peak_gb"] >= row["loaded_gb"] > 0
        assert set(sizes.SCORES) <= set(row)
