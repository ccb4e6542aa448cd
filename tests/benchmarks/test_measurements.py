"""Cells of the benchmarks, on tables made here."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

from benchmarks import aimpeak, airline, cluster, flights, objectives, one_row, rough, step, streaming
from experiments.tables import AIMPEAK_INPUTS, AIRLINE_INPUTS
from helpers import wavy
from ssgp import SpectralForestRegressor
from ssgp.datasets import Split

pytestmark = pytest.mark.slow


def write_table(path, inputs, target, n_rows, **more):
    X, y, _ = wavy(n_rows, d=len(inputs))
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({**dict(zip(inputs, X.T, strict=True)), target: y, **more}), path)
    return X, y


def check_scores(row):
    assert row["rmse"] < 1.0
    assert np.isfinite(row["mnlp"])
    assert 0.5 < row["coverage"] <= 1.0
    assert row["fit_s"] > 0


def test_objectives(tmp_path):
    write_table(tmp_path / "uci" / "energy.parquet", ["x0", "x1"], "y", 300, fold=np.arange(300) % 10)
    (row,) = objectives.measure(tmp_path, objectives.Fit("energy", "global", 0))
    check_scores(row)


def test_aimpeak(tmp_path):
    more = {"split": (np.arange(600) % 20 == 0) * 1, "block": np.arange(600) % 30}
    write_table(tmp_path / "aimpeak.parquet", AIMPEAK_INPUTS, "speed_kmh", 600, **more)
    rows = aimpeak.measure(tmp_path, aimpeak.Fits("global", 0))
    assert [row["test rows by"] for row in rows] == ["authors' label", "nearest block", "own 200 blocks"]
    assert all(np.isfinite(row["rmse"]) for row in rows)


def test_means_over_seeds():
    columns = {"test rows by": "nearest block", "mnlp": 1.0, "coverage": 0.9, "fit_s": 2.0}
    rows = [{"objective": "local", "seed": seed, "rmse": 1.0 + seed, **columns} for seed in (0, 1)]
    (mean,) = aimpeak.means(rows)
    assert mean == {"objective": "local", "seeds": 2, "rmse": 1.5, **columns}


def test_airline(tmp_path):
    _, y = write_table(tmp_path / "airline.parquet", AIRLINE_INPUTS, "ArrDelay", 4000)
    (row,) = airline.measure(tmp_path, airline.Fit(3000, "global", 0))
    assert row["predicted_rows"] == 150
    assert row["rmse_of_mean"] == pytest.approx(y[2850:3000].std())
    assert row["peak_gb"] >= row["table_gb"] > 0


class TestFlights:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch):
        X, y, _ = wavy(600)
        split = Split(X[:500], y[:500], X[500:], y[500:], ("a", "b"))
        monkeypatch.setattr(flights, "load_flights", lambda: split)
        for name, value in {"n_blocks": 10, "max_iter": 200, "n_jobs": 1}.items():
            monkeypatch.setitem(flights.SETTINGS, name, value)
        # On a busy machine threads wait for each other longer than these few rows take.
        with threadpool_limits(1):
            yield

    @pytest.mark.parametrize(("model", "gammas"), [("sVBSSGP global", [0.0, 0.3, 1.0]), ("sVBSSGP local", [0.0])])
    def test_sparse_spectrum(self, model, gammas):
        rows = flights.measure(flights.Fit(model, 0))
        assert [row["gamma"] for row in rows] == gammas
        check_scores(rows[0])

    def test_boosting_has_the_deviation_of_rows_it_has_not_seen(self):
        (row,) = flights.measure(flights.Fit("histogram boosting", 0))
        check_scores(row)
        assert row["coverage"] > 0.9


def test_a_draw_has_the_covariance_of_its_kernel():
    kernel = RBF(0.5)
    _, latent, y = rough.draw(kernel, 400, 0)
    assert np.std(y - latent) == pytest.approx(0.1, rel=0.2)
    # Sixty draws: the mean of their squares is one, with a standard error that correlated rows make large.
    squares = [np.mean(rough.draw(kernel, 50, seed)[1] ** 2) for seed in range(60)]
    assert np.mean(squares) == pytest.approx(1.0, abs=0.25)


def test_kernels_of_the_benchmark_are_those_of_the_forest():
    with pytest.raises(ValueError, match="The 'kernel' parameter") as refused:
        SpectralForestRegressor(kernel="none of them").fit(np.ones((9, 1)), np.ones(9))
    (listed,) = re.findall("among {(.*)}", str(refused.value))
    assert {name.strip("' ") for name in listed.split(",")} == set(rough.KERNELS)


def test_steps_of_every_size_beside_a_yardstick(monkeypatch):
    monkeypatch.setattr(step, "SIZES", (2000, 4000))
    rows = step.measure(step.Steps(96))
    assert [row["rows"] for row in rows] == ["2000", "4000", "yardstick"]
    assert all(row["median_ms"] >= row["quiet_ms"] > 0 for row in rows)
    assert rows[0]["ratio_to_smallest"] == 1.0


def test_answers_for_one_row_beside_a_yardstick(monkeypatch):
    monkeypatch.setattr(one_row, "SIZES", (60, 80))
    rows = one_row.measure(one_row.Calls(3))
    assert [row["asked"] for row in rows] == [
        *(f"{n}: {asked}" for n in (60, 80) for asked in ("mean", "mean and deviation", "interval")),
        "60: mean of a frame's row",
        "yardstick: 100,000 cosines",
    ]
    assert all(row["median_ms"] >= row["quiet_ms"] > 0 for row in rows)


class TestStreaming:
    @pytest.fixture
    def folder(self, tmp_path):
        write_table(tmp_path / "airline.parquet", AIRLINE_INPUTS, "ArrDelay", 50)
        return tmp_path

    def test_rows_are_repeated_with_noise_until_there_are_enough(self, folder, monkeypatch):
        monkeypatch.setattr(streaming, "GROUP_ROWS", 25)
        streaming.write_table(folder / "long.parquet", 110, folder)
        short, long = (pq.read_table(folder / f"{name}.parquet") for name in ("airline", "long"))
        assert len(long) == 110
        assert long.column_names == [*AIRLINE_INPUTS, "ArrDelay"]
        first, second, base = (part["Month"].to_numpy() for part in (long[:50], long[50:100], short))
        np.testing.assert_allclose(first, base, rtol=1e-6)
        noise = second - base
        assert np.all(noise != 0)
        assert np.std(noise) == pytest.approx(0.02 * np.std(base), rel=0.5)

    def test_a_cluster_makes_the_same_model(self, folder):
        write_table(folder / "airline.parquet", AIRLINE_INPUTS, "ArrDelay", 600)
        cells = cluster.cells([0.0006], 2, "1GB", "1GB", [0, 1], 1)
        alone, shared = (row for cell in cells for row in cluster.measure(folder, folder, cell))
        assert alone["checksum"] == shared["checksum"]
        stages = sum(shared[f"{stage}_s"] for stage in cluster.STAGES)
        assert stages == pytest.approx(shared["fit_s"])
        assert shared["look_tasks"] == shared["sample_tasks"] == 1
        assert shared["to_caller_gb"] * 1e9 > 600 * 9 * 8

    def test_a_stage_without_a_model_says_that_the_fit_comes_first(self, folder):
        (folder / "0.0001.parquet").write_bytes(b"")
        with pytest.raises(FileNotFoundError, match="the stage fit comes first"):
            streaming.measure(folder, folder, streaming.Stage(0.0001, "1GB", "predict", "cpu"))
