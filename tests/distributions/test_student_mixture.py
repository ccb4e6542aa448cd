"""Everything a mixture of Student-t's says, against scipy's Student-t."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import stdtr
from scipy.stats import kstest, t

from ssgp.distributions.quantile_search import standard_quantiles
from ssgp.distributions.student_mixture import StudentMixture

LEVELS = [1e-4, 0.05, 0.5, 0.9, 1 - 1e-4]


def mixture(rng, n=7, components=3):
    location, scale = rng.normal(size=(components, n)), rng.uniform(0.2, 3.0, size=(components, n))
    return StudentMixture(location, scale, rng.uniform(3.0, 40.0, size=(components, n)))


def components(mixture, row) -> list[Any]:
    """SciPy's distributions of one row."""
    return [t(mixture.dof[k, row], mixture.location[k, row], mixture.scale[k, row]) for k in range(len(mixture.dof))]


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


@pytest.mark.parametrize("level", LEVELS)
def test_quantiles_invert_the_cdf(level, mixed):
    np.testing.assert_allclose(mixed.cdf(mixed.quantile(level)), level, rtol=1e-6)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("apart", [0.0, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("scales", [(1.0, 1.0), (1e-3, 1.0), (1e-4, 1e4), (1e-8, 2e-8), (1e8, 2e8)], ids=str)
def test_quantiles_of_odd_mixtures_invert_the_cdf(level, apart, scales):
    """Components `apart` times their largest scale from each other, around zero, one of them three times as often."""
    for times in (1, 3):
        scale = np.array([scales[0], *[scales[1]] * times])[:, None]
        location = apart * max(scales) * np.array([-0.5, *[0.5] * times])[:, None]
        odd = StudentMixture(location, scale, np.array([2.5, *[30.0] * times])[:, None])
        found = odd.quantile(level)
        # Where one component is a spike the cdf jumps between neighbouring floating point numbers.
        gap = np.abs(np.spacing(found)) * 4 + 1e-8 * scale.min()
        assert odd.cdf(found - gap)[0] <= level + 1e-8
        assert odd.cdf(found + gap)[0] >= level - 1e-8


def forest_like(rng, n):
    """Eight components per row, whose scales differ by a factor of a hundred and more."""
    location = 3.0 * rng.normal(size=(8, n))
    scale, dof = np.exp(1.2 * rng.normal(size=(8, n))), rng.uniform(2.4, 30.0, size=(8, n))
    return StudentMixture(location, scale, dof)


def bisected(mixture, level):
    """Quantiles by nothing but halving, and scipy's Student-t."""
    own = t(mixture.dof, mixture.location, mixture.scale).ppf(level)
    low, high = own.min(axis=0), own.max(axis=0)
    for _ in range(80):
        middle = 0.5 * (low + high)
        below = t.cdf(middle, mixture.dof, mixture.location, mixture.scale).mean(axis=0) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)


@pytest.mark.parametrize("level", [*LEVELS, 0.025, 0.3, 0.45, 0.975])
def test_quantiles_are_those_of_bisection(level, rng):
    many = forest_like(rng, 1000)
    error = np.abs(many.quantile(level) - bisected(many, level)) / many.scale.min(axis=0)
    assert error.max() < 1e-7


@pytest.mark.parametrize("level", [0.025, 0.5, 0.9])
def test_quantiles_need_few_looks_at_the_cdf(level, rng, monkeypatch):
    """It is the costly part; rows that are found are not looked at again."""
    many, looked = forest_like(rng, 5000), []
    monkeypatch.setattr(
        "ssgp.distributions.quantile_search.stdtr", lambda dof, z: (looked.append(z.size), stdtr(dof, z))[1]
    )
    many.quantile(level)
    assert sum(looked) < 6 * many.location.size


@pytest.mark.parametrize("level", [1e-30, 1e-9, 1e-6])
def test_quantiles_far_out_invert_the_cdf(level, mixed):
    np.testing.assert_allclose(mixed.cdf(mixed.quantile(level)), level, rtol=1e-6)


@pytest.mark.parametrize("level", [1e-9, 1e-6, 0.001, 0.4, 0.7, 0.999])
def test_tabled_quantiles_are_near_scipys(level):
    dof = np.concatenate([np.linspace(2.01, 50, 1000), [1e3, 1e4, 1e6]])
    np.testing.assert_allclose(standard_quantiles(dof, level), t.ppf(level, dof), rtol=0.005)


def test_quantiles_of_a_row_do_not_depend_on_the_others(rng):
    many = forest_like(rng, 5000)
    np.testing.assert_array_equal(many.quantile(0.3)[4000:4010], many[4000:4010].quantile(0.3))


def test_quantiles_of_no_rows():
    nothing = np.empty((3, 0))
    assert StudentMixture(nothing, nothing, nothing).quantile(0.5).shape == (0,)


def test_quantiles_do_not_cross(mixed):
    levels = np.linspace(0.001, 0.999, 200)
    quantiles = np.stack([mixed.quantile(level) for level in levels])
    assert (np.diff(quantiles, axis=0) > 0).all()


def test_quantile_of_one_component_is_scipys(rng):
    single = mixture(rng, components=1)
    for level in LEVELS:
        expected = t(single.dof[0], single.location[0], single.scale[0]).ppf(level)
        np.testing.assert_allclose(single.quantile(level), expected, rtol=1e-6, atol=1e-9)


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


@pytest.mark.parametrize("y", [-40.0, -1.0, 0.3, 7.0])
def test_crps_is_the_integral_of_the_squared_distance(y, mixed):
    scores = mixed.crps(y)
    for row in range(7):
        assert scores[row] == pytest.approx(naive_crps(components(mixed, row), y), rel=1e-4)


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
