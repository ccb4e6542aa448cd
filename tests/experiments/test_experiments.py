"""The paper's evaluation on small tables made here."""

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import lognorm
from sklearn.base import BaseEstimator

from experiments import claims, fits, methods, runner
from experiments.__main__ import main
from experiments.error_table import notes, table_lines
from experiments.figures import FIGURES
from experiments.fits import run_cell, split
from experiments.methods import METHODS
from experiments.page import write_page
from experiments.store import SCHEMA, Results, Store
from experiments.suites import GAMMAS, SUITES, Cell, cells, quick
from experiments.tables import AIMPEAK_INPUTS, AIRLINE_INPUTS, BLOG_INPUTS, FOLDER_VARIABLE, Table
from helpers import Page, browse, wavy
from ssgp import SVBSSGPRegressor
from ssgp.baselines.lbfgs import StochasticAscent
from ssgp.distributions.regressor import DistributionRegressor
from ssgp.metrics import rmse
from ssgp.rows.standardized import Rows


def small_table(folder=None):
    X, y, _ = wavy(800)
    return Table(X, y, ("a", "b"), np.arange(800) % 20 == 0)


def deadly_table(folder=None):
    """What the system does to a process that takes too much memory."""
    os._exit(1)


BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def endless_table(folder):
    """Says which process it is in, and takes longer than anyone waits."""
    whole = folder / "asleep.part"
    whole.write_text(str(os.getpid()))
    whole.rename(folder / "asleep")
    time.sleep(3600)


class Opaque(Executor):
    """A pool of processes that shows nothing of itself but what every executor has."""

    def __init__(self, pool: Executor) -> None:
        self.submit, self.shutdown = pool.submit, pool.shutdown


def run_endlessly(folder: Path) -> int:
    """The command, on a cell that does not end."""
    suite = replace(SMALL, load=endless_table, splits=("0",), traced=(), draws=(), converged={"SSGP": 3})
    pool = runner._pool
    runner.SUITES, runner._pool = {"aimpeak": suite}, lambda n_jobs: Opaque(pool(n_jobs))
    folders = ["--data", str(folder), "--results", str(folder / "rows"), "--out", str(folder / "page")]
    return main(["run", "--suites", "aimpeak", "--jobs", "1", *folders])


