"""Starts from which nothing is learned."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from helpers import quick
from ssgp.spectrum.learner import Learner

FAR_TOO_SHORT = 0.03 * 0.5 * np.sqrt(6.0)


@pytest.fixture(scope="module")
def table():
    """Inputs, two waves along two of the six, and a target with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6))
    wave = np.sin(X[:, 0]) + np.cos(X[:, 1])
    return X, wave, wave + 0.3 * rng.normal(size=2000)


def error(model, table):
    """RMSE relative to that of the best constant."""
    X, wave, _ = table
    return np.sqrt(np.mean((model.predict(X) - wave) ** 2)) / np.std(wave)


def test_a_start_that_is_far_too_short_is_given_up_for_the_automatic_one(table):
    X, _, y = table
    model = quick(lengthscale=FAR_TOO_SHORT, max_iter=1500)
    with pytest.warns(ConvergenceWarning, match="nothing was learned in 500 steps from the lengthscale given"):
        model.fit(X, y)
    assert error(model, table) < 0.1
    assert model.n_iter_ == len(model.bound_trace_) == 1500


def test_a_good_start_is_kept(table):
    X, _, y = table
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = quick(lengthscale=1.5, max_iter=900).fit(X, y)
    assert error(model, table) < 0.1


def test_a_good_start_that_converges_with_the_trial_s_last_step_is_kept(table, monkeypatch):
    X, _, y = table
    usual = Learner.learn

    def learn(self, parameters, rows, blocking, optimizers, rng, after_step):
        bounds = []

        def converged(bound):
            bounds.append(bound)
            return after_step(bound) or len(bounds) == 300

        usual(self, parameters, rows, blocking, optimizers, rng, converged)

    monkeypatch.setattr(Learner, "learn", learn)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = quick(lengthscale=1.5, max_iter=900).fit(X, y)
    assert model.n_iter_ == 300


def test_monitors_count_the_steps_of_both_starts_as_one_run(table):
    X, _, y = table
    counted = []
    with pytest.warns(ConvergenceWarning, match="nothing was learned"):
        quick(lengthscale=FAR_TOO_SHORT, max_iter=1200).fit(X, y, monitor=lambda t, snapshot: counted.append(t))
    assert counted == list(range(1, 1201))


def test_a_monitor_that_stops_at_the_end_of_the_trial_stops(table):
    X, _, y = table
    model = quick(lengthscale=FAR_TOO_SHORT, max_iter=1200).fit(X, y, monitor=lambda t, snapshot: t == 400)
    assert model.n_iter_ == 400


def test_a_model_that_ends_as_a_constant_says_so(table, rng):
    X, _, y = table
    with pytest.warns(ConvergenceWarning, match="the model predicts a constant"):
        quick(lengthscale=FAR_TOO_SHORT, max_iter=900).fit(X, y)
    with pytest.warns(ConvergenceWarning) as told:
        quick(lengthscale=1.0, max_iter=1500).fit(X, rng.normal(size=len(X)))
    assert "the model predicts a constant" in str(told[-1].message)


def test_fixed_and_automatic_lengthscales_have_one_start(table):
    X, _, y = table
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fixed = quick(lengthscale=FAR_TOO_SHORT, learn_hyperparameters=False, max_iter=300).fit(X, y)
        quick(max_iter=300).fit(X, y)
    np.testing.assert_allclose(fixed.lengthscale_, FAR_TOO_SHORT, rtol=1e-5)
