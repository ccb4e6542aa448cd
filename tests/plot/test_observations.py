"""Predictions beside observations: what is drawn, and what is outside the picture."""

import numpy as np
import pytest
from scipy.stats import norm

from ssgp import plot


class TestObservations:
    @pytest.mark.parametrize("name", ["forest", "svbssgp"])
    def test_intervals_are_the_models_and_in_order(self, data, fitted, name):
        X, y = data[0][:30], data[1][:30]
        display = plot.IntervalDisplay.from_estimator(fitted(name), X, y)
        mean, deviation = fitted(name).predict(X, return_std=True)
        order = np.argsort(mean)
        ends = norm.ppf([0.025, 0.25, 0.75, 0.975]) * deviation[:, None] + mean[:, None]
        if name == "forest":
            ends = fitted(name).predict_quantiles(X, [0.025, 0.25, 0.75, 0.975])
        np.testing.assert_allclose(display.quantiles, ends[order])
        np.testing.assert_array_equal(display.y, y[order])
        assert display.held() == sum(low <= seen <= high for (low, _, _, high), seen in zip(ends, y, strict=True))

    def test_rows_outside_the_picture_are_counted(self):
        y = np.append(np.linspace(0, 1, 999), 1e6)
        display = plot.ObservedDisplay.from_predictions(y, np.zeros(1000), target="height (m)")
        assert display.outside() == 1
        assert display.caption.endswith("1,000 rows. Outside the picture: 1.")

    @pytest.mark.parametrize("n_rows", [100, 1500])
    def test_few_rows_are_points_and_many_a_density(self, rng, n_rows):
        y, mean = rng.normal(size=(2, n_rows))
        axes = plot.ObservedDisplay.from_predictions(y, mean).plot().ax_
        assert bool(axes.collections) == (n_rows > 1000)
