"""Forests that get more rows, or begin where they ended: partial_fit and warm_start."""

import pickle
from typing import Any

import numpy as np
import pytest

from helpers import small_forest, wavy
from ssgp.metrics import rmse

pytestmark = pytest.mark.slow


class TestPartialFit:
    def halves(self):
        X, y, latent = wavy(900)
        return (X[:400], y[:400]), (X[400:600], y[400:600]), (X[600:], y[600:]), (X, latent)

    @pytest.mark.parametrize("settings", [{}, {"shrink": False, "n_sketches": 3}], ids=str)
    def test_two_calls_are_as_good_as_one(self, settings):
        first, second, third, (X, _) = self.halves()
        both = tuple(np.concatenate(parts) for parts in zip(second, third, strict=True))
        model = small_forest(keep_rows=True, **settings).fit(*first)
        other = pickle.loads(pickle.dumps(model))
        stepwise, together = model.partial_fit(*second).partial_fit(*third), other.partial_fit(*both)
        np.testing.assert_allclose(stepwise.predict_interval(X), together.predict_interval(X), atol=1e-6)

    def test_the_order_of_the_calls_hardly_matters(self):
        first, second, third, (X, _) = self.halves()
        model = small_forest(keep_rows=True).fit(*first)
        other = pickle.loads(pickle.dumps(model))
        one, two = model.partial_fit(*second).partial_fit(*third), other.partial_fit(*third).partial_fit(*second)
        np.testing.assert_allclose(one.predict(X), two.predict(X), atol=2e-3)

    def test_new_rows_are_learned(self):
        X, y, latent = wavy(1200)
        left = X[:, 0] < 0
        model = small_forest(leaf_size=40).partial_fit(X[left], y[left])
        before = rmse(latent[~left], model.predict(X[~left]))
        model.partial_fit(X[~left], y[~left])
        assert rmse(latent[~left], model.predict(X[~left])) < 0.3 * before
        assert rmse(latent[left], model.predict(X[left])) < 0.1

    @pytest.mark.filterwarnings("ignore:the forest is fitted to")
    @pytest.mark.parametrize("settings", [{}, {"shrink": False}], ids=str)
    @pytest.mark.parametrize(
        ("n", "leaf_size", "worst"), [(100, 25, 0.6), (400, 25, 0.4), (60, 60, 0.6), (30, 5, 0.9), (10, 5, 1.1)]
    )
    def test_a_table_may_grow_many_times(self, n, leaf_size, worst, settings):
        """Of deviation one and more: frequencies stay as the first rows had them."""
        X, y, latent = wavy(1500)
        model = small_forest(leaf_size=leaf_size, **settings).partial_fit(X[:n], y[:n])
        model.partial_fit(X[n:], y[n:])
        assert model.leaf_size_ * model.n_leaves_ == pytest.approx(1500)
        assert rmse(latent, model.predict(X)) < worst

    def test_a_coarse_level_goes_on_as_such(self):
        """Where the held-out rows prefer large leaves."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(800, 3))
        y = X @ [1.0, -2.0, 0.5] + 0.5 * rng.normal(size=800)
        model = small_forest(leaf_size=20, keep_rows=True).fit(X[:600], y[:600])
        assert model.n_leaves_ < 600 // 20
        model.partial_fit(X[600:], y[600:])
        assert rmse(y, model.predict(X)) < 0.65

    def test_a_weight_of_two_is_a_row_twice(self):
        first, second, _, (X, _) = self.halves()
        model = small_forest(keep_rows=True).fit(*first)
        other = pickle.loads(pickle.dumps(model))
        weighted = model.partial_fit(*second, np.full(200, 2.0))
        repeated = other.partial_fit(np.tile(second[0], (2, 1)), np.tile(second[1], 2))
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=2e-3)
        assert weighted.leaf_size_ == repeated.leaf_size_

    def test_units_leaves_and_calibration_stay(self):
        first, second, *_ = self.halves()
        model = small_forest(keep_rows=True).fit(*first)
        calibration, leaves, lengthscales = model.calibration_, model.n_leaves_, model.lengthscale_.copy()
        model.partial_fit(second[0] + 1.0, second[1])
        assert (model.calibration_, model.n_leaves_, model.n_iter_) == (calibration, leaves, 60)
        np.testing.assert_array_equal(model.lengthscale_, lengthscales)

    def test_steps_go_on(self):
        first, second, _, (X, latent) = self.halves()
        model = small_forest(keep_rows=True).fit(*first).partial_fit(*second, n_steps=20)
        assert model.n_iter_ == len(model.bound_trace_) == 80
        assert rmse(latent, model.predict(X)) < 0.15
        model.partial_fit(*second)
        assert model.n_iter_ == 80

    def test_callbacks_see_steps_and_the_end(self):
        pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")
        first, second, _, (X, _) = self.halves()
        ended = []

        class Recorder:
            def setup(self, estimator, context): ...

            def teardown(self, estimator, context): ...

            def on_fit_task_begin(self, estimator, context): ...

            def on_fit_task_end(self, estimator, context, *, fitted_estimator: Any = None):
                last = context.task_name != "step"
                ended.append(
                    (context.task_name, fitted_estimator.n_iter_, fitted_estimator.predict(X) if last else None)
                )

        model = small_forest(keep_rows=True, n_trees=2).fit(*first).set_callbacks(Recorder())
        model.partial_fit(*second, n_steps=3)
        assert [name == "step" for name, _, _ in ended] == [True, True, True, False]
        assert [n_iter for _, n_iter, _ in ended] == [61, 62, 63, 63]
        np.testing.assert_array_equal(ended[-1][2], model.predict(X))

    def test_verbose_ones_print_steps_and_trees(self, capsys):
        first, second, *_ = self.halves()
        model = small_forest(keep_rows=True, n_trees=2).fit(*first).set_params(verbose=1)
        model.partial_fit(*second, n_steps=3)
        out = capsys.readouterr().out
        assert "step 3/3" in out
        assert "tree 2/2" in out

    def test_needs_rows_that_were_kept(self):
        first, second, *_ = self.halves()
        model = small_forest(keep_rows=False).fit(*first)
        with pytest.raises(ValueError, match="keep_rows=True"):
            model.partial_fit(*second)

    def test_refuses_other_columns_and_leaves_the_model(self):
        first, second, _, (X, _) = self.halves()
        model = small_forest(keep_rows=True).fit(*first)
        before = model.predict(X)
        with pytest.raises(ValueError, match="2 features"):
            model.partial_fit(second[0][:, :1], second[1])
        with pytest.raises(ValueError, match="NaN"):
            model.partial_fit(second[0], np.full(200, np.nan))
        np.testing.assert_array_equal(model.predict(X), before)


class TestWarmStart:
    def test_goes_on_from_the_last_solution(self):
        X, y, _ = wavy(600)
        model = small_forest(warm_start=True, tol=None, max_iter=150).fit(X, y)
        start = model.bound_trace_[:10].mean()
        model.set_params(max_iter=30).fit(X, y)
        assert model.n_iter_ == len(model.bound_trace_) == 30
        assert model.bound_trace_[:10].mean() > start

    def test_refuses_another_number_of_inputs_or_frequencies(self):
        X, y, _ = wavy(300)
        model = small_forest(warm_start=True).fit(X, y)
        before = model.predict(X)
        with pytest.raises(ValueError, match=r"cannot go on from 8 frequencies of 2 inputs.* there are 1 inputs"):
            model.fit(X[:, :1], y)
        with pytest.raises(ValueError, match="n_frequencies=5"):
            model.set_params(n_frequencies=5).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), before)

    def test_without_it_every_fit_starts_anew(self):
        X, y, _ = wavy(100)
        model = small_forest().fit(X, y)
        before = model.predict(X)
        model.fit(X[:, :1], y)
        np.testing.assert_array_equal(model.fit(X, y).predict(X), before)
