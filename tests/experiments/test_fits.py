"""Fits of the evaluation on a small table."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from evaluation import SMALL, small_table
from experiments import measures, methods
from experiments.fits import evaluation, run_cell
from experiments.methods import METHODS
from experiments.suites import Fit, cells
from experiments.tables import split_rows
from helpers import wavy
from ssgp import ExactGPRegressor, SpectralForestRegressor, SVBSSGPRegressor, VSSGPRegressor
from ssgp.metrics import coverage, log_score, rmse
from ssgp.rows.blocks import Rows


def fitted(steps):
    """The regressor that a traced run of sVBSSGP ends with, and its data."""
    data = split_rows(small_table(), "0")
    model = SVBSSGPRegressor(8, n_blocks=20, partition="tree", n_draws=3, max_iter=steps, tol=None, random_state=0)
    return model.fit(data.X_train, data.y_train), data


class Interrupted(VSSGPRegressor):
    """A regressor that is interrupted in its third step."""

    def fit(self, X, y, *, monitor=None, **rest):
        def interrupt(n_steps, snapshot):
            if n_steps == 3:
                raise KeyboardInterrupt
            if monitor is not None:
                monitor(n_steps, snapshot)

        return super().fit(X, y, monitor=interrupt, **rest)


class TestTraces:
    @pytest.mark.slow
    @pytest.mark.parametrize("method", SMALL.traced)
    def test_an_iteration_is_as_many_rows_for_every_method(self, method, monkeypatch):
        suite, cell = replace(SMALL, rows_per_iteration=1600), Fit("aimpeak", "0", method, "trace", 1)
        traced = {row["iteration"]: row["steps"] for row in run_cell(suite, cell, None)}
        assert list(traced) == list(suite.iterations)

        given, rows_of_step, block = [], [], Rows.block
        monkeypatch.setattr(Rows, "block", lambda rows, k: given.append(len(block(rows, k).y)) or block(rows, k))

        def count(n_steps, snapshot):
            rows_of_step.append(sum(given))
            given.clear()

        data = split_rows(small_table(), "0")
        METHODS[method].make(suite, cell, max(traced.values()), 0).fit(data.X_train, data.y_train, monitor=count)
        seen = np.cumsum(rows_of_step)
        for iteration, steps in traced.items():
            assert seen[steps - 1] == pytest.approx(1600 * iteration, abs=0.51 * max(rows_of_step))

    def test_iterations_shorter_than_a_step_share_it(self):
        suite = replace(SMALL, rows_per_iteration=300)
        rows = run_cell(suite, Fit("aimpeak", "0", "VSSGP", "trace", 1), None)
        assert [(row["iteration"], row["steps"]) for row in rows] == [(1, 1), (2, 1), (4, 2)]

    def test_the_last_errors_are_those_of_the_model_that_fit_would_leave(self):
        rows = run_cell(SMALL, Fit("aimpeak", "0", "sVBSSGP", "trace", 3), None)
        (last,) = [row for row in rows if row["iteration"] == 4 and row["gamma"] == 0.1]
        model, data = fitted(last["steps"])
        predicted = model.predict_distribution(data.X_test, gamma=0.1)
        assert last["rmse"] == pytest.approx(rmse(data.y_test, predicted.mean()), rel=1e-6)
        assert last["mnlp"] == pytest.approx(log_score(data.y_test, predicted), rel=1e-6)
        assert last["coverage"] == coverage(data.y_test, predicted)

    def test_time_grows_and_excludes_the_predictions(self, monkeypatch):
        ticks = iter(range(10_000))
        monkeypatch.setattr(measures, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
        rows = run_cell(SMALL, Fit("aimpeak", "0", "VSSGP", "trace", 1), None)
        # The clock is read once at the start, twice around each prediction and once after it, which costs one tick.
        assert [row["train_s"] for row in rows] == [2.0, 4.0, 6.0]

    def test_methods_without_steps_are_refused(self):
        with pytest.raises(ValueError, match="SSGP takes no steps that can be traced"):
            run_cell(SMALL, Fit("aimpeak", "0", "SSGP", "trace", 1), None)


class TestConvergence:
    @pytest.mark.slow
    @pytest.mark.parametrize(("most", "converged"), [(6000, True), (40, False)])
    def test_a_run_says_whether_it_stopped_by_itself(self, most, converged, monkeypatch):
        monkeypatch.setattr(methods, "MOST_STEPS", most)
        suite = replace(SMALL, converged={"sVBSSGP": 0})
        row, *_ = run_cell(suite, Fit("aimpeak", "0", "sVBSSGP", "converged", 3), None)
        assert row["converged"] is converged
        assert (row["steps"] < most) is converged

    @pytest.mark.parametrize(("attributes", "missing"), [({"max_iter": 3}, "n_iter_"), ({"n_iter_": 2}, "max_iter")])
    def test_a_run_that_does_not_say_how_long_it_was_has_not_converged(self, attributes, missing, monkeypatch):
        constant = SimpleNamespace(fit=lambda X, y: None, **attributes)
        method = replace(METHODS["SSGP"], make=lambda *about: constant)
        monkeypatch.setitem(METHODS, "SSGP", method)
        with pytest.raises(AttributeError, match=missing):
            run_cell(SMALL, Fit("aimpeak", "0", "SSGP", "converged", 1), None)

    def test_runs_of_a_given_length_do_not_stop_by_themselves(self):
        (row,) = run_cell(SMALL, Fit("aimpeak", "0", "VSSGP", "converged", 1), None)
        assert (row["steps"], row["converged"]) == (40, False)

    @pytest.mark.slow
    def test_the_forest_of_the_suites_takes_as_many_steps_as_the_default_one(self):
        X, y, _ = wavy(60)
        few = {"n_trees": 1, "n_frequencies": 2, "correct": False, "n_jobs": 1, "random_state": 0}
        default = SpectralForestRegressor(tol=None, **few).fit(X, y)
        assert METHODS["spectral forest"].make(SMALL, cells(SMALL)[0], 0, 0).max_iter == default.n_iter_

    def test_convergence_is_seen_for_all_test_conditionals(self):
        rows = run_cell(SMALL, Fit("aimpeak", "0", "sVBSSGP", "converged", 3), None)
        assert [row["gamma"] for row in rows] == pytest.approx(np.linspace(-1, 1, 21))

    def test_the_exact_gp_learns_from_a_part_of_the_rows(self, monkeypatch):
        numbers = []

        class Counting(ExactGPRegressor):
            def fit(self, X, y, *rest):
                numbers.append(len(y))
                return super().fit(X, y, *rest)

        method = replace(METHODS["exact GP, some rows"], make=lambda *about: Counting(random_state=0))
        monkeypatch.setitem(METHODS, "exact GP, some rows", method)
        suite = replace(SMALL, exact_rows=30)
        (row,) = run_cell(suite, Fit("aimpeak", "0", "exact GP, some rows", "converged", 1), None)
        assert numbers == [30]
        assert (row["steps"], row["converged"]) == (0, True)


@pytest.mark.filterwarnings("ignore:learning was interrupted")
@pytest.mark.parametrize("kind", ["trace", "converged"])
def test_learning_that_is_interrupted_has_no_rows(kind, monkeypatch):
    def make(suite, cell, steps, seed):
        return Interrupted(2 * suite.n_frequencies, batch_size=1000, max_iter=steps, random_state=seed)

    monkeypatch.setitem(METHODS, "VSSGP", replace(METHODS["VSSGP"], make=make))
    with pytest.raises(KeyboardInterrupt):
        run_cell(SMALL, Fit("aimpeak", "0", "VSSGP", kind, 1), None)


def test_rows_say_what_they_were_learned_from():
    tiny = replace(SMALL, splits=("3",), traced=(), draws=(), converged={"SSGP": 3})
    study = evaluation([tiny], None)
    (row,) = study.measure(study.cells[0])
    assert (row["n_train"] + row["n_test"], row["seed"]) == (800, 3)
    assert row["train_s"] > 0
