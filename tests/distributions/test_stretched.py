"""Stretched distributions, against integrals of their density."""

import numpy as np
import pytest
from scipy.stats import kstest, t

from mixtures import random_mixtures
from ssgp.distributions import NormalDistribution, StretchedDistribution, StudentMixture
from ssgp.distributions.filled import FilledDistribution
from ssgp.distributions.recalibration import Recalibration

LEVELS = [0.001, 0.05, 0.25, 0.5, 0.75, 0.95, 0.999]


@pytest.mark.slow
def test_a_stretched_mixture_against_integrals(rng):
    """Moments, the cumulative distribution, quantiles and draws, from the density alone."""
    row = random_mixtures(rng, 1)
    stretched = Recalibration(0.7, 0.6, 1.8, 12.0)(row)
    grid = np.linspace(-400, 400, 800_001)
    many = Recalibration(0.7, 0.6, 1.8, 12.0)(row[np.zeros(len(grid), dtype=int)])
    density = np.exp(many.logpdf(grid))
    mean = np.trapezoid(grid * density, grid)
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=1e-3)
    assert stretched.mean()[0] == pytest.approx(row.mean()[0] + 0.7)
    assert stretched.mean()[0] == pytest.approx(mean, abs=2e-3)
    assert stretched.variance()[0] == pytest.approx(np.trapezoid((grid - mean) ** 2 * density, grid), rel=0.01)
    for level in LEVELS:
        quantile = stretched.quantile(level)
        assert stretched.cdf(quantile)[0] == pytest.approx(level, rel=1e-6)
        below = grid <= quantile[0]
        assert np.trapezoid(density[below], grid[below]) == pytest.approx(level, abs=1e-3)
    for y in (-3.0, 0.5, 4.0):
        squared = (many.cdf(grid) - (grid >= y)) ** 2
        assert stretched.crps(y)[0] == pytest.approx(np.trapezoid(squared, grid), abs=2e-3)
        assert stretched.excess(y)[0] == pytest.approx(np.trapezoid(np.maximum(grid - y, 0) * density, grid), abs=2e-3)
    assert kstest(stretched.sample(4000, rng)[0], lambda y: np.interp(y, grid, many.cdf(grid))).pvalue > 1e-3


@pytest.mark.parametrize(("below", "above"), [(22000.0, 4.5), (4.5, 22000.0), (22000.0, 22000.0)])
def test_stretched_predictions_have_digits_that_those_before_lack(below, above):
    """A Student-t that spans a thousand floats, and stretched millions of them, against its formulas."""
    place, scale, dof = 1e4, 1e-9, 3.0
    narrow = StudentMixture(*(np.full((1, 1), number) for number in (place, scale, dof)))
    stretched = StretchedDistribution(narrow, 0.05, below, above)
    # Mean excess over zero of a Student-t.
    join = (below - above) * scale * t.pdf(0.0, dof) * dof / (dof - 1.0)
    for level in LEVELS:
        standard = t.ppf(level, dof)
        y = stretched.quantile(level)
        quantile = join + (above if standard > 0 else below) * scale * standard
        assert y[0] - (place + 0.05) == pytest.approx(quantile, abs=1e-11)
        distance = y[0] - stretched.mean()[0] - join
        factor = above if distance > 0 else below
        standard = distance / (factor * scale)
        assert stretched.cdf(y)[0] == pytest.approx(t.cdf(standard, dof), rel=1e-9)
        assert stretched.sf(y)[0] == pytest.approx(t.sf(standard, dof), rel=1e-9)
        assert stretched.pdf(y)[0] == pytest.approx(t.pdf(standard, dof) / (factor * scale), rel=1e-9)


def narrow_distributions(kind, place):
    """Distributions of rows at a place, whose locations are a few floats near 10,000 apart."""
    rng, float_apart = np.random.default_rng(3), np.spacing(1e4)
    location = place + float_apart * rng.integers(-50, 50, (4, 6))
    scale, dof = float_apart * rng.uniform(10.0, 60.0, (4, 6)), rng.uniform(3.0, 30.0, (4, 6))
    mixtures, normals = StudentMixture(location, scale, dof), NormalDistribution(location[0], scale[0])
    places = np.array([1, 4])
    filled = FilledDistribution(normals, mixtures[places], places)
    return {"mixtures": mixtures, "normals": normals, "filled": filled}[kind]


@pytest.mark.parametrize("kind", ["mixtures", "normals", "filled"])
def test_distributions_far_from_zero_are_those_near_it(kind):
    far, near = (StretchedDistribution(narrow_distributions(kind, place), 0.0, 2e4, 7.0) for place in (1e4, 0.0))
    deviation = near.std()
    np.testing.assert_allclose(far.std(), deviation, rtol=1e-5)
    np.testing.assert_allclose((far.mean() - 1e4 - near.mean()) / deviation, 0.0, atol=1e-5)
    np.testing.assert_allclose((far.quantile(LEVELS) - 1e4 - near.quantile(LEVELS)).T / deviation, 0.0, atol=1e-5)
    np.testing.assert_allclose((far.sample(5, 0) - 1e4 - near.sample(5, 0)).T / deviation, 0.0, atol=1e-5)
    for steps in (-4.0, -1.0, -0.01, 0.01, 1.0):
        y = near.mean() + steps * deviation
        for ask in ("cdf", "sf"):
            np.testing.assert_allclose(getattr(far, ask)(1e4 + y), getattr(near, ask)(y), atol=1e-5, err_msg=ask)
        for ask in ("crps", "excess"):
            distance = (getattr(far, ask)(1e4 + y) - getattr(near, ask)(y)) / deviation
            np.testing.assert_allclose(distance, 0.0, atol=1e-5, err_msg=ask)
