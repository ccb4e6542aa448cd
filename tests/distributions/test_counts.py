"""Distributions of counts, against sums over all counts."""

import numpy as np
import pytest
from scipy.special import stdtr

from ssgp.distributions import CountDistribution, StudentMixture
from ssgp.metrics import coverage, pit, pit_uniformity
from ssgp.rows.target_maps import SoftLog

# The largest counts of the cases below are far smaller.
ALL = np.arange(60_000)
CASES = {
    "mostly zeros": (5.0, -3.0, 0.5),
    "small": (5.0, 0.5, 0.3),
    "nearly certain": (5.0, 1.0, 0.01),
    "wide": (300.0, 0.0, 0.6),
    "large": (100.0, 6.0, 0.5),
}


@pytest.fixture(params=CASES)
def predicted(request, rng):
    scale, middle, width = CASES[request.param]
    location = middle + width * rng.normal(size=(2, 5))
    mixture = StudentMixture(location, width * rng.uniform(0.7, 1.3, (2, 5)), rng.uniform(8.0, 20.0, (2, 5)))
    return CountDistribution(mixture, SoftLog("count", scale, 0.5))


def probabilities(predicted, row):
    """P(Y <= k) of all counts, from SciPy's function of the components."""
    edges, before = predicted.map.to_model(ALL + 0.5), predicted.before
    parts = zip(before.location[:, row], before.scale[:, row], before.dof[:, row], strict=True)
    return np.mean([stdtr(dof, (edges - location) / scale) for location, scale, dof in parts], axis=0)


def test_everything_against_sums(predicted):
    y = predicted.sample(1, 3)[:, 0]
    found = {name: getattr(predicted, name)() for name in ("mean", "variance")}
    logpdf, crps, cdf = predicted.logpdf(y), predicted.crps(y), predicted.cdf(y + 0.7)
    excess = predicted.excess(y - 0.3)
    for row in range(len(predicted)):
        at_most = probabilities(predicted, row)
        mass = np.diff(at_most, prepend=0.0)
        mean = ALL @ mass
        assert found["mean"][row] == pytest.approx(mean, rel=1e-3, abs=1e-6)
        assert found["variance"][row] == pytest.approx((ALL - mean) ** 2 @ mass, rel=1e-2, abs=1e-6)
        assert np.exp(logpdf[row]) == pytest.approx(mass[int(y[row])], rel=1e-5, abs=1e-12)
        assert cdf[row] == pytest.approx(at_most[int(y[row])], rel=1e-9)
        assert crps[row] == pytest.approx(np.sum((at_most - (ALL >= y[row])) ** 2), rel=1e-3, abs=1e-5)
        assert excess[row] == pytest.approx(np.maximum(ALL - y[row] + 0.3, 0.0) @ mass, rel=1e-3, abs=1e-5)


def test_quantiles_are_the_least_counts_that_reach_a_level(predicted):
    for level in (0.05, 0.5, 0.95):
        quantile = predicted.quantile(level)
        np.testing.assert_array_equal(quantile, [np.searchsorted(probabilities(predicted, i), level) for i in range(5)])


def test_draws_are_counts(predicted):
    draws = predicted.sample(5000, 0)
    assert (draws >= 0).all()
    assert (draws == np.floor(draws)).all()
    middle = predicted.quantile(0.5)
    np.testing.assert_allclose((draws <= middle[:, None]).mean(axis=1), predicted.cdf(middle), atol=0.04)


def test_what_is_no_count_is_impossible(predicted):
    for value in (-1.0, 0.5, 2.25):
        assert (predicted.logpdf(value) == -np.inf).all()
    assert (predicted.cdf(-0.1) == 0.0).all()
    assert (predicted.sf(-0.1) == 1.0).all()
    np.testing.assert_allclose(predicted.crps(-2.0), predicted.crps(0.0) + 2.0 * 1.0, rtol=1e-3)


def test_probabilities_far_out_are_not_rounding():
    mixture = StudentMixture(np.zeros((1, 1)), np.full((1, 1), 0.1), np.full((1, 1), 1e4))
    predicted = CountDistribution(mixture, SoftLog("count", 100.0, 0.5))
    assert -np.inf < predicted.logpdf(1e3)[0] < predicted.logpdf(4e2)[0] < -30


def test_coverage_and_pit_take_point_masses(rng):
    """Draws of the distributions themselves: closed intervals of whole numbers hold more than their level."""
    location = rng.normal(size=(1, 4000))
    predicted = CountDistribution(
        StudentMixture(location, np.full_like(location, 0.4), np.full_like(location, 9.0)), SoftLog("count", 3.0, 0.5)
    )
    y = predicted.sample(1, 1)[:, 0]
    assert pit_uniformity(pit(y, predicted)).p_value > 1e-3
    assert 0.9 < coverage(y, predicted, level=0.9) < 0.99
    np.testing.assert_array_equal(predicted.cdf_left(y), predicted.cdf(y - 1.0))
