"""Stretched distributions, against integrals of their density."""

import numpy as np
import pytest
from scipy.stats import kstest

from mixtures import random_mixtures
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
