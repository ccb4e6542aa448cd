"""Forests cut short, by Ctrl-C or by a time limit."""

import signal

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from helpers import cut_short, small_forest, wavy
from ssgp import SpectralForestRegressor
from ssgp.forest import machines
from ssgp.forest.fitted import Forest
from ssgp.forest.nodes import fit_tree
from ssgp.metrics import rmse

pytestmark = pytest.mark.slow


class TestInterrupts:
    def stop_at(self, monkeypatch, n_iter, what):
        """Do something after a step of learning."""

        def after_step(self, done, bound):
            return bool(what()) if done == n_iter else False

        monkeypatch.setattr("ssgp._utils.progress.StepHooks.after_step", after_step)

    def interrupt_trees(self, monkeypatch, *calls):
        """Press Ctrl-C while these trees are fitted (counted from one), each of them alone."""
        count = [0]
        monkeypatch.setattr("ssgp.forest.tree_fitter.FITTED_TOGETHER", 0)

        def interrupted(*arguments):
            count[0] += 1
            if count[0] in calls:
                raise KeyboardInterrupt
            return fit_tree(*arguments)

        monkeypatch.setattr("ssgp.forest.machines.fit_tree", interrupted)

    def test_ctrl_c_leaves_the_model_of_the_last_step(self, monkeypatch):
        X, y, _ = wavy(400)

        def press():
            raise KeyboardInterrupt

        self.stop_at(monkeypatch, 25, press)
        with cut_short("interrupted after 25 of at most 60 steps"):
            (model := small_forest()).fit(X, y)
        assert model.n_iter_ == len(model.bound_trace_) == 25
        self.stop_at(monkeypatch, 25, lambda: True)
        np.testing.assert_array_equal(model.predict(X), small_forest().fit(X, y).predict(X))

    def test_a_real_sigint_does(self, monkeypatch):
        X, y, _ = wavy(400)
        self.stop_at(monkeypatch, 25, lambda: signal.raise_signal(signal.SIGINT))
        with cut_short("learning was interrupted"):
            (model := small_forest()).fit(X, y)
        assert model.n_iter_ < 60
        assert np.isfinite(model.predict(X)).all()

    @pytest.mark.parametrize("call", [1, 2, 17, 33])
    @pytest.mark.parametrize("settings", [{}, {"shrink": False}], ids=str)
    def test_ctrl_c_while_trees_are_fitted(self, call, settings, monkeypatch):
        """Ten folds of three trees and three for good: the first, another, one in a later fold, the last."""
        X, y, latent = wavy(400)
        self.interrupt_trees(monkeypatch, call)
        with cut_short(r"interrupted after \d of 3 trees"):
            (model := small_forest(**settings)).fit(X, y)
        assert 1 <= model.n_trees_ < 3
        assert rmse(latent, model.predict(X)) < 0.2
        assert np.isfinite(model.predict_interval(X)).all()

    @pytest.mark.parametrize("call", [1, 2])
    def test_ctrl_c_while_trees_are_fitted_together(self, call, monkeypatch):
        """In the first fold, of which one tree is then fitted alone, and in the second."""
        X, y, latent = wavy(400)
        usual, calls = machines.fit_trees, []

        def interrupted(*arguments):
            calls.append(arguments)
            if len(calls) == call:
                raise KeyboardInterrupt
            return usual(*arguments)

        monkeypatch.setattr(machines, "fit_trees", interrupted)
        with cut_short("interrupted after 0 of . trees; the forest is made of one"):
            (model := small_forest()).fit(X, y)
        assert model.n_trees_ == 1
        assert rmse(latent, model.predict(X)) < 0.3

    def test_folds_of_fewer_trees_calibrate_all_the_same(self, monkeypatch):
        """Ctrl-C in one fold leaves it fewer trees than those before had."""
        X, y, _ = wavy(400)
        self.interrupt_trees(monkeypatch, 8)
        with cut_short("interrupted after 1 of 3 trees"):
            (model := small_forest()).fit(X, y)
        # The mean of few trees, on rows that calibrated it when they were held out: a few percent of coverage.
        low, high = model.predict_interval(X, 0.9).T
        assert np.mean((low <= y) & (y <= high)) == pytest.approx(0.92, abs=0.06)

    @pytest.mark.parametrize(
        ("learned", "message"),
        [("choose_level", "largest"), ("learn_correction", "does without"), ("learn_calibration", "not calibrated")],
    )
    def test_ctrl_c_while_held_out_rows_are_used(self, learned, message, monkeypatch):
        X, y, latent = wavy(400)

        def interrupted(*arguments):
            raise KeyboardInterrupt

        monkeypatch.setattr(f"ssgp.forest.builder.{learned}", interrupted)
        with cut_short(f"interrupted while .* {message}"):
            (model := small_forest(correct=True)).fit(X, y)
        assert rmse(latent, model.predict(X)) < 0.2
        assert np.isfinite(model.predict_interval(X)).all()

    @pytest.mark.parametrize("n_pressed", [1, 2])
    def test_ctrl_c_between_folds(self, n_pressed, monkeypatch):
        X, y, latent = wavy(400)
        components, calls = Forest.all_components, []

        def interrupted(self, *arguments):
            calls.append(1)
            if len(calls) in range(5, 5 + n_pressed):
                raise KeyboardInterrupt
            return components(self, *arguments)

        monkeypatch.setattr(Forest, "all_components", interrupted)
        model = small_forest()
        with cut_short("the trees that stand are still chosen"):
            model.fit(X, y)
        assert hasattr(model, "posterior_") == (n_pressed == 1)
        if n_pressed == 1:
            assert rmse(latent, model.predict(X)) < 0.2

    def test_ctrl_c_while_the_kernel_is_chosen(self, monkeypatch):
        X, y, _ = wavy(400)

        def interrupted(self):
            raise KeyboardInterrupt

        monkeypatch.setattr("ssgp.spectrum.trainer.Trainer.probe", interrupted)
        with cut_short("interrupted while the kernel was chosen"):
            (model := small_forest(kernel="auto", tol=None)).fit(X, y)
        assert model.kernel_ == "squared-exponential"

    def test_ctrl_c_while_rows_are_added(self, monkeypatch):
        X, y, latent = wavy(600)
        model = small_forest(keep_rows=True, leaf_size=400).fit(X[:400], y[:400])
        self.interrupt_trees(monkeypatch, 2)
        with cut_short("interrupted after 1 of 3 trees"):
            model.partial_fit(X[400:], y[400:])
        assert model.n_trees_ == len(model._fitted.forest.trees) == 1
        assert rmse(latent, model.predict(X)) < 0.5

    def test_a_second_one_is_obeyed(self, monkeypatch):
        X, y, _ = wavy(400)
        self.interrupt_trees(monkeypatch, 1, 2)
        model = small_forest()
        with cut_short("Interrupt again to give up"):
            model.fit(X, y)
        assert not hasattr(model, "posterior_")
        assert not hasattr(model, "n_features_in_")

    def test_a_search_stops_too(self, monkeypatch):
        """Ctrl-C in its second fit, of six: no third one begins."""
        X, y, _ = wavy(200)
        fits, usual = [], SpectralForestRegressor.fit

        def counted(self, *arguments, **settings):
            fits.append(self)
            if len(fits) == 2:
                TestInterrupts().stop_at(monkeypatch, 5, lambda: signal.raise_signal(signal.SIGINT))
            return usual(self, *arguments, **settings)

        monkeypatch.setattr(SpectralForestRegressor, "fit", counted)
        search = GridSearchCV(small_forest(max_iter=10), {"n_frequencies": [4, 8]}, cv=3)
        with cut_short("learning was interrupted"):
            search.fit(X, y)
        assert len(fits) == 2
        assert np.isfinite(fits[1].predict(X)).all()
