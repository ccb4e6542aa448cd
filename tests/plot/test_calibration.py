"""Calibration: bars, bands and groups, against counts and loops made here."""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from ssgp import plot
from ssgp.plot.calibration import DeviationGroups


def central_counts(n, share):
    """The smallest and largest count such that either tail beyond it has at most a fortieth, from binomial sums."""
    chances = [math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)]
    low = min(k for k in range(n + 1) if sum(chances[: k + 1]) >= 0.025)
    high = max(k for k in range(n + 1) if sum(chances[k:]) > 0.025)
    return low, high


def within(shares, band):
    return (band[0] <= shares) & (shares <= band[1])


class TestCalibration:
    @pytest.mark.slow
    def test_pit_of_a_normal_model_is_scipys(self, data, fitted):
        mean, deviation = fitted("ssgp").predict(data[0], return_std=True)
        display = plot.PITDisplay.from_estimator(fitted("ssgp"), *data)
        np.testing.assert_allclose(display.pit, norm.cdf(data[1], mean, deviation), atol=1e-12)
        given = plot.PITDisplay.from_predictions(data[1], mean, deviation)
        np.testing.assert_allclose(given.pit, display.pit, atol=1e-12)

    @pytest.mark.slow
    def test_pit_of_a_forest_is_that_of_its_mixture(self, data, fitted):
        display = plot.PITDisplay.from_estimator(fitted("forest"), *data)
        np.testing.assert_array_equal(display.pit, fitted("forest").cdf(*data))

    def test_bars_are_shares_of_rows(self, rng):
        pit = rng.uniform(size=500)
        shares = plot.PITDisplay(pit).shares()
        assert shares.tolist() == [np.mean((pit >= i / 20) & (pit < (i + 1) / 20)) for i in range(20)]

    def test_the_band_is_where_counts_are_95_times_in_a_hundred(self):
        low, high = (round(500 * end) for end in plot.PITDisplay(np.full(500, 0.5)).band())
        assert binom.cdf(high, 500, 1 / 20) - binom.cdf(low - 1, 500, 1 / 20) >= 0.95
        assert binom.cdf(high - 1, 500, 1 / 20) < 0.975 <= binom.cdf(high, 500, 1 / 20)

    @pytest.mark.parametrize("n_rows", [1, 7, 40, 333])
    def test_bands_of_coverage_end_where_a_fortieth_is_left(self, n_rows):
        display = plot.CoverageDisplay(np.full(n_rows, 0.5))
        for level, low, high in zip(display.levels, *display.band(), strict=True):
            assert (n_rows * low, n_rows * high) == pytest.approx(central_counts(n_rows, level))

    @pytest.mark.parametrize("level", [0.5, 0.95])
    def test_bands_of_groups_are_those_of_their_own_sizes(self, level):
        sizes = np.array([3, 25, 26, 120])
        groups = DeviationGroups(sizes, np.ones(4), np.ones(4), np.ones(4))
        low, high = plot.CoverageByDeviationDisplay(groups, level).band()
        expected = np.array([central_counts(int(size), level) for size in sizes])
        np.testing.assert_allclose(np.column_stack([sizes * low, sizes * high]), expected)

    @pytest.mark.slow
    def test_right_predictions_are_in_the_bands_95_times_in_a_hundred(self, rng):
        """Somewhat more often, as counts are whole."""
        inside, grouped = [], []
        for y, mean in zip(*rng.normal(size=(2, 1000, 400)), strict=True):
            std = rng.uniform(0.5, 2.0, size=400)
            given = mean + std * y, mean, std
            display = plot.CoverageDisplay.from_predictions(*given)
            inside.append(within(display.observed(), display.band()))
            by_deviation = plot.CoverageByDeviationDisplay.from_predictions(*given, n_groups=4, level=0.8)
            grouped.append(within(by_deviation.groups.covered, by_deviation.band()))
        for share in (*np.mean(inside, axis=0), *np.mean(grouped, axis=0)):
            assert 0.93 < share < 0.985

    def test_wrong_predictions_are_outside_the_bands(self, rng):
        y = rng.normal(size=2000)
        for factor in (0.8, 1.25):
            given = y, np.zeros(2000), np.full(2000, factor)
            display = plot.CoverageDisplay.from_predictions(*given)
            assert not within(display.observed(), display.band())[2:].any()
            by_deviation = plot.CoverageByDeviationDisplay.from_predictions(*given, n_groups=2)
            assert not within(by_deviation.groups.covered, by_deviation.band()).any()

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["forest", "ssgp"])
    def test_coverage_is_a_count_of_intervals(self, data, fitted, name):
        display = plot.CoverageDisplay.from_estimator(fitted(name), *data)
        for level, observed in zip(display.levels, display.observed(), strict=True):
            low, high = fitted(name).predict_interval(data[0], coverage=level).T
            assert observed == pytest.approx(np.mean((low <= data[1]) & (data[1] <= high)), abs=1e-9)

    def test_groups_by_deviation_are_a_plain_group_by(self, rng):
        y, mean, deviation = rng.normal(size=(3, 103))
        deviation = np.abs(deviation) + 0.1
        groups = plot.ErrorByDeviationDisplay.from_predictions(y, mean, deviation, n_groups=4, level=0.8).groups
        order = sorted(range(103), key=lambda i: deviation[i])
        parts = [order[:26], order[26:52], order[52:78], order[78:]]
        assert groups.size.tolist() == [26, 26, 26, 25]
        half_width = norm.ppf(0.9)
        for i, part in enumerate(parts):
            errors, deviations = y[part] - mean[part], deviation[part]
            assert groups.error[i] == pytest.approx(np.sqrt(np.mean(errors**2)))
            assert groups.deviation[i] == pytest.approx(np.sqrt(np.mean(deviations**2)))
            assert groups.covered[i] == pytest.approx(np.mean(np.abs(errors) <= half_width * deviations))

    @pytest.mark.slow
    def test_both_pictures_by_deviation_have_the_same_groups(self, data, fitted):
        error = plot.ErrorByDeviationDisplay.from_estimator(fitted("forest"), *data)
        cover = plot.CoverageByDeviationDisplay.from_estimator(fitted("forest"), *data)
        np.testing.assert_array_equal(error.groups.covered, cover.groups.covered)
        assert cover.groups.size.sum() == len(data[1])