SMALL = replace(quick(SUITES["aimpeak"]), load=small_table, n_rows=None, draws=(1, 3))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables with the columns of the real ones."""
    path, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)

    def write(name, inputs, target, **more):
        X = rng.normal(size=(1600, len(inputs)))
        y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=1600)
        table = {input_: X[:, i] for i, input_ in enumerate(inputs)} | {target: y} | more
        pq.write_table(pa.table(table), path / f"{name}.parquet")

    write("aimpeak", AIMPEAK_INPUTS, "speed_kmh", split=(np.arange(1600) % 20 == 0) * 1, block=np.arange(1600) // 8)
    write("airline", AIRLINE_INPUTS, "ArrDelay")
    write("blog", BLOG_INPUTS, "y")
    return path


@pytest.fixture(scope="module")
def quick_run(folder, tmp_path_factory):
    """A quick run of everything, by its command."""
    results, out = tmp_path_factory.mktemp("results"), tmp_path_factory.mktemp("page")
    arguments = ["--quick", "--results", str(results), "--out", str(out)]
    assert main(["run", *arguments, "--jobs", "1", "--data", str(folder)]) == 0
    return SimpleNamespace(results=results, out=out, arguments=arguments, folder=folder)


class TestSplits:
    def test_are_random_twentieths_that_a_seed_repeats(self):
        table = small_table()
        one, again, other = split(table, "1"), split(table, "1"), split(table, "2")
        np.testing.assert_array_equal(one.y_test, again.y_test)
        assert set(one.y_test) != set(other.y_test)
        assert len(one.y) + len(one.y_test) == len(table.y)
        assert not set(one.y) & set(one.y_test)
        assert len(one.y_test) == pytest.approx(40, abs=20)

    def test_the_authors_own(self):
        found = split(small_table(), "authors")
        np.testing.assert_array_equal(found.y_test, small_table().y[::20])

    def test_a_table_without_one_says_so(self):
        with pytest.raises(ValueError, match="no split of its own"):
            split(replace(small_table(), test=None), "authors")

    def test_some_rows_keep_to_their_side(self):
        table = small_table()
        whole, some = split(table, "3"), split(table, "3", 300)
        assert len(some.y) + len(some.y_test) == 300
        assert set(some.y_test) <= set(whole.y_test)


class TestTraces:
    @pytest.mark.parametrize("method", SMALL.traced)
    def test_an_iteration_is_as_many_rows_for_every_method(self, method, monkeypatch):
        suite, cell = replace(SMALL, rows_an_iteration=1600), Cell("aimpeak", "0", method, "trace", 1)
        looked = {row["iteration"]: row["steps"] for row in run_cell(suite, cell, None)}
        assert list(looked) == list(suite.looked_at)

        given, rows_of_step, block = [], [], Rows.block
        monkeypatch.setattr(Rows, "block", lambda rows, k: given.append(len(block(rows, k).y)) or block(rows, k))

        def count(n_steps, snapshot):
            rows_of_step.append(sum(given))
            given.clear()

        data = split(small_table(), "0")
        METHODS[method].make(suite, cell, max(looked.values()), 0).fit(data.X, data.y, monitor=count)
        seen = np.cumsum(rows_of_step)
        for iteration, steps in looked.items():
            assert seen[steps - 1] == pytest.approx(1600 * iteration, abs=0.51 * max(rows_of_step))

    def test_iterations_shorter_than_a_step_share_it(self):
        suite = replace(SMALL, rows_an_iteration=300)
        rows = run_cell(suite, Cell("aimpeak", "0", "VSSGP", "trace", 1), None)
        assert [(row["iteration"], row["steps"]) for row in rows] == [(1, 1), (2, 1), (4, 2)]

    @pytest.mark.filterwarnings("ignore:learning was interrupted")
    @pytest.mark.parametrize("kind", ["trace", "converged"])
    def test_learning_that_ends_early_is_a_failure(self, kind, monkeypatch):
        steps, whole = iter(range(100)), StochasticAscent.step

        def breaking(ascent, shrink):
            if next(steps) == 2:
                raise KeyboardInterrupt
            return whole(ascent, shrink)

        monkeypatch.setattr(StochasticAscent, "step", breaking)
        with pytest.raises(RuntimeError, match="learning ended early"):
            run_cell(SMALL, Cell("aimpeak", "0", "VSSGP", kind, 1), None)

    @pytest.mark.parametrize(("most", "converged"), [(6000, True), (40, False)])
    def test_a_run_says_whether_it_stopped_by_itself(self, most, converged, monkeypatch):
        monkeypatch.setattr(methods, "MOST_STEPS", most)
        suite = replace(SMALL, converged={"sVBSSGP": 0})
        row, *_ = run_cell(suite, Cell("aimpeak", "0", "sVBSSGP", "converged", 3), None)
        assert row["converged"] is converged
        assert (row["steps"] < most) is converged

    @pytest.mark.parametrize(("said", "missing"), [({"max_iter": 3}, "n_iter_"), ({"n_iter_": 2}, "max_iter")])
    def test_a_run_that_does_not_say_how_long_it_was_has_not_converged(self, said, missing, monkeypatch):
        constant = SimpleNamespace(fit=lambda X, y: None, predict=lambda X, return_std: np.ones((2, len(X))), **said)
        method = replace(METHODS["SSGP"], make=lambda *about: constant)
        monkeypatch.setitem(METHODS, "SSGP", method)
        with pytest.raises(AttributeError, match=missing):
            run_cell(SMALL, Cell("aimpeak", "0", "SSGP", "converged", 1), None)

    def test_runs_of_a_given_length_do_not_stop_by_themselves(self):
        (row,) = run_cell(SMALL, Cell("aimpeak", "0", "VSSGP", "converged", 1), None)
        assert (row["steps"], row["converged"]) == (40, False)

    def test_the_last_look_is_at_the_model_that_fit_would_leave(self):
        rows = run_cell(SMALL, Cell("aimpeak", "0", "sVBSSGP", "trace", 3), None)
        data = split(small_table(), "0")
        last = [row for row in rows if row["iteration"] == 4 and row["gamma"] == 0.1]
        steps = last[0]["steps"]
        model = SVBSSGPRegressor(8, n_blocks=20, partition="tree", n_draws=3, max_iter=steps, tol=None, random_state=0)
        mean = model.fit(data.X, data.y).predict(data.X_test, gamma=0.1)
        assert last[0]["rmse"] == pytest.approx(rmse(data.y_test, np.asarray(mean)), rel=1e-6)

    def test_time_grows_and_excludes_the_looks(self, monkeypatch):
        ticks = iter(range(10_000))
        monkeypatch.setattr(fits, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
        rows = run_cell(SMALL, Cell("aimpeak", "0", "VSSGP", "trace", 1), None)
        # The clock is read once at the start, twice around each look and once after it: looks cost one tick here.
        assert [row["train_s"] for row in rows] == [2.0, 4.0, 6.0]

    def test_convergence_is_seen_for_all_test_conditionals(self):
        rows = run_cell(SMALL, Cell("aimpeak", "0", "sVBSSGP", "converged", 3), None)
        assert [row["gamma"] for row in rows] == pytest.approx(np.linspace(-1, 1, 21))


@dataclass(frozen=True)
class LogNormals:
    """Distributions whose normal intervals cover far more than they should."""

    n_rows: int
    law: ClassVar[Any] = lognorm(2.0)

    def rows(self, some):
        return LogNormals(len(range(self.n_rows)[some]))

    def mean(self):
        return np.full(self.n_rows, self.law.mean())

    def variance(self):
        return np.full(self.n_rows, self.law.var())

    def quantile(self, level):
        return np.full(self.n_rows, self.law.ppf(level))

    def log_density(self, y):
        return self.law.logpdf(y)


class Skewed(DistributionRegressor, BaseEstimator):
    """Says of every row that its target is log-normal."""

    def fit(self, X, y):
        self.is_fitted_ = True
        return self

    def _means(self, X):
        return LogNormals(np.shape(X)[0]).mean()

    def _distributions(self, X):
        n_rows = np.shape(X)[0]
        yield LogNormals(n_rows), slice(0, n_rows)


class TestScoresOfDistributions:
    """By their own intervals, not by those of normal ones with the same deviation."""

    Y = LogNormals.law.ppf((np.arange(200) + 0.5) / 200)

    def check(self, found):
        assert found["coverage"] == 0.95
        assert found["mnlp"] == pytest.approx(-LogNormals.law.logpdf(self.Y).mean())

    def test_in_the_suites(self):
        data = fits.Data(self.Y[:, None], self.Y, self.Y[:, None], self.Y)
        self.check(fits._score(Skewed().fit(data.X, data.y), data))

    @pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="no benchmarks beside the tests")
    def test_in_the_benchmark_of_methods(self, monkeypatch):
        monkeypatch.syspath_prepend(BENCHMARKS)
        data = SimpleNamespace(X_train=self.Y[:, None], y_train=self.Y, X_test=self.Y[:, None], y_test=self.Y)
        self.check(import_module("methods").run("made up", data, "skewed", lambda seed: Skewed(), 0))


def wait_for(condition, seconds=120):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)
    assert condition()


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class TestRunner:
    @pytest.fixture
    def here(self, monkeypatch):
        """Cells run in threads of this process, on a tiny suite of two methods."""
        tiny = replace(SMALL, splits=("0",), traced=(), draws=(), converged={"SSGP": 3, "VSSGP": 3})
        monkeypatch.setattr(runner, "SUITES", {"aimpeak": tiny})
        monkeypatch.setattr(runner, "_pool", ThreadPoolExecutor)
        return tiny

    def test_goes_on_where_it_stopped(self, here, tmp_path, capsys):
        store, (first, second) = Store(tmp_path), cells(here)
        runner._run_one(here, first, store, None, False)
        before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
        assert runner.run(["aimpeak"], store, None, n_jobs=1) == 0
        assert all(path.stat().st_mtime_ns == time for path, time in before.items())
        assert store.has(second)
        assert "1 of 2 cells are there already" in capsys.readouterr().out
        assert {path.suffix for path in tmp_path.iterdir()} == {".parquet"}

    def test_a_failure_is_recorded_and_the_rest_goes_on(self, here, tmp_path, monkeypatch, capsys):
        def broken(suite, cell, folder):
            if cell.method == "SSGP":
                raise FloatingPointError("no luck")
            return run_cell(suite, cell, folder)

        store = Store(tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(runner, "run_cell", broken)
            assert runner.run(["aimpeak"], store, None, n_jobs=1) == 1
        results = store.read()
        assert [row["error"] for row in results.failures()] == ["FloatingPointError: no luck"]
        assert len(results.where(method="VSSGP").rows) == 1
        assert "FAILED: FloatingPointError: no luck" in capsys.readouterr().err
        assert runner.run(["aimpeak"], store, None, n_jobs=1) == 0
        assert not store.read().failures()

    def test_after_an_interrupt_nothing_new_begins(self, here, tmp_path, monkeypatch):
        store, begun = Store(tmp_path), []

        def interrupted(suite, cell, folder):
            begun.append(cell)
            signal.raise_signal(signal.SIGINT)
            return run_cell(suite, cell, folder)

        monkeypatch.setattr(runner, "run_cell", interrupted)
        assert runner.run(["aimpeak"], store, None, n_jobs=1) == 130
        assert begun == cells(here)[:1]
        assert store.has(begun[0])

    def test_a_process_that_dies_costs_its_own_cell_alone(self, tmp_path, monkeypatch, capsys):
        tiny = replace(SMALL, splits=("0",), traced=(), draws=(), converged={"SSGP": 3})
        suites = {"blog": replace(tiny, name="blog", load=deadly_table), "aimpeak": tiny}
        monkeypatch.setattr(runner, "SUITES", suites)
        store = Store(tmp_path)
        assert runner.run(["blog", "aimpeak"], store, None, n_jobs=2) == 1
        (failure,) = store.read().failures()
        assert (failure["suite"], failure["error"]) == ("blog", "its process died: out of memory?")
        assert store.cells() == set(cells(tiny))
        assert "FAILED: its process died" in capsys.readouterr().err

    @pytest.mark.skipif(os.name != "posix", reason="signals to a group of processes, as a terminal sends them")
    def test_a_second_interrupt_gives_up_what_is_running(self, tmp_path):
        code = f"import sys, test_experiments as t; sys.exit(t.run_endlessly(t.Path({str(tmp_path)!r})))"
        same_modules = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
        process = subprocess.Popen(
            [sys.executable, "-c", code], env=same_modules, stdout=subprocess.PIPE, start_new_session=True
        )
        assert process.stdout is not None
        try:
            wait_for((tmp_path / "asleep").exists)
            worker = int((tmp_path / "asleep").read_text())
            os.killpg(process.pid, signal.SIGINT)
            assert b"press Ctrl-C again" in process.stdout.readline() + process.stdout.readline()
            assert is_running(worker)
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(timeout=30) == 130
            assert b"given up" in process.stdout.read()
            assert not is_running(worker)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()

    def test_a_result_that_cannot_be_written_costs_its_own_cell_alone(self, here, tmp_path, monkeypatch, capsys):
        whole = Store.write

        def full(store, cell, *rest):
            if cell.method == "SSGP":
                raise OSError("no space left on device")
            whole(store, cell, *rest)

        monkeypatch.setattr(Store, "write", full)
        store = Store(tmp_path)
        assert runner.run(["aimpeak"], store, None, n_jobs=1) == 1
        assert store.cells() == {cells(here)[1]}
        assert "nothing was written: OSError: no space left on device" in capsys.readouterr().err

    def test_results_say_how_they_came_about(self, here, tmp_path):
        store = Store(tmp_path)
        runner.run(["aimpeak"], store, None, n_jobs=1)
        row = store.read().rows[0]
        assert "ssgp" in row["versions"]
        assert "cores" in row["machine"]
        assert row["wall_s"] >= row["train_s"] > 0
        assert (row["n_train"] + row["n_test"], row["split"], row["seed"]) == (800, "0", 0)


class TestStore:
    CELL = Cell("aimpeak", "3", "VSSGP", "converged", 1)
    ROW: ClassVar = {"iteration": -1, "steps": 7, "converged": False, "train_s": 1.0, "rmse": 2.0, "mnlp": 3.0}

    def former(self, path, rows):
        """A file as it was before rows had a seed and said whether runs had stopped by themselves."""
        former = pa.schema([column for column in SCHEMA if column.name not in ("seed", "converged")])
        pq.write_table(pa.Table.from_pylist(rows, former), path)

    def test_a_file_of_many_cells_has_each_of_them(self, tmp_path):
        store, other = Store(tmp_path), replace(self.CELL, split="4")
        self.former(tmp_path / "rows.parquet", made_up(**vars(self.CELL)) + made_up(**vars(other)))
        assert store.cells() == {self.CELL, other}
        assert not store.has(replace(self.CELL, split="0"))

    def test_the_newest_rows_of_a_cell_are_its_rows(self, tmp_path):
        old = made_up(**vars(self.CELL), rmse=9.0, finished="2026-01-01T00:00:00Z")
        self.former(tmp_path / "zz-rows.parquet", old * 2)
        store = Store(tmp_path)
        store.write(self.CELL, [self.ROW], 1.0, quick=False)
        assert store.read().values("rmse") == [2.0]

    def test_the_same_rows_in_two_files_count_once(self, tmp_path):
        for name in ("a", "b"):
            self.former(tmp_path / f"{name}.parquet", made_up(**vars(self.CELL)))
        assert len(Store(tmp_path).read().rows) == 1

    def test_quick_rows_do_not_stand_in_for_others(self, tmp_path):
        store = Store(tmp_path)
        store.write(self.CELL, [self.ROW], 1.0, quick=True)
        assert store.has(self.CELL, quick=True)
        assert not store.has(self.CELL)
        assert len(store.read().rows) == 1
        store.write(self.CELL, [{**self.ROW, "rmse": 5.0}], 1.0, quick=False)
        assert store.read().values("rmse") == [5.0]
        assert store.read(quick=True).values("rmse") == [2.0]

    @pytest.mark.parametrize(
        ("kind", "steps", "converged"), [("converged", 1959, True), ("converged", 3000, False), ("trace", 7, False)]
    )
    def test_former_files_are_completed(self, kind, steps, converged, tmp_path):
        row = made_up(kind=kind, steps=steps, split="3") + made_up(kind=kind, steps=steps, split="authors")
        self.former(tmp_path / "rows.parquet", row)
        found = Store(tmp_path).read()
        assert found.values("seed") == [3, 0]
        assert found.values("converged") == [converged, converged]

    def test_our_own_run_can_still_be_read(self):
        found = Store(Path(__file__).parents[2] / "experiments" / "full-run").read()
        assert len(found.where(suite="aimpeak").rows) > 1000
        assert {type(value) for name in ("seed", "converged") for value in found.values(name)} == {int, bool}

    def test_rows_of_nothing_are_refused_and_read_as_failures(self, tmp_path):
        store = Store(tmp_path)
        with pytest.raises(ValueError, match="no rows"):
            store.write(self.CELL, [], 1.0, quick=False)
        self.former(tmp_path / "rows.parquet", made_up(**vars(self.CELL), rmse=None, mnlp=None, iteration=None))
        assert not store.has(self.CELL)
        assert store.read().failures()
        write_page(store.read(), tmp_path / "page")

    def test_other_tables_are_named(self, tmp_path):
        pq.write_table(pa.table({"ArrDelay": [1.0]}), tmp_path / "airline.parquet")
        with pytest.raises(ValueError, match=r"airline.parquet is no file of results"):
            Store(tmp_path).read()


def made_up(**columns: Any) -> list[dict]:
    plain = {"suite": "aimpeak", "split": "0", "method": "sVBSSGP", "kind": "trace", "n_draws": 20, "gamma": 0.0}
    rest = {
        "iteration": 1,
        "steps": 1,
        "seed": 0,
        "converged": False,
        "train_s": 1.0,
        "rmse": 1.0,
        "mnlp": 1.0,
        "coverage": 0.95,
        "error": None,
    }
    about = {"quick": False, "wall_s": 1.0, "finished": "2026", "machine": "m", "versions": "v"}
    return [{**plain, **rest, **about, **columns}]


class TestVerdicts:
    @pytest.mark.parametrize(("last", "outcome"), [(2.0, "reproduced"), (5.0, "in part"), (9.9, "not reproduced")])
    def test_descent(self, last, outcome):
        rows = [
            row
            for gamma in (0.0, 0.1, 0.2, 0.3)
            for iteration, error in ((1, 10.0), (30, last))
            for row in made_up(gamma=gamma, iteration=iteration, rmse=error)
        ]
        assert claims.falls_quickly(Results(rows)).outcome == outcome

    @pytest.mark.parametrize(("slope", "outcome"), [(1.0, "reproduced"), (-1.0, "not reproduced")])
    def test_gamma(self, slope, outcome):
        rows = [row for g in GAMMAS for row in made_up(kind="converged", gamma=g, rmse=10 + slope * abs(g))]
        assert claims.local_is_best(Results(rows)).outcome == outcome

    @pytest.mark.parametrize(
        ("mine", "outcome"), [(1.0, "reproduced"), (1.99, "in part"), (2.5, "in part"), (9.0, "not reproduced")]
    )
    def test_methods(self, mine, outcome):
        rows = made_up(rmse=mine)
        for method, error in (("PIC+", 2.0), ("DTC+", 3.0), ("VSSGP", 4.0)):
            rows += made_up(method=method, gamma=None, n_draws=1, rmse=error)
        verdict = claims.beats_the_others("aimpeak")(Results(rows))
        assert verdict.outcome == outcome
        assert f"PIC+, has {2.0 / mine:.2f} times" in verdict.finding
        assert "PIC+ has 1.30 times" in verdict.finding

    def test_methods_are_compared_on_the_splits_that_all_have(self):
        rows = made_up(rmse=1.0) + made_up(rmse=100.0, split="1")
        for method in ("PIC+", "DTC+", "VSSGP"):
            rows += made_up(method=method, gamma=None, n_draws=1, rmse=2.0)
        assert claims.beats_the_others("aimpeak")(Results(rows)).outcome == "reproduced"

    def test_a_method_that_is_missing_is_not_beaten(self):
        rows = made_up(rmse=1.0) + made_up(method="DTC+", gamma=None, n_draws=1, rmse=2.0)
        verdict = claims.beats_the_others("aimpeak")(Results(rows))
        assert verdict.outcome == "in part"
        assert "PIC+ and VSSGP: not run yet." in verdict.finding

    @pytest.mark.parametrize(
        ("power", "pic", "dtc", "outcome"),
        [
            (1, 1.0, 2.0, "reproduced"),
            (1, 1.0, 1e3, "in part"),
            (1, 1e3, 1.0, "in part"),
            (1, 1.0, None, "in part"),
            (1.5, 1.0, 2.0, "not reproduced"),
            (4, 1.0, 2.0, "not reproduced"),
        ],
    )
    def test_time(self, power, pic, dtc, outcome):
        rows = [row for t in (1, 5, 15, 45) for row in made_up(suite="airline", iteration=t, train_s=float(t) ** power)]
        for method, seconds in (("PIC+", pic), ("DTC+", dtc)):
            if seconds is not None:
                rows += made_up(suite="airline", method=method, gamma=None, n_draws=1, train_s=seconds)
        verdict = claims.time_is_linear(Results(rows))
        assert verdict.outcome == outcome
        assert ("DTC+: not run yet." in verdict.finding) is (dtc is None)

    @pytest.mark.parametrize(("disturbed", "outcome"), [(1, "in part"), (2, "not reproduced")])
    def test_time_is_that_of_the_median_split_without_what_comes_before_the_first_look(self, disturbed, outcome):
        rows = []
        for s in range(3):
            for t, seconds in ((1, 9.0), (2, 9.1), (4, 9.3), (8, 10.1 if s < disturbed else 9.7)):
                rows += made_up(suite="airline", split=str(s), iteration=t, train_s=seconds)
        verdict = claims.time_is_linear(Results(rows))
        assert verdict.outcome == outcome
        assert "9.0 s up to the end of the first" in verdict.finding

    def test_time_needs_two_stretches(self):
        rows = made_up(suite="airline") + made_up(suite="airline", iteration=5, train_s=5.0)
        assert claims.time_is_linear(Results(rows)).outcome == "not run"

    @pytest.mark.parametrize(
        ("early", "late", "outcome"), [(2.0, 2.0, "reproduced"), (2.0, 1.0, "in part"), (1.0, 1.0, "not reproduced")]
    )
    def test_draws(self, early, late, outcome):
        rows = [row for t in (1, 30) for row in made_up(iteration=t)]
        rows += made_up(n_draws=1, rmse=early) + made_up(n_draws=1, iteration=30, rmse=late)
        assert claims.draws_help(Results(rows)).outcome == outcome

    def test_numbers_of_draws_are_compared_on_the_splits_that_all_have(self):
        rows = made_up(rmse=1.0) + made_up(rmse=100.0, split="1") + made_up(n_draws=1, rmse=2.0)
        assert "r = 20: 2.000 after the first" in claims.draws_help(Results(rows)).finding

    @pytest.mark.parametrize(
        ("one", "many", "outcome"),
        [
            ((9.0, 5.0, 5.5), (8.0, 4.5, 3.0), "reproduced"),
            ((9.0, 5.0, 5.5), (8.0, 4.5, 4.8), "in part"),
            ((9.0, 5.0, 5.5), (9.0, 6.0, 5.5), "in part"),
            ((9.0, 5.0, 5.5), (9.0, 5.0, 5.5), "not reproduced"),
            ((5.0, 5.1, 5.2), (4.0, 4.1, 4.2), "not reproduced"),
            ((5.0, 5.1, 5.2), (5.0, 5.1, 5.2), "not reproduced"),
        ],
    )
    def test_overfitting(self, one, many, outcome):
        rows = [row for r in (1, 20) for row in made_up(n_draws=r)]
        for r, errors in ((1, one), (20, many)):
            for t, error in zip((1, 10, 30), errors, strict=True):
                rows += made_up(suite="blog", n_draws=r, iteration=t, rmse=error)
        assert claims.draws_protect(Results(rows)).outcome == outcome

    def test_overfitting_tells_the_course_of_each_curve(self):
        rows = [row for r in (1, 20) for t in (1, 10, 30) for row in made_up(suite="blog", n_draws=r, iteration=t)]
        for row, error in zip(rows, (9.0, 5.0, 5.5, 3.0, 3.1, 3.2), strict=True):
            row["rmse"] = error
        finding = claims.draws_protect(Results(rows)).finding
        assert "r = 1 falls from 9.00 after iteration 1 to 5.00 after 10 and rises to 5.50 after 30" in finding
        assert "r = 20 rises from 3.00 after iteration 1 to 3.20 after 30" in finding

    @pytest.mark.parametrize(
        ("densities", "outcome"),
        [
            ((1.0, 2.0, 3.0, 4.0), "reproduced"),
            ((1.0, 2.0, 3.005, 3.0), "reproduced"),
            ((1.0, 2.0, 4.0, 3.0), "in part"),
            ((1.0, 4.0, 3.0, 2.0), "not reproduced"),
            ((4.0, 2.0, 1.0, 3.0), "not reproduced"),
            ((4.0, 3.0, 2.0, 2.005), "not reproduced"),
            ((1.0, 1.005, 1.0, 1.005), "not reproduced"),
            ((4.0, 3.0, 2.0, 1.0), "not reproduced"),
        ],
    )
    def test_densities(self, densities, outcome):
        rows = []
        for suite in ("aimpeak", "airline"):
            for i, method in enumerate(("sVBSSGP", *claims.PEERS)):
                gamma = 0.0 if method == "sVBSSGP" else None
                rows += made_up(suite=suite, method=method, gamma=gamma, rmse=1.0 + i, mnlp=densities[i])
        assert claims.densities_agree(Results(rows)).outcome == outcome
        some = [row for row in rows if row["method"] != "VSSGP"]
        assert claims.densities_agree(Results(some)).outcome != "reproduced"

    @pytest.mark.parametrize(("n_splits", "end"), [(1, "(1 split)"), (3, "(3 splits)"), (5, "")])
    def test_findings_over_few_splits_say_so(self, n_splits, end):
        rows = []
        for suite, s in product(SUITES, [str(s) for s in range(5)]):
            for r, t in product((1, 20), (1, 10, 30)):
                rows += made_up(suite=suite, split=s, n_draws=r, iteration=t, train_s=float(t))
            rows += [row for g in GAMMAS for row in made_up(suite=suite, split=s, kind="converged", gamma=g)]
            for g in (0.1, 0.2, 0.3):
                rows += made_up(suite=suite, split=s, gamma=g)
            for method in claims.PEERS if int(s) < n_splits else ():
                rows += made_up(suite=suite, split=s, method=method, gamma=None, n_draws=1)
        compared = [claim.check(Results(rows)).finding for claim in claims.CLAIMS if "PIC+" in claim.statement]
        assert len(compared) == 3
        assert all(finding.endswith(end or ".") for finding in compared)
        assert claims.densities_agree(Results(rows)).finding.count("splits)") == (2 if n_splits == 3 else 0)
        some = Results([row for row in rows if int(row["split"]) < n_splits])
        assert all(claim.check(some).finding.endswith(end or ".") for claim in claims.CLAIMS)

    def test_without_results_nothing_is_claimed(self):
        assert {claim.check(Results([])).outcome for claim in claims.CLAIMS} == {"not run"}


def test_table_1_keeps_the_authors_split_apart():
    rows = [
        row for s, e in (("0", 2.0), ("1", 4.0)) for row in made_up(kind="converged", split=s, rmse=e, iteration=-1)
    ]
    rows += made_up(kind="converged", split="authors", rmse=9.0, iteration=-1)
    rows += made_up(method="PIC+", gamma=None, rmse=7.0, iteration=1) + made_up(
        method="PIC+", gamma=None, rmse=5.0, iteration=30
    )
    ours, theirs = table_lines(Results(rows))
    assert (ours.rmse, ours.n_splits, ours.authors, ours.paper) == ((3.0, pytest.approx(2**0.5)), 2, 9.0, 4.73)
    assert (theirs.method, theirs.rmse[0]) == ("PIC+", 5.0)


def test_table_1_counts_a_split_once_where_nothing_has_converged_yet():
    rows = [row for r in (1, 20) for row in made_up(suite="blog", n_draws=r, rmse=float(r))]
    (line,) = table_lines(Results(rows))
    assert (line.rmse[0], line.n_splits) == (20.0, 1)
    assert "20.00" in line.texts()
    assert np.isnan(line.rmse[1])


def test_table_1_says_which_runs_did_not_stop_by_themselves():
    rows = made_up(kind="converged", steps=1200, converged=True) + made_up(kind="converged", split="1", steps=3000)
    rows += made_up(kind="converged", method="SSGP", gamma=None, steps=70, converged=True)
    rows += made_up(kind="converged", method="VSSGP", gamma=None, steps=5000)
    rows += made_up(kind="trace", method="PIC+", gamma=None, steps=6000, train_s=150.0)
    lines = table_lines(Results(rows))
    text = " ".join(notes(lines))
    assert "not by themselves: AIMPEAK: sVBSSGP (3,000, 1 of 2 splits), VSSGP (5,000)." in text
    assert "end of the traced runs: AIMPEAK: PIC+ (6,000)." in text
    assert {line.method: "*" in line.texts()[4] for line in lines} == {
        "sVBSSGP": False,
        "PIC+": True,
        "VSSGP": False,
        "SSGP": False,
    }


@pytest.mark.parametrize("name", ["aimpeak-rmse", "draws-aimpeak"])
def test_curves_are_means_over_the_splits_that_all_have(name):
    rows = made_up(rmse=1.0) + made_up(rmse=100.0, split="1")
    rows += made_up(n_draws=1, rmse=2.0) if "draws" in name else made_up(method="DTC+", gamma=None, rmse=2.0)
    (drawing,) = (drawing for drawing in FIGURES if drawing.name == name)
    figure = drawing.draw(Results(rows))
    assert figure is not None
    assert sorted(np.asarray(line.get_ydata()).tolist() for line in figure.axes[0].lines) == [[1.0], [2.0]]


class TestFiguresOfAnotherProcess:
    """Drawn by a script that asserts something of them."""

    def draw(self, folder, then, **environment):
        rows = made_up(mnlp=-1.0) + made_up(iteration=30, mnlp=-2.0)
        code = f"""
