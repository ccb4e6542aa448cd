"""Scores of many rows: costly ones from some of them, in threads."""

import numpy as np
import pytest

from ssgp import SpectralForestRegressor
from ssgp.cli.predictor import Predictor
from ssgp.cli.scores import DETAILED_ROWS, Judge, Scores
from ssgp.distribution_regressor import AT_ONCE

N_ROWS = 2 * AT_ONCE + 100


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(N_ROWS, 2))
    return X, np.sin(X[:, 0]) + 0.1 * (1 + X[:, 1] ** 2) * rng.standard_t(5, size=N_ROWS)


@pytest.fixture(scope="module")
def model(rows) -> SpectralForestRegressor:
    X, y = rows
    return SpectralForestRegressor(n_trees=3, max_iter=20, random_state=0).fit(X[:2000], y[:2000])


def judged(model, rows, judge, batch):
    X, y = rows
    scores = Scores(0.0)
    for start in range(0, len(y), batch):
        part = slice(start, start + batch)
        scores.add(y[part], judge(Predictor(None, model, {}), X[part], y[part], scores.n_rows))
    return scores.summary()


def test_some_rows_stand_for_all(model, rows):
    everything = judged(model, rows, Judge(N_ROWS), 10_000)
    some = judged(model, rows, Judge(40 * DETAILED_ROWS), 10_000)
    assert some["rmse"] == everything["rmse"]
    assert some["crps"] != everything["crps"]
    assert some["crps"] == pytest.approx(everything["crps"], rel=0.15)
    widths = [[own["mean_width"] for own in found["intervals"]] for found in (some, everything)]
    np.testing.assert_allclose(*widths, rtol=0.1)


def test_a_small_batch_of_a_large_table_counts(model, rows):
    X, y = rows
    found = Judge(10**9)(Predictor(None, model, {}), X[:3], y[:3], 12345)
    assert len(found.crps) == 1
    assert np.isfinite(found.crps).all()


def test_crps_agrees_with_its_integral(model, rows):
    X, y = rows
    some, grid = slice(0, 400), np.linspace(-15, 15, 3001)
    mixture, _ = next(model._distributions(X[some]))
    cdf = np.stack([mixture.cdf(np.full(400, at)) for at in grid], axis=1)
    beyond = (cdf - (grid >= y[some, None])) ** 2
    expected = np.sum(0.5 * (beyond[:, 1:] + beyond[:, :-1]) * np.diff(grid), axis=1).mean()
    found = Judge(400)(Predictor(None, model, {}), X[some], y[some]).crps.mean()
    assert found == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("ask", ["predict_quantiles", "predict_interval"])
def test_quantiles_do_not_depend_on_threads(model, rows, ask):
    found = [getattr(model.set_params(n_jobs=jobs), ask)(rows[0]) for jobs in (1, 2)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("ask", ["log_prob", "cdf"])
def test_probabilities_do_not_depend_on_threads(model, rows, ask):
    found = [getattr(model.set_params(n_jobs=jobs), ask)(*rows) for jobs in (1, 2)]
    np.testing.assert_array_equal(*found)
