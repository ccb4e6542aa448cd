"""Noise of rows of rare kinds, which share their leaves with others."""

import numpy as np
import pandas as pd
import pytest

import ssgp
from devices import CARD
from ssgp.forest.calibration import Components
from ssgp.forest.correction import Residuals
from ssgp.forest.minority_noise import MinorityNoise, fit_minority_noise

SEVERAL = MinorityNoise(np.array([0, 2]), np.array([0.5, -0.5]), np.array([1, -1]), np.array([0.7, -0.2]), 3)


def residuals(rng, factor, share=0.05, n=6000, weight=None):
    """Errors of deviation `factor` where the second input is one, one elsewhere; the third is rare as well."""
    X = np.column_stack([rng.normal(size=n), rng.random(n) < share, rng.random(n) > share]).astype(np.float32)
    error = np.where(X[:, 1] == 1, factor, 1.0) * rng.normal(size=n)
    return Residuals(X, error, np.zeros(n), np.ones(n), weight)


def test_rows_that_are_of_several_rare_kinds_have_all_factors():
    X = np.array([[0.0, 9.0, 0.0], [1.0, 9.0, 0.0], [0.0, 9.0, -1.0], [1.0, 9.0, -1.0]])
    np.testing.assert_allclose(SEVERAL(X), [0.0, 0.7, -0.2, 0.5])


@pytest.mark.parametrize("factor", [0.4, 3.0])
def test_a_rare_kind_whose_errors_are_of_another_size_is_found(factor, rng):
    noise = fit_minority_noise([residuals(rng, factor), residuals(rng, factor)])
    assert noise is not None
    assert noise.inputs.tolist() == [1]
    assert noise.side.tolist() == [1]
    assert np.exp(noise.log_factor[0]) == pytest.approx(factor, rel=0.15)
    rare, other = noise(np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]))
    assert (rare, other) == (noise.log_factor[0], 0.0)


def test_rare_values_may_be_the_lower_ones(rng):
    rows = residuals(rng, 1.0)
    error = np.where(rows.X[:, 2] == 0, 2.5, 1.0) * rows.error
    noise = fit_minority_noise([Residuals(rows.X, error, rows.mean, rows.deviation, None)])
    assert noise is not None
    assert (noise.inputs.tolist(), noise.side.tolist()) == ([2], [-1])
    assert np.exp(noise.log_factor[0]) == pytest.approx(2.5, rel=0.2)


@pytest.mark.parametrize(
    ("factor", "share"), [(1.0, 0.05), (3.0, 0.5), (3.0, 0.001)], ids=["alike", "not rare", "too few"]
)
def test_nothing_is_made_of_chance(factor, share, rng):
    assert fit_minority_noise([residuals(rng, factor, share)]) is None


@pytest.mark.parametrize("error", [0.0, 1e9], ids=["none", "huge"])
def test_errors_that_are_all_of_one_size_tell_nothing(error, rng):
    rows = residuals(rng, 1.0)
    twice = np.column_stack([rows.X, rows.X[:, 1]])
    error = np.full(len(twice), error)
    assert fit_minority_noise([Residuals(twice, error, rows.mean, rows.deviation, None)]) is None


def test_rows_of_little_weight_tell_little(rng):
    rows = residuals(rng, 3.0)
    weight = np.where(rows.X[:, 1] == 1, 1e-6, 1.0).astype(np.float32)
    assert fit_minority_noise([Residuals(rows.X, rows.error, rows.mean, rows.deviation, weight)]) is None


def test_components_are_rescaled(rng):
    components = Components(*rng.uniform(1.0, 2.0, size=(4, 3, 5)))
    rescaled = components.rescaled(np.full(5, np.log(3.0)))
    np.testing.assert_allclose(rescaled.noise_deviation(), 3.0 * components.noise_deviation())
    np.testing.assert_array_equal(rescaled.mean, components.mean)


@pytest.mark.card
def test_a_card_has_the_same_factors(rng):
    from ssgp.forest.card_forest import CardNoise

    X = rng.choice([-1.0, 0.0, 1.0], size=(50, 3)).astype(np.float32)
    np.testing.assert_allclose(CARD.fetch(CardNoise(CARD, SEVERAL)(CARD.send(X))), SEVERAL(X))


N_FITTED = 6000


@pytest.fixture(scope="module")
def gaps():
    """Three rows in a hundred lack what most of the target comes from, and half of the new rows."""
    rng, n = np.random.default_rng(5), N_FITTED + 2000
    a, b, noise = rng.normal(size=n), rng.uniform(-2, 2, n), 0.3 * rng.normal(size=n)
    missing = rng.random(n) < np.where(np.arange(n) < N_FITTED, 0.03, 0.5)
    table = pd.DataFrame({"a": np.where(missing, np.nan, a), "b": b})
    return table, 2 * a + np.sin(2 * b) + noise, missing


@pytest.fixture(scope="module")
def fitted_to_gaps(gaps):
    table, y, _ = gaps
    return ssgp.SpectralForestRegressor(random_state=0, n_jobs=1).fit(table[:N_FITTED], y[:N_FITTED])


@pytest.mark.slow
def test_intervals_of_rows_with_gaps_are_honest(fitted_to_gaps, gaps):
    """From the noise of their leaves alone they would cover 69 %."""
    table, y, missing = (part[N_FITTED:] for part in gaps)
    low, high = fitted_to_gaps.predict_interval(table, 0.9).T
    inside = (low <= y) & (y <= high)
    assert 0.78 < inside[missing].mean() < 0.97
    assert 0.85 < inside[~missing].mean() < 0.95


@pytest.mark.slow
def test_the_factor_is_that_of_the_gaps_and_is_saved(fitted_to_gaps, gaps, tmp_path):
    noise, names = fitted_to_gaps._fitted.forest.minority_noise, fitted_to_gaps.encoder_.get_feature_names_out()
    assert [names[i] for i in noise.inputs] == ["a_missing"]
    assert noise.log_factor[0] > 0.3
    fitted_to_gaps.save(tmp_path / "model.safetensors")
    loaded, rows = ssgp.load(tmp_path / "model.safetensors"), gaps[0][-100:]
    np.testing.assert_array_equal(loaded.predict_interval(rows), fitted_to_gaps.predict_interval(rows))
    np.testing.assert_array_equal(loaded.predict(rows), fitted_to_gaps.predict_distribution(rows).mean())
