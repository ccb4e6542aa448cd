"""Recalibrated regressors: they cover rows nobody has seen, and are estimators like others."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom
from sklearn import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import ssgp
from helpers import quick, small_forest, wavy
from ssgp.distributions.recalibrated import MOST_ROWS

pytestmark = pytest.mark.slow

LEVELS = [0.001, 0.05, 0.25, 0.5, 0.75, 0.95, 0.999]


def overconfident_forest(X, y):
    model = small_forest().fit(X, y)
    forest, calibration = model._fitted.forest, model.calibration_
    narrow = replace(forest, calibration=replace(calibration, noise=0.4 * calibration.noise))
    model._fitted = replace(model._fitted, forest=narrow)
    return model


def overconfident_process(X, y):
    model = ssgp.SSGPRegressor(20, max_iter=30, random_state=0).fit(X, y)
    model.noise_variance_ *= 0.1
    return model


@pytest.fixture(scope="module")
def recalibrated():
    """A forest, and a regressor whose predictions are normal, recalibrated."""
    (X, y, _), (X_held, y_held, _) = wavy(600), wavy(400, seed=1)
    models = small_forest().fit(X, y), ssgp.SSGPRegressor(20, max_iter=30, random_state=0).fit(X, y)
    return [ssgp.recalibrate(model, X_held, y_held + 0.2) for model in models]


@pytest.mark.parametrize("fit", [overconfident_forest, overconfident_process])
def test_an_overconfident_model_covers_as_it_should_on_fresh_rows(fit):
    (X, y, _), (X_held, y_held, _), (X_new, y_new, _) = wavy(800), wavy(1000, seed=1), wavy(4000, seed=2)
    model = fit(X, y)
    calibrated = ssgp.recalibrate(model, X_held, y_held)
    for level in (0.5, 0.9, 0.95):
        # What chance does to the 1,000 rows of the recalibration, but 1 time in 10,000.
        low, high = binom.interval(0.9999, 1000, level)
        assert covered(model, X_new, y_new, level) < low / 1000
        assert low / 1000 <= covered(calibrated, X_new, y_new, level) <= high / 1000


def covered(model, X, y, level):
    low, high = model.predict_interval(X, level).T
    return np.mean((low <= y) & (y <= high))


def test_quantiles_do_not_cross_and_are_the_cdf_s(recalibrated):
    X, _, _ = wavy(50, seed=3)
    for model in recalibrated:
        quantiles = model.predict_quantiles(X, LEVELS)
        assert (np.diff(quantiles, axis=1) > 0).all()
        for level, quantile in zip(LEVELS, quantiles.T, strict=True):
            np.testing.assert_allclose(model.cdf(X, quantile), level, rtol=1e-6)


def test_density_integrates_to_one_and_to_the_moments(recalibrated):
    X, _, _ = wavy(3, seed=4)
    grid = np.linspace(-60, 60, 200_001)
    for model in recalibrated:
        means, deviations = model.predict(X, return_std=True)
        np.testing.assert_allclose(model.predict(X), means, rtol=1e-6)
        for row, mean, deviation in zip(X, means, deviations, strict=True):
            density = np.exp(model.log_prob(np.tile(row, (len(grid), 1)), grid))
            assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=1e-3)
            assert np.trapezoid(grid * density, grid) == pytest.approx(mean, abs=1e-3)
            assert np.trapezoid((grid - mean) ** 2 * density, grid) == pytest.approx(deviation**2, rel=0.02)


def test_the_mean_is_moved_by_the_shift(recalibrated):
    X, _, _ = wavy(50, seed=3)
    for model in recalibrated:
        np.testing.assert_allclose(model.predict(X) - model.regressor.predict(X), model.recalibration_.shift)
        assert model.recalibration_.shift == pytest.approx(0.2, abs=0.05)


def test_samples_are_of_the_same_distribution(recalibrated):
    X, _, _ = wavy(1, seed=5)
    for model in recalibrated:
        draws = model.sample_y(X, 4000)[0]
        pit = model.cdf(np.tile(X, (4000, 1)), draws)
        np.testing.assert_allclose(np.quantile(pit, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.04)


class TestEstimator:
    @pytest.mark.parametrize(
        "model",
        [
            small_forest(),
            quick(max_iter=50),
            ssgp.SSGPRegressor(5, max_iter=5, random_state=0),
            ssgp.VSSGPRegressor(8, max_iter=5, random_state=0),
            ssgp.DTCRegressor(10, max_iter=20, random_state=0),
            ssgp.PICRegressor(10, max_iter=20, random_state=0),
            ssgp.ExactGPRegressor(random_state=0),
        ],
        ids=lambda model: type(model).__name__,
    )
    def test_any_regressor_comes_back_from_a_file_bit_for_bit(self, model, tmp_path):
        (X, y, _), (X_held, y_held, _) = wavy(200), wavy(100, seed=1)
        calibrated = ssgp.recalibrate(model.fit(X, y), X_held, y_held)
        calibrated.save(tmp_path / "model")
        again = ssgp.load(tmp_path / "model")
        assert again.recalibration_ == calibrated.recalibration_
        assert again.n_recalibration_rows_ == 100
        np.testing.assert_array_equal(again.predict(X, return_std=True), calibrated.predict(X, return_std=True))
        np.testing.assert_array_equal(again.predict_quantiles(X), calibrated.predict_quantiles(X))
        np.testing.assert_array_equal(again.log_prob(X, y), calibrated.log_prob(X, y))
        np.testing.assert_array_equal(again.sample_y(X, 3), calibrated.sample_y(X, 3))
        again.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()

    def test_a_pipeline_stays_one(self, tmp_path):
        (X, y, _), (X_held, y_held, _) = wavy(200), wavy(100, seed=1)
        table, held = (pa.table({"east": rows[:, 0], "north": rows[:, 1]}) for rows in (X, X_held))
        model = make_pipeline(ssgp.TableEncoder(), small_forest()).fit(table, y)
        calibrated = ssgp.recalibrate(model, held, y_held)
        assert list(calibrated.named_steps) == list(model.named_steps)
        ssgp.save(calibrated, tmp_path / "model")
        np.testing.assert_array_equal(ssgp.load(tmp_path / "model").predict(held), calibrated.predict(held))
        summary = ssgp.saving.model_files.read_summary(tmp_path / "model")
        assert summary["classes"] == ["TableEncoder", "SpectralForestRegressor"]
        assert summary["recalibration"]["n_rows"] == 100

    def test_of_views_of_text_rows_can_be_chosen(self):
        y = np.random.default_rng(0).standard_normal(60)
        text = ["left" if value < 0 else "right" for value in y]
        plain, views = (pa.table({"side": pa.array(text, kind)}) for kind in (pa.string(), pa.string_view()))
        model = ssgp.SSGPRegressor(3, max_iter=3, random_state=0).fit(plain, y)
        calibrated = ssgp.recalibrate(model, views, y)
        np.testing.assert_array_equal(calibrated.predict(views), ssgp.recalibrate(model, plain, y).predict(plain))

    def test_the_regressor_stays_as_it_is(self, recalibrated):
        X, y, _ = wavy(400, seed=6)
        for model in recalibrated:
            before = model.regressor.predict(X, return_std=True)
            again = ssgp.recalibrate(model, X, y)
            assert again.regressor is model.regressor
            np.testing.assert_array_equal(model.regressor.predict(X, return_std=True), before)

    def test_a_clone_has_the_fitted_regressor(self, recalibrated):
        X, _, _ = wavy(10)
        for model in recalibrated:
            copy = clone(model)
            assert copy.regressor is model.regressor
            with pytest.raises(NotFittedError):
                copy.predict(X)

    def test_of_many_rows_some_are_drawn(self):
        (X, y, _), (X_held, y_held, _) = wavy(200), wavy(MOST_ROWS + 500, seed=1)
        model = ssgp.DTCRegressor(10, max_iter=20, random_state=0).fit(X, y)
        assert ssgp.recalibrate(model, X_held, y_held).n_recalibration_rows_ == MOST_ROWS

    def test_what_cannot_be_recalibrated_is_told(self):
        X, y, _ = wavy(100)
        model = ssgp.ExactGPRegressor(random_state=0)
        with pytest.raises(NotFittedError):
            ssgp.recalibrate(model, X, y)
        model.fit(X, y)
        with pytest.raises(ValueError, match="needs at least 20 rows that count, and X has 19"):
            ssgp.recalibrate(model, X[:19], y[:19])
        with pytest.raises(ValueError, match="needs at least 20 rows that count, and X has 3"):
            ssgp.recalibrate(model, X, y, np.arange(100) < 3)
        with pytest.raises(ValueError, match="y has 1 values that are not finite, the first in row 7"):
            ssgp.recalibrate(model, X, np.where(np.arange(100) == 7, np.nan, y))
        with pytest.raises(ValueError, match="The 'regressor' parameter of RecalibratedRegressor must be"):
            ssgp.recalibrate("forest", X, y)
