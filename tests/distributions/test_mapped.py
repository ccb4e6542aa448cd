"""Distributions of mapped targets, against integrals of their distribution function and draws."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest

from ssgp.distributions import MappedDistribution, StudentMixture
from ssgp.distributions.recalibration import Recalibration, fit_recalibration
from ssgp.rows.target_maps import Logit, SoftLog

MAPS = [SoftLog("positive", 3.0), SoftLog("non-negative", 3.0, 0.2), Logit(0.0, 10.0), Logit(0.0, 10.0, 0.3)]


def made(target_map, rng):
    """Distributions of four rows."""
    location, scale = rng.normal(size=(2, 4)) - 0.5, rng.uniform(0.2, 1.2, (2, 4))
    return MappedDistribution(StudentMixture(location, scale, rng.uniform(5.0, 20.0, (2, 4))), target_map)


@pytest.fixture(params=MAPS, ids=str)
def predicted(request, rng):
    return made(request.param, rng)


def integral(function, low, high):
    """Of a function of y, in parts that are smooth enough for one rule each."""
    points = [point for point in (1e-3, 0.3, 2.0, 10.0, 100.0, 1e4) if low < point < high]
    ends = [low, *points, high]
    return sum(quad(function, a, b, limit=300)[0] for a, b in pairwise(ends))


def test_moments_and_scores(predicted):
    high = min(predicted.map.high, 1e7)
    y = np.array([0.05, 1.0, 2.5, 6.0])
    mean, std, crps, excess = predicted.mean(), predicted.std(), predicted.crps(y), predicted.excess(y)
    for row in range(len(predicted)):
        one = predicted[row : row + 1]

        def above(value, one=one):
            return float(one.sf(value)[0])

        first = integral(above, 0.0, high)
        second = integral(lambda value: 2.0 * value * above(value), 0.0, high)
        below, beyond = (
            integral(lambda v: (1 - above(v)) ** 2, 0.0, y[row]),
            integral(lambda v: above(v) ** 2, y[row], high),
        )
        assert mean[row] == pytest.approx(first, rel=3e-4)
        assert std[row] == pytest.approx(np.sqrt(second - first**2), rel=5e-3)
        assert crps[row] == pytest.approx(below + beyond, rel=1e-3)
        assert excess[row] == pytest.approx(integral(above, y[row], high), rel=1e-3, abs=1e-6)


def test_densities_and_masses_are_one_together(predicted):
    low, high = predicted.map.low, predicted.map.high
    for row in range(len(predicted)):
        one = predicted[row : row + 1]
        density = integral(lambda v, one=one: float(one.pdf(v)[0]), 1e-12, min(high - 1e-12, 1e7))
        masses = float(one.pdf(low)[0]) + (float(one.pdf(high)[0]) if np.isfinite(high) else 0.0)
        assert density + masses == pytest.approx(1.0, abs=1e-5)
        assert (masses > 0) == (predicted.map.margin > 0)
        assert float(one.cdf(low)[0] - one.cdf_left(low)[0]) == pytest.approx(float(one.pdf(low)[0]))


def test_quantiles_probabilities_and_draws_agree(predicted):
    levels = np.array([0.02, 0.5, 0.9, 0.999])
    quantiles = predicted.quantile(levels)
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert ((quantiles >= predicted.map.low) & (quantiles <= predicted.map.high)).all()
    for level, column in zip(levels, quantiles.T, strict=True):
        inside = (column > predicted.map.low) & (column < predicted.map.high)
        np.testing.assert_allclose(predicted.cdf(column)[inside], level, rtol=1e-6)
        assert (predicted.cdf(column) >= level - 1e-9).all()
    draws = predicted.sample(4000, 0)
    if not predicted.map.margin:
        one = predicted[:1]
        assert kstest(draws[0], one[np.zeros(4000, int)].cdf).pvalue > 1e-3
    np.testing.assert_allclose(predicted.cdf(1.0), (draws <= 1.0).mean(axis=1), atol=0.04)
    np.testing.assert_allclose(predicted.cdf(1.3) + predicted.sf(1.3), 1.0, rtol=1e-12)


def test_nothing_is_beyond_the_ends(predicted):
    low, high = predicted.map.low, predicted.map.high
    beyond = [low - 1.0, *([high + 1.0] if np.isfinite(high) else [])]
    for value in beyond:
        assert (predicted.logpdf(value) == -np.inf).all()
    assert (predicted.cdf(low - 1.0) == 0.0).all()
    np.testing.assert_allclose(predicted.excess(low - 1.0), predicted.mean() - low + 1.0, rtol=1e-3)
    np.testing.assert_allclose(predicted.crps(low - 1.0), predicted.crps(low) + 1.0, rtol=1e-3)


def test_a_row_is_the_same_alone(predicted):
    np.testing.assert_array_equal(predicted[2:3].mean(), predicted.mean()[2:3])
    np.testing.assert_array_equal(predicted[[3, 1]].std(), predicted.std()[[3, 1]])


@pytest.mark.parametrize("target_map", [target_map for target_map in MAPS if not target_map.margin], ids=str)
def test_a_recalibration_stays_within_the_ends(target_map, rng):
    """It is learned and applied before the map, where held-out rows are twice as far from the middle."""
    rows = made(target_map, rng)[np.arange(600) % 4]
    z = rows.before.mean() + 2.0 * (rows.before.sample(1, 1)[:, 0] - rows.before.mean())
    y = target_map.to_target(z)
    learned = fit_recalibration(rows, y)
    corrected = learned(rows)
    assert isinstance(corrected, MappedDistribution)
    assert 1.6 < learned.above < 2.4
    assert corrected.logpdf(y).mean() > rows.logpdf(y).mean()
    assert (corrected.interval(0.999)[:, 0] >= 0.0).all()


def test_a_recalibration_needs_targets_that_are_possible():
    predicted = MappedDistribution(StudentMixture(*np.ones((3, 1, 30)) * [[[0.0]], [[1.0]], [[9.0]]]), MAPS[0])
    with pytest.raises(ValueError, match="y has the value -1, and the model is one of targets that are positive"):
        fit_recalibration(predicted, np.full(30, -1.0))
    assert Recalibration()(predicted).mean() == pytest.approx(predicted.mean(), rel=1e-2)
