"""Scores of many rows: costly ones from some of them."""

import numpy as np
import pytest

from ssgp import SpectralForestRegressor
from ssgp.cli.predictor import Predictor
from ssgp.cli.scores import DETAILED_ROWS, RowScorer, Scores, score_rows
from ssgp.distributions.normal import NormalDistribution
from ssgp.distributions.regressor import ROWS_PER_TASK

pytestmark = pytest.mark.slow

N_ROWS = 2 * ROWS_PER_TASK + 100


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(N_ROWS, 2))
    return X, np.sin(X[:, 0]) + 0.1 * (1 + X[:, 1] ** 2) * rng.standard_t(5, size=N_ROWS)


@pytest.fixture(scope="module")
def model(rows) -> SpectralForestRegressor:
    X, y = rows
    return SpectralForestRegressor(n_trees=3, max_iter=20, random_state=0).fit(X[:2000], y[:2000])


def summary(model, rows, scorer, batch):
    X, y = rows
    scores = Scores(0.0)
    for start in range(0, len(y), batch):
        part = slice(start, start + batch)
        scores.add(y[part], scorer(Predictor(model, {}), X[part], y[part]))
    return scores.summary()


def score_normal(y, mean, std):
    return score_rows(NormalDistribution(mean, std), y, np.arange(len(y)))


def test_some_rows_stand_for_all(model, rows):
    everything = summary(model, rows, RowScorer(N_ROWS), 10_000)
    sampled = summary(model, rows, RowScorer(40 * DETAILED_ROWS), 10_000)
    assert sampled["rmse"] == everything["rmse"]
    assert sampled["crps"] != everything["crps"]
    assert sampled["crps"] == pytest.approx(everything["crps"], rel=0.15)
    widths = [[interval["mean_width"] for interval in found["intervals"]] for found in (sampled, everything)]
    np.testing.assert_allclose(*widths, rtol=0.1)


def test_a_small_batch_of_a_large_table_counts(model, rows):
    X, y = rows
    found = RowScorer(10**9)(Predictor(model, {}), X[:3], y[:3])
    assert len(found.crps) == 1
    assert np.isfinite(found.crps).all()


def test_it_is_told_which_rows_were_looked_at_in_detail(model, rows):
    X, y = rows
    found = RowScorer(400 * DETAILED_ROWS)(Predictor(model, {}), X, y)
    assert found.detailed.max() > 2 * ROWS_PER_TASK
    low, high = model.predict_interval(X[found.detailed], coverage=0.9).T
    np.testing.assert_allclose(found.width[:, 1], high - low, rtol=1e-6)


def test_a_weight_counts_as_so_many_rows():
    rng = np.random.default_rng(0)
    y, mean, std, times = rng.normal(size=90), rng.normal(size=90), rng.uniform(0.5, 2, 90), rng.integers(1, 5, 90)
    weighted, repeated = Scores(0.3), Scores(0.3)
    for part in (slice(0, 40), slice(40, 90)):
        scores = score_normal(y[part], mean[part], std[part])
        weighted.add(y[part], scores, times[part].astype(float))
    again = [np.repeat(values, times) for values in (y, mean, std)]
    repeated.add(again[0], score_normal(*again))
    found, expected = weighted.summary(), repeated.summary()
    for name in ("rmse", "mae", "r2", "mnlp", "crps"):
        assert found[name] == pytest.approx(expected[name])
    for interval, other in zip(found["intervals"], expected["intervals"], strict=True):
        assert interval == pytest.approx(other)
    assert found["pit"]["shares_of_tenths"] == pytest.approx(expected["pit"]["shares_of_tenths"])
    assert found["pit"]["distance_from_uniform"] == pytest.approx(expected["pit"]["distance_from_uniform"])
    assert weighted.target_mean == pytest.approx(repeated.target_mean)
    assert weighted.n_rows == 90


def test_some_rows_stand_for_all_by_their_weights(model, rows):
    X, y = rows
    weight = np.random.default_rng(0).uniform(0.1, 5, len(y))
    row_scores = RowScorer(40 * DETAILED_ROWS)(Predictor(model, {}), X, y)
    scores = Scores(0.0)
    scores.add(y, row_scores, weight)
    found = scores.summary()
    assert found["crps"] == pytest.approx(np.average(row_scores.crps, weights=weight[row_scores.detailed]))
    widths = [interval["mean_width"] for interval in found["intervals"]]
    np.testing.assert_allclose(widths, np.average(row_scores.width, axis=0, weights=weight[row_scores.detailed]))


def test_one_of_twenty_honest_models_is_further_from_uniform_whatever_the_weights():
    rng = np.random.default_rng(0)
    weight = np.tile([1.0, 9.0], 1000)
    further = 0
    for _ in range(400):
        scores, y = Scores(0.0), rng.normal(size=2000)
        scores.add(y, score_normal(y, np.zeros(2000), np.ones(2000)), weight)
        found = scores.summary()["pit"]
        further += found["distance_from_uniform"] > found["distance_by_chance"]
    assert 0.02 < further / 400 < 0.08


def test_crps_agrees_with_its_integral(model, rows):
    X, y = rows
    rows_used, grid = slice(0, 400), np.linspace(-15, 15, 3001)
    mixture = model.predict_distribution(X[rows_used])
    cdf = np.stack([mixture.cdf(np.full(400, at)) for at in grid], axis=1)
    beyond = (cdf - (grid >= y[rows_used, None])) ** 2
    expected = np.sum(0.5 * (beyond[:, 1:] + beyond[:, :-1]) * np.diff(grid), axis=1).mean()
    found = RowScorer(400)(Predictor(model, {}), X[rows_used], y[rows_used]).crps.mean()
    assert found == pytest.approx(expected, rel=1e-3)
