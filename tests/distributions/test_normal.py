"""Normal distributions of rows, against SciPy's."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm, t

from ssgp.distributions.normal import NormalDistribution

MEAN, STD = np.array([-1.0, 0.0, 250.0]), np.array([0.5, 2.0, 30.0])


@pytest.fixture
def normals():
    return NormalDistribution(MEAN, STD)


def test_everything_that_scipy_has(normals):
    y = np.array([-0.3, 5.0, 200.0])
    scipys: Any = norm(MEAN, STD)
    np.testing.assert_allclose(normals.mean(), MEAN)
    np.testing.assert_allclose(normals.std(), STD)
    np.testing.assert_allclose(normals.variance(), scipys.var())
    np.testing.assert_allclose(normals.logpdf(y), scipys.logpdf(y))
    np.testing.assert_allclose(normals.pdf(y), scipys.pdf(y))
    np.testing.assert_allclose(normals.cdf(y), scipys.cdf(y))
    np.testing.assert_allclose(normals.interval(0.8), np.transpose(scipys.interval(0.8)))
    np.testing.assert_allclose(normals.quantile([0.1, 0.7]), np.transpose([scipys.ppf(0.1), scipys.ppf(0.7)]))
    np.testing.assert_allclose(normals.quantile(0.1), scipys.ppf(0.1))


def test_one_number_stands_for_all_rows(normals):
    np.testing.assert_allclose(normals.cdf(0.0), norm.cdf(0.0, MEAN, STD))
    assert normals.crps(0.0).shape == (3,)


@pytest.mark.parametrize("levels", [0.0, 1.0, [0.5, 1.5], []])
def test_levels_lie_between_0_and_1(normals, levels):
    with pytest.raises(ValueError, match="levels must lie between 0 and 1"):
        normals.quantile(levels)
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
        normals.interval(1.0)


@pytest.mark.parametrize("y", [-4.0, 0.2, 3.0])
def test_crps_and_excess_against_integrals(normals, y):
    for row in range(2):
        at = (MEAN[row], STD[row])
        low = quad(lambda x, at=at: norm.cdf(x, *at) ** 2, -30, y)[0]
        high = quad(lambda x, at=at: norm.sf(x, *at) ** 2, y, 30)[0]
        assert normals.crps(y)[row] == pytest.approx(low + high)
        assert normals.excess(y)[row] == pytest.approx(quad(norm.sf, y, 30, at)[0], abs=1e-8)


def test_heavier_tails_are_those_of_student_t(normals):
    heavy = normals.with_tails(5.0)
    np.testing.assert_allclose(heavy.cdf(0.3), t.cdf(0.3, 1 / (1 / 5 + 1e-4), MEAN, STD))


def test_rows_are_taken_as_from_an_array(normals):
    assert len(normals) == 3
    np.testing.assert_array_equal(normals[[2, 0]].mean(), MEAN[[2, 0]])
    np.testing.assert_array_equal(normals[normals.mean() < 0].std(), [0.5])
