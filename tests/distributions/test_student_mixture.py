"""Everything a mixture of Student-t's says, against scipy's Student-t."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest

from mixtures import components, forest_like, mixture
from ssgp.distributions.student_mixture import StudentMixture


@pytest.fixture
def mixed(rng):
    return mixture(rng)


def test_mean_and_variance_against_scipy(mixed):
    mean, variance = mixed.mean(), mixed.variance()
    for row in range(7):
        parts = components(mixed, row)
        first = np.mean([part.mean() for part in parts])
        second = np.mean([part.var() + part.mean() ** 2 for part in parts])
        assert mean[row] == pytest.approx(first)
        assert variance[row] == pytest.approx(second - first**2)


def test_density_and_cdf_against_scipy(mixed, rng):
    y = 3 * rng.normal(size=7)
    log_density, density, cumulative = mixed.logpdf(y), mixed.pdf(y), mixed.cdf(y)
    for row in range(7):
        parts = components(mixed, row)
        assert density[row] == pytest.approx(np.mean([part.pdf(y[row]) for part in parts]))
        assert np.exp(log_density[row]) == pytest.approx(density[row])
        assert cumulative[row] == pytest.approx(np.mean([part.cdf(y[row]) for part in parts]))


@pytest.mark.slow
def test_moments_above_the_mean_against_integrals(mixed):
    mean = mixed.mean()
    excess, upper = mixed.excess(mean), mixed.upper_variance()
    for row in range(7):
        parts = components(mixed, row)
        assert excess[row] == pytest.approx(np.mean([upper_moment(part, mean[row], 1) for part in parts]), rel=1e-5)
        assert upper[row] == pytest.approx(np.mean([upper_moment(part, mean[row], 2) for part in parts]), rel=1e-5)


def upper_moment(part, mean, power):
    return quad(lambda y: (y - mean) ** power * part.pdf(y), mean, np.inf)[0]


def test_density_far_out_is_finite(mixed):
    density = mixed.logpdf(np.full(7, 1e30))
    assert np.isfinite(density).all()
    assert (density < -100).all()


def test_samples_are_of_the_cdf(mixed):
    """Kolmogorov-Smirnov for each of seven rows, at an error rate of 1e-3 all together."""
    draws = mixed.sample(4000, np.random.default_rng(0))
    assert draws.shape == (7, 4000)
    for row in range(7):
        parts = components(mixed, row)

        def cdf(y, parts=parts):
            return np.mean([part.cdf(y) for part in parts], axis=0)

        assert kstest(draws[row], cdf).pvalue > 1e-3 / 7


def test_rows_are_sampled_independently(rng):
    """Correlation of 40,000 pairs is within 4 / sqrt(40,000)."""
    same = StudentMixture(np.zeros((2, 2)), np.ones((2, 2)), np.full((2, 2), 10.0))
    draws = same.sample(40_000, rng)
    assert abs(np.mean(draws[0] * draws[1])) / (draws[0].std() * draws[1].std()) < 0.02


def naive_crps(parts, y):
    """Integral of the squared distance of the cumulative distribution from the step at y."""
    points = sorted([y, *(part.mean() + k * part.std() for part in parts for k in (-6, -1, 0, 1, 6))])

    def squared(x):
        return (np.mean([part.cdf(x) for part in parts]) - (x >= y)) ** 2

    ends = [quad(squared, -np.inf, points[0])[0], quad(squared, points[-1], np.inf)[0]]
    return sum(ends) + sum(quad(squared, low, high)[0] for low, high in pairwise(points))


@pytest.mark.slow
@pytest.mark.parametrize("y", [-40.0, -1.0, 0.3, 7.0])
def test_crps_is_the_integral_of_the_squared_distance(y, mixed):
    scores = mixed.crps(y)
    for row in range(7):
        assert scores[row] == pytest.approx(naive_crps(components(mixed, row), y), rel=1e-4)


@pytest.mark.slow
def test_crps_where_components_differ_a_hundredfold_in_scale(rng):
    odd = forest_like(rng, 5)
    scores = odd.crps(np.zeros(5))
    for row in range(5):
        assert scores[row] == pytest.approx(naive_crps(components(odd, row), 0.0), rel=2e-3)


def test_rows_are_taken_as_from_an_array(mixed):
    y = np.linspace(-1, 1, 7)
    for rows in (slice(2, 5), np.array([6, 0]), y > 0):
        assert len(mixed[rows]) == len(y[rows])
        np.testing.assert_array_equal(mixed[rows].cdf(y[rows]), mixed.cdf(y)[rows])


def test_heavier_tails(mixed):
    heavy = mixed.with_tails(4.0)
    np.testing.assert_allclose(1 / heavy.dof, np.minimum(1 / mixed.dof + 1 / 4.0, 1 / 2.4))
    np.testing.assert_array_equal(heavy.location, mixed.location)


@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**1000])
def test_distributions_of_extreme_units_are_those_of_usual_ones(unit, rng):
    location, scale, dof = rng.normal(size=(9, 20)), rng.uniform(0.1, 2.0, (9, 20)), rng.uniform(3.0, 30.0, (9, 20))
    usual, extreme = StudentMixture(location, scale, dof), StudentMixture(location * unit, scale * unit, dof)
    y = rng.normal(size=20)
    np.testing.assert_array_equal(extreme.mean() / unit, usual.mean())
    np.testing.assert_array_equal(extreme.std() / unit, usual.std())
    np.testing.assert_allclose(extreme.quantile([0.01, 0.5, 0.8]) / unit, usual.quantile([0.01, 0.5, 0.8]), atol=1e-7)
    np.testing.assert_allclose(extreme.crps(y * unit) / unit, usual.crps(y), rtol=1e-9)
    np.testing.assert_allclose(extreme.logpdf(y * unit) + np.log(unit), usual.logpdf(y), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(extreme.cdf(y * unit), usual.cdf(y), rtol=1e-12)


def test_a_score_is_never_negative_by_rounding():
    exact = StudentMixture(np.full((1, 500), 1e9), np.geomspace(1e-12, 1.0, 500)[None], np.full((1, 500), 5.0))
    assert (exact.crps(1e9) >= 0).all()
