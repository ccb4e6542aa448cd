"""Quantiles of mixtures, against bisection, SciPy's Student-t and the cumulative distribution."""

import numpy as np
import pytest
from scipy.special import stdtr
from scipy.stats import t

from mixtures import forest_like, mixture
from ssgp.distributions.quantile_search import standard_quantiles
from ssgp.distributions.student_mixture import StudentMixture

LEVELS = [1e-4, 0.05, 0.5, 0.9, 1 - 1e-4]


@pytest.fixture
def mixed(rng):
    return mixture(rng)


def bisected(mixture, level):
    """Quantiles by nothing but halving, and scipy's Student-t."""
    own = t(mixture.dof, mixture.location, mixture.scale).ppf(level)
    low, high = own.min(axis=0), own.max(axis=0)
    for _ in range(80):
        middle = 0.5 * (low + high)
        below = t.cdf(middle, mixture.dof, mixture.location, mixture.scale).mean(axis=0) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)


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


@pytest.mark.slow
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


def test_quantiles_nearer_to_each_other_than_numbers_of_their_size_do_not_cross():
    step = np.spacing(1e9)
    location = -1e9 + step * np.array([0.0, 0.0, 1.0])[:, None]
    narrow = StudentMixture(location, step * np.array([0.5, 0.45, 0.005])[:, None], np.full((3, 1), 22.7))
    quantiles = narrow.quantile(np.linspace(0.01, 0.99, 99))
    assert (np.diff(quantiles) >= 0).all()


@pytest.mark.parametrize("far", [-898.0, 1e6, -1e12])
@pytest.mark.parametrize("level", [0.001, 0.3, 0.4, 0.55, 0.9])
def test_quantiles_have_all_digits_wherever_the_first_component_is(level, far):
    """Of narrow components far from each other, to the spacing of numbers at the quantile."""
    location = np.array([far, 1.0, 62.7, -54.7])[:, None]
    narrow = StudentMixture(location, np.full((4, 1), 1e-9), np.full((4, 1), 21.0))
    found = narrow.quantile(level)
    gap = np.spacing(np.abs(found))
    assert narrow.cdf(found - gap)[0] <= level + 1e-8
    assert narrow.cdf(found + gap)[0] >= level - 1e-8


def test_quantile_of_one_component_is_scipys(rng):
    single = mixture(rng, components=1)
    for level in LEVELS:
        expected = t(single.dof[0], single.location[0], single.scale[0]).ppf(level)
        np.testing.assert_allclose(single.quantile(level), expected, rtol=1e-6, atol=1e-9)
