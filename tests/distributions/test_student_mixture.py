"""Everything a mixture of Student-t's says, against scipy's Student-t."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import stdtr
from scipy.stats import kstest, t

from ssgp.distributions.student_mixture import StudentMixture, average, standard_quantiles

LEVELS = [1e-4, 0.05, 0.5, 0.9, 1 - 1e-4]


def mixture(rng, n=7, components=3, weighted=False):
    location, scale = rng.normal(size=(components, n)), rng.uniform(0.2, 3.0, size=(components, n))
    share = rng.dirichlet(np.ones(components), size=n).T if weighted else None
    return StudentMixture(location, scale, rng.uniform(3.0, 40.0, size=(components, n)), share)


def shares(mixture):
    return np.full(mixture.location.shape, 1 / len(mixture.location)) if mixture.share is None else mixture.share


def components(mixture, row):
    """Probabilities and scipy's distributions of one row."""
    frozen: list[Any] = [
        t(mixture.dof[k, row], mixture.location[k, row], mixture.scale[k, row]) for k in range(len(mixture.dof))
    ]
    return shares(mixture)[:, row], frozen


@pytest.fixture(params=[False, True], ids=["equal shares", "shares"])
def mixed(request, rng):
    return mixture(rng, weighted=request.param)


def test_mean_and_variance_against_scipy(mixed):
    mean, variance = mixed.mean(), mixed.variance()
    for row in range(7):
        share, parts = components(mixed, row)
        first = sum(p * part.mean() for p, part in zip(share, parts, strict=True))
        second = sum(p * (part.var() + part.mean() ** 2) for p, part in zip(share, parts, strict=True))
        assert mean[row] == pytest.approx(first)
        assert variance[row] == pytest.approx(second - first**2)


def test_density_and_cdf_against_scipy(mixed, rng):
    y = 3 * rng.normal(size=7)
    density, cumulative = mixed.log_density(y), mixed.cdf(y)
    for row in range(7):
        share, parts = components(mixed, row)
        assert np.exp(density[row]) == pytest.approx(sum(share * [part.pdf(y[row]) for part in parts]))
        assert cumulative[row] == pytest.approx(sum(share * [part.cdf(y[row]) for part in parts]))


def test_moments_above_the_mean_against_integrals(mixed):
    mean, excess, upper = mixed.mean(), mixed.mean_excess(), mixed.upper_variance()
    for row in range(7):
        share, parts = components(mixed, row)
        assert excess[row] == pytest.approx(share @ [upper_moment(part, mean[row], 1) for part in parts], rel=1e-5)
        assert upper[row] == pytest.approx(share @ [upper_moment(part, mean[row], 2) for part in parts], rel=1e-5)


def upper_moment(part, mean, power):
    return quad(lambda y: (y - mean) ** power * part.pdf(y), mean, np.inf)[0]


def test_density_far_out_is_finite(mixed):
    density = mixed.log_density(np.full(7, 1e30))
    assert np.isfinite(density).all()
    assert (density < -100).all()


@pytest.mark.parametrize("level", LEVELS)
def test_quantiles_invert_the_cdf(level, mixed):
    np.testing.assert_allclose(mixed.cdf(mixed.quantile(level)), level, rtol=1e-6)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("apart", [0.0, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("scales", [(1.0, 1.0), (1e-3, 1.0), (1e-4, 1e4), (1e-8, 2e-8), (1e8, 2e8)], ids=str)
def test_quantiles_of_odd_mixtures_invert_the_cdf(level, apart, scales):
    """Components `apart` times their largest scale from each other, around zero, in unequal shares."""
    scale = np.array(scales)[:, None]
    location = apart * max(scales) * np.array([[-0.5], [0.5]])
    for share in (None, np.array([[0.3], [0.7]]), np.array([[1e-3], [1 - 1e-3]])):
        odd = StudentMixture(location, scale, np.array([[2.5], [30.0]]), share)
        found = odd.quantile(level)
        # Where one component is a spike the cdf jumps between neighbouring floating point numbers.
        gap = np.abs(np.spacing(found)) * 4 + 1e-8 * scale.min()
        assert odd.cdf(found - gap)[0] <= level + 1e-8
        assert odd.cdf(found + gap)[0] >= level - 1e-8


def forest_like(rng, n):
    """Eight components a row, whose scales differ by a factor of a hundred and more, in some rows in unequal shares."""
    location = 3.0 * rng.normal(size=(8, n))
    scale, dof = np.exp(1.2 * rng.normal(size=(8, n))), rng.uniform(2.4, 30.0, size=(8, n))
    return StudentMixture(location, scale, dof, rng.dirichlet(np.full(8, 0.5), size=n).T)


def bisected(mixture, level):
    """Quantiles by nothing but halving, and scipy's Student-t."""
    own = t(mixture.dof, mixture.location, mixture.scale).ppf(level)
    low, high = own.min(axis=0), own.max(axis=0)
    for _ in range(80):
        middle = 0.5 * (low + high)
        below = np.sum(mixture.share * t.cdf(middle, mixture.dof, mixture.location, mixture.scale), axis=0) < level
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
        "ssgp.distributions.student_mixture.stdtr", lambda dof, z: (looked.append(z.size), stdtr(dof, z))[1]
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
    np.testing.assert_array_equal(many.quantile(0.3)[4000:4010], many.rows(slice(4000, 4010)).quantile(0.3))


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
        share, parts = components(mixed, row)

        def cdf(y, share=share, parts=parts):
            return sum(p * part.cdf(y) for p, part in zip(share, parts, strict=True))

        assert kstest(draws[row], cdf).pvalue > 1e-3 / 7


def test_rows_are_sampled_independently(rng):
    """Correlation of 40,000 pairs is within 4 / sqrt(40,000)."""
    same = StudentMixture(np.zeros((2, 2)), np.ones((2, 2)), np.full((2, 2), 10.0))
    draws = same.sample(40_000, rng)
    assert abs(np.mean(draws[0] * draws[1])) / (draws[0].std() * draws[1].std()) < 0.02


def test_a_component_of_no_share_does_not_count(mixed, rng):
    def widen(array, value):
        return np.concatenate([array, np.full((1, 7), value)])

    wide = StudentMixture(
        widen(mixed.location, 100.0), widen(mixed.scale, 5.0), widen(mixed.dof, 3.0), widen(shares(mixed), 0.0)
    )
    y = rng.normal(size=7)
    np.testing.assert_allclose(wide.mean(), mixed.mean())
    np.testing.assert_allclose(wide.variance(), mixed.variance())
    np.testing.assert_allclose(wide.log_density(y), mixed.log_density(y))
    np.testing.assert_allclose(wide.cdf(y), mixed.cdf(y))
    np.testing.assert_allclose(wide.quantile(0.9), mixed.quantile(0.9), rtol=1e-6, atol=1e-6)


def test_a_component_of_no_share_does_not_hide_the_density_of_the_others():
    both = StudentMixture(np.zeros((2, 1)), np.array([[1.0], [100.0]]), np.full((2, 1), 1e4), np.array([[1.0], [0.0]]))
    assert both.log_density(np.array([100.0]))[0] == pytest.approx(t.logpdf(100.0, 1e4))


def test_average(rng):
    values, share = rng.normal(size=(3, 4)), rng.dirichlet(np.ones(3), size=4).T
    np.testing.assert_allclose(average(values, None), values.sum(axis=0) / 3)
    np.testing.assert_allclose(average(values, share), [share[:, i] @ values[:, i] for i in range(4)])
