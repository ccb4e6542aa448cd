"""Fits of the evaluation on a small table."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from evaluation import SMALL, small_table
from experiments import measures, methods
from experiments.fits import evaluation, run_cell
from experiments.methods import METHODS
from experiments.protocols import BlockLabels
from experiments.suites import GAMMAS, TRACED_GAMMAS, Fit, cells
from experiments.tables import chosen_rows, split_rows
from helpers import wavy
from ssgp import ExactGPRegressor, PICRegressor, SpectralForestRegressor, SVBSSGPRegressor, VSSGPRegressor
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
        start = [0] if method == "sVBSSGP" else []
        assert list(traced) == [*start, *(t for t in suite.iterations if t)]
        traced = {iteration: steps for iteration, steps in traced.items() if iteration}

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

    def test_iteration_zero_is_before_the_first_step(self):
        rows = run_cell(SMALL, Fit("aimpeak", "0", "sVBSSGP", "trace", 3), None)
        (start,) = [row for row in rows if row["iteration"] == 0 and row["gamma"] == 0.0]
        model, data = fitted(1)
        before = model.set_params(learning_rate=1e-9, learn_hyperparameters=False).fit(data.X_train, data.y_train)
        assert start["rmse"] == pytest.approx(rmse(data.y_test, before.predict(data.X_test)), rel=1e-5)
        assert (start["steps"], start["train_s"]) == (0, 0.0)

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


class TestProtocols:
    """Blocks that the suite makes."""

    suite = replace(SMALL, blocks=lambda table, test, n_blocks, seed: BlockLabels(*label(table.y, test)), widths=True)

    def test_test_rows_are_predicted_by_the_block_they_are_given(self):
        (row,) = run_cell(self.suite, Fit("aimpeak", "0", "PIC+", "trace", 1), None)[-1:]
        data = split_rows(small_table(), "0")
        table, test = chosen_rows(small_table(), "0")
        blocks = BlockLabels(*label(table.y, test))
        model = PICRegressor(30, max_iter=row["steps"], random_state=0)
        model.fit(data.X_train, data.y_train, blocks=blocks.train)
        assert row["rmse"] == pytest.approx(rmse(data.y_test, model.predict(data.X_test, blocks=blocks.test)), rel=1e-6)
        assert row["block_mean"] < 0.5 * data.y_test.std()

    def test_methods_without_blocks_are_left_alone(self):
        (row,) = run_cell(self.suite, Fit("aimpeak", "0", "VSSGP", "converged", 1), None)
        assert "block_mean" not in row

    @pytest.mark.parametrize("kind", ["trace", "converged"])
    def test_the_updates_are_followed(self, kind):
        rows = run_cell(self.suite, Fit("aimpeak", "0", "update rule", kind, 3), None)
        gammas = TRACED_GAMMAS if kind == "trace" else GAMMAS
        assert {row["gamma"] for row in rows} == set(gammas)
        assert {row["iteration"] for row in rows} == (set(SMALL.rule_iterations) if kind == "trace" else {-1})

    @pytest.mark.slow
    def test_draws_are_averaged_at_several_widths(self):
        rows = run_cell(self.suite, Fit("aimpeak", "0", "sVBSSGP", "widths", 3), None)
        assert {row["averaged"] for row in rows} == {1, 2}
        width = {row["iteration"]: row["width"] for row in rows}
        assert width[0] == 1.0
        assert width[-1] < width[30] < 0.5
        prior = {row["averaged"]: row["rmse"] for row in rows if row["iteration"] == 0}
        assert prior[2] < prior[1]

    def test_without_blocks_there_is_nothing_to_follow(self):
        for method, kind in (("update rule", "trace"), ("sVBSSGP", "widths")):
            with pytest.raises(ValueError, match="need the blocks of a protocol"):
                run_cell(SMALL, Fit("aimpeak", "0", method, kind, 3), None)


def label(y, test):
    """Blocks of rows with similar targets."""
    labels = np.searchsorted(np.quantile(y, np.linspace(0, 1, 9)[1:-1]), y)
    return labels[~test], labels[test]


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
