"""Distributions known by quantiles, beside those that the quantiles are of."""

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks.quantiles import LEVELS, Quantiles
from ssgp.metrics import coverage, crps, pit


@pytest.fixture
def normal(rng):
    y = rng.normal(size=4000)
    return y, Quantiles(LEVELS, np.tile(norm.ppf(LEVELS), (len(y), 1)))


def test_of_a_normal_distribution_are_nearly_it(normal):
    y, quantiles = normal
    inside = np.abs(y) < 2.5
    np.testing.assert_allclose(quantiles.cdf(y)[inside], norm.cdf(y)[inside], atol=0.02)
    for level in (0.5, 0.8, 0.9, 0.95, 0.99):
        np.testing.assert_allclose(quantiles.interval(level)[0], norm.interval(level))
        assert coverage(y, quantiles, level=level) == np.mean(np.abs(y) <= norm.interval(level)[1])
    expected = y * (2 * norm.cdf(y) - 1) + 2 * norm.pdf(y) - 1 / np.sqrt(np.pi)
    assert crps(y, quantiles) == pytest.approx(expected.mean(), rel=0.01)


@pytest.mark.parametrize("values", [[-1.0, 0.5, 2.0], [0.0, 0.0, 3.0]])
def test_crps_is_the_integral_of_the_squared_difference_from_a_step(values):
    y, x = np.array([-3.0, -0.5, 0.0, 0.7, 2.0, 5.0]), np.linspace(-6, 8, 280_001)
    quantiles = Quantiles(np.array([0.1, 0.5, 0.8]), np.tile(values, (len(y), 1)))
    for i, at in enumerate(y):
        one = Quantiles(quantiles.levels, np.broadcast_to(values, (len(x), 3)))
        expected = np.trapezoid((one.cdf(x) - (x >= at)) ** 2, x)
        assert quantiles.crps(y)[i] == pytest.approx(expected, abs=1e-3)


def test_that_cross_are_sorted():
    assert Quantiles(np.array([0.1, 0.5, 0.9]), np.array([[2.0, 1.0, 3.0]])).values.tolist() == [[1.0, 2.0, 3.0]]


def test_that_are_the_same_are_a_point_mass():
    quantiles = Quantiles(np.array([0.1, 0.5, 0.9]), np.array([[0.0, 0.0, 4.0]]).repeat(4, axis=0))
    y = np.array([-1.0, 0.0, 2.0, 9.0])
    np.testing.assert_allclose(quantiles.cdf(y), [0.0, 0.5, 0.7, 1.0])
    np.testing.assert_allclose(quantiles.cdf_left(y), [0.0, 0.0, 0.7, 1.0])
    assert 0.0 < pit(y, quantiles)[1] < 0.5
    assert quantiles.mean().tolist() == [0.0] * 4
