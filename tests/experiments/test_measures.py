"""Clocks, memory and scores."""

from itertools import count
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.stats import lognorm, norm
from sklearn.dummy import DummyRegressor

import ssgp
from benchmarks.quantiles import Quantiles
from experiments import machine, measures
from experiments.measures import Clock, held_out_deviation, score, score_calibration, score_distribution, timed
from ssgp.distributions import NormalDistribution


class Skewed:
    """Says of each of 200 rows that its target is log-normal: a normal interval would cover far more than it should."""

    law: ClassVar[Any] = lognorm(2.0)

    def predict_distribution(self, X):
        return self

    def __len__(self):
        return 200

    def mean(self):
        return np.full(200, self.law.mean())

    def cdf(self, y):
        return self.law.cdf(y)

    def logpdf(self, y):
        return self.law.logpdf(y)


class TestScores:
    def test_are_by_the_intervals_of_the_distribution_not_by_normal_ones(self):
        law = Skewed.law
        y = law.ppf((np.arange(200) + 0.5) / 200)
        scores = score(Skewed(), y[:, None], y)
        assert scores["coverage"] == 0.95
        assert scores["mnlp"] == pytest.approx(-law.logpdf(y).mean())
        assert scores["rmse"] == pytest.approx(np.sqrt(np.mean((y - law.mean()) ** 2)))

    def test_of_predictions_without_a_density(self):
        predicted = Quantiles(np.array([0.025, 0.5, 0.975]), np.array([[-1.0, 0.0, 1.0]] * 4))
        scores = score_distribution(np.array([0.0, 1.0, 2.0, 5.0]), predicted)
        assert scores == {"rmse": 7.5**0.5, "mnlp": None, "coverage": 0.5}

    def test_of_calibrated_predictions(self):
        y = norm.ppf((np.arange(1000) + 0.5) / 1000)
        scores = score_calibration(y, NormalDistribution.of(np.zeros(1000), np.ones(1000)))
        assert [scores[f"coverage_{level}"] for level in (50, 80, 90, 95, 99)] == [0.5, 0.8, 0.9, 0.95, 0.99]
        assert scores["pit_distance"] == pytest.approx(0.5 / 1000)
        assert scores["crps"] == pytest.approx(1 / np.sqrt(np.pi), rel=1e-3)


class TestClock:
    @pytest.fixture(autouse=True)
    def ticking(self, monkeypatch):
        """A second passes whenever the time is read."""
        ticks = count()
        monkeypatch.setattr(measures, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))

    def test_stands_still_outside(self):
        with Clock() as clock:
            pass
        assert clock.seconds == clock.seconds == 1.0
        with clock:
            assert clock.seconds == 2.0
        assert clock.seconds == 3.0

    def test_stands_still_while_paused(self):
        with Clock() as clock:
            with clock.paused():
                measures.time.perf_counter()
            assert clock.seconds == 2.0

    def test_times_a_call(self):
        assert timed(lambda: "value") == ("value", 1.0)


def test_a_deviation_is_that_of_rows_the_model_has_not_seen(rng):
    X, y = rng.normal(size=(2000, 1)), rng.normal(size=2000)

    class Memory(DummyRegressor):
        """Knows every row it has seen, and predicts zero for others."""

        def fit(self, X, y):
            self.seen = {x: value for (x,), value in zip(X.tolist(), y.tolist(), strict=True)}
            return self

        def predict(self, X):
            return np.array([self.seen.get(x, 0.0) for (x,) in X.tolist()])

    assert held_out_deviation(Memory, X, y) == pytest.approx(1.0, abs=0.2)


class TestMachine:
    @pytest.mark.slow
    def test_peak_memory_grows_with_what_is_held(self):
        before = machine.peak_memory()
        held = np.ones(30_000_000)
        assert machine.peak_memory() >= max(before, held.nbytes / 1e9)

    def test_packages_that_are_not_installed_have_no_version(self, monkeypatch):
        monkeypatch.setattr(machine, "PACKAGES", ("ssgp", "of-nobody"))
        assert machine.versions().startswith(f"ssgp {ssgp.__version__}, of-nobody (not installed)")

    def test_versions_of_peers_are_told_where_they_were_imported(self, monkeypatch):
        monkeypatch.setattr(machine, "PEERS", ("pytest", "no-such-package"))
        assert machine.versions().endswith(f"pytest {pytest.__version__}")