import sys
from pathlib import Path
import matplotlib as mpl
mpl.use("pdf")
from experiments.figures import draw_all
from experiments.store import Results
drawn = draw_all(Results({rows!r}), Path({str(folder)!r}))
assert {then}
"""
        subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, timeout=300, check=True)

    def test_leave_backend_and_pyplot_alone(self, tmp_path):
        self.draw(tmp_path, "mpl.get_backend() == 'pdf' and 'matplotlib.pyplot' not in sys.modules")
        assert (tmp_path / "gamma-mnlp.png").stat().st_size > 0

    def test_are_read_as_they_were_written_whatever_the_locale(self, tmp_path):
        """Negative numbers have a minus sign, which ASCII has not."""
        plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
        self.draw(tmp_path, "chr(0x2212) in drawn['gamma-mnlp']", **plain)


@pytest.mark.parametrize("n_splits", [1, 2])
def test_bands_are_deviations_over_several_splits_and_captions_say_so(n_splits):
    rows = [row for s in range(n_splits) for t in (1, 2) for row in made_up(split=str(s), iteration=t, rmse=2.0 * s)]
    (drawing,) = (drawing for drawing in FIGURES if drawing.name == "aimpeak-rmse")
    figure = drawing.draw(Results(rows))
    assert figure is not None
    bands = [band.get_paths()[0].get_extents() for band in figure.axes[0].collections]
    if n_splits == 1:
        assert not bands
        assert drawing.caption(Results(rows)).endswith(": one random split")
    else:
        assert [bands[0].y0, bands[0].y1] == pytest.approx([1 - 2**0.5, 1 + 2**0.5])
        assert drawing.caption(Results(rows)).endswith(": mean of 2 random splits, band: one deviation")


def test_linear_time_is_drawn_along_the_dotted_lines():
    looks = ((1, 5.0), (5, 5.4), (15, 6.4), (45, 9.4))
    rows = [row for t, seconds in looks for row in made_up(suite="airline", iteration=t, train_s=seconds)]
    (drawing,) = (drawing for drawing in FIGURES if drawing.name == "airline-time")
    figure = drawing.draw(Results(rows))
    assert figure is not None
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    slopes = [np.diff(np.log(np.asarray(line.get_xydata())), axis=0) for line in axes.lines]
    assert len(slopes) > 1
    assert all(slope[:, 1] == pytest.approx(slope[:, 0]) for slope in slopes)


def test_the_page_has_the_sizes_of_what_is_run_alone(tmp_path):
    write_page(Results([]), tmp_path)
    (blog,) = re.findall("<li>(BLOG: .*?)</li>", (tmp_path / "index.html").read_text(encoding="utf-8"))
    assert "blocks for PIC+" not in blog
    assert "PIC+" in blog
    assert "inducing inputs" in blog
    assert "DTC+" in SUITES["blog"].methods


class TestPage:
    def test_a_quick_run_has_every_figure_and_every_verdict(self, quick_run):
        text = (quick_run.out / "index.html").read_text(encoding="utf-8")
        page = Page(text)
        assert page.tags["svg"] == page.tags["figure"] == 11
        assert {path.stem for path in quick_run.out.glob("*.png")} == {
            path.stem for path in quick_run.out.glob("*.svg")
        }
        assert len(re.findall('<span class="verdict', text)) == 2 * len(claims.CLAIMS)
        assert not re.search(">not run<|not run yet", text)
        assert "No number here is to be believed" in text
        assert "What failed" not in text

    def test_is_one_file_that_asks_for_nothing(self, quick_run):
        page = Page((quick_run.out / "index.html").read_text(encoding="utf-8"))
        assert max(page.ids.values()) == 1
        assert all(address.startswith("#") or address == "data:," for address in page.addresses)
        assert {address[1:] for address in page.addresses if address.startswith("#")} <= set(page.ids)

    def test_is_drawn_again_without_fitting(self, quick_run, monkeypatch):
        before = (quick_run.out / "index.html").read_bytes()
        (quick_run.out / "index.html").unlink()
        monkeypatch.setattr(runner, "run", None)
        assert main(["draw", *quick_run.arguments]) == 0
        assert (quick_run.out / "index.html").read_bytes() == before

    def test_a_second_run_fits_nothing(self, quick_run, capsys):
        assert main(["run", *quick_run.arguments, "--jobs", "1", "--data", "/nowhere"]) == 0
        assert "cells are there already" in capsys.readouterr().out

    @pytest.mark.parametrize(("quick", "name"), [([], "experiments"), (["--quick"], "experiments-quick")])
    def test_a_quick_one_does_not_take_the_place_of_another(self, quick, name, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert main(["draw", *quick]) == 0
        assert [path.parent.name for path in tmp_path.rglob("index.html")] == [name]

    def test_no_results_make_a_page_that_says_so(self, tmp_path):
        assert write_page(Results([]), tmp_path) == []
        assert "Nothing has been run yet" in (tmp_path / "index.html").read_text(encoding="utf-8")

    def test_failures_are_named_on_the_page(self, tmp_path):
        write_page(Results(made_up(error="MemoryError: <too much>")), tmp_path)
        assert "MemoryError: &lt;too much&gt;" in (tmp_path / "index.html").read_text(encoding="utf-8")

    def test_opens_in_a_browser(self, quick_run, tmp_path):
        shown = browse(quick_run.out / "index.html", tmp_path)
        assert Page(shown.stdout).tags["svg"] == 11
        assert "CONSOLE" not in shown.stderr


def test_no_jobs_at_all_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["run", "--jobs", "0"])
    assert "--jobs: at least 1, got 0" in capsys.readouterr().err


def test_without_data_the_message_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    suite = replace(quick(SUITES["aimpeak"]), splits=("0",), traced=(), converged={"SSGP": 3})
    monkeypatch.setattr(runner, "SUITES", {"aimpeak": suite})
    monkeypatch.setattr(runner, "_pool", ThreadPoolExecutor)
    assert runner.run(["aimpeak"], Store(tmp_path), None, n_jobs=1) == 1
    assert "authors' repository" in capsys.readouterr().err
