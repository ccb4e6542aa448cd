"""SSGP: its frequencies, and the competition of its starts."""

import numpy as np
import pytest

import ssgp.baselines.lbfgs
from helpers import cut_short, wavy
from ssgp import SSGPRegressor


class TestSSGP:
    @pytest.mark.slow
    def test_learned_frequencies_are_in_cycles(self):
        """A pure wave of frequency 0.7 is found."""
        X = np.linspace(0, 20, 400)[:, None]
        y = np.sin(2 * np.pi * 0.7 * X[:, 0]) + 0.01 * np.random.default_rng(0).normal(size=400)
        model = SSGPRegressor(5, n_restarts=20, random_state=0, lengthscale=0.3).fit(X, y)
        assert np.abs(np.abs(model.frequencies_) - 0.7).min() < 0.01

    @pytest.mark.slow
    def test_restarts_can_only_help_the_start(self):
        X, y, _ = wavy(300)
        one, many = (SSGPRegressor(5, n_restarts=k, max_iter=1, random_state=0).fit(X, y).bound_ for k in (1, 8))
        assert many > one

    def test_fixed_frequencies_stay_the_draw(self):
        X, y, _ = wavy(200)
        models = [SSGPRegressor(10, learn_frequencies=False, n_restarts=1, max_iter=k, random_state=0) for k in (1, 30)]
        first, last = (m.fit(X, y).frequencies_ * m.lengthscale_ for m in models)
        np.testing.assert_allclose(first, last, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("n_evaluations", [3, 40])
def test_an_interrupt_while_starts_compete_leaves_the_best_so_far(n_evaluations, monkeypatch):
    X, y, _ = wavy(150)
    whole, calls = ssgp.baselines.lbfgs.collapsed_bound, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) > n_evaluations:
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(ssgp.baselines.lbfgs, "collapsed_bound", interrupted)
    model = SSGPRegressor(10, n_restarts=4, random_state=0)
    with cut_short("interrupted after 0 of at most"):
        model.fit(X, y)
    assert model.score(X, y) > (0.9 if n_evaluations == 40 else 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("n_looks", [1, 20])
def test_a_monitor_ends_the_competition_of_starts(n_looks):
    X, y, _ = wavy(150)
    errors = []

    def monitor(n_iter, snapshot):
        assert n_iter == 0
        errors.append(snapshot().score(X, y))
        return len(errors) == n_looks

    model = SSGPRegressor(10, n_restarts=4, random_state=0).fit(X, y, monitor=monitor)
    assert len(errors) == n_looks
    assert model.n_iter_ == 0
    assert model.score(X, y) == pytest.approx(max(errors), abs=0.02)


@pytest.mark.slow
def test_a_start_that_is_the_best_there_is_counts():
    X = np.linspace(0, 6, 200)[:, None]
    for seed in range(3):
        model = SSGPRegressor(10, random_state=seed).fit(X, np.sin(X[:, 0]))
        np.testing.assert_allclose(model.predict(X), np.sin(X[:, 0]), atol=1e-3)
