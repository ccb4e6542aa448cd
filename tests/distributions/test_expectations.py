"""Means and variances of functions of mixtures, against adaptive quadrature."""

from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import t

from mixtures import components, mixture
from ssgp.distributions.filled import FilledDistribution
from ssgp.distributions.normal import NormalDistribution
from ssgp.distributions.recalibration import Recalibration
from ssgp.distributions.student_mixture import StudentMixture


def softplus(z, rows=None):
    return np.logaddexp(0.0, z)


def integral(function, parts):
    """Mean of a function under an equal mixture of SciPy's distributions."""
    return np.mean([part.expect(function, epsabs=1e-11, epsrel=1e-10, limit=500) for part in parts])


@pytest.mark.slow
@pytest.mark.parametrize("shift", [-5.0, 0.0, 4.0])
def test_moments_of_a_smooth_function(rng, shift):
    narrow = mixture(rng, n=4)
    found = StudentMixture(narrow.location + shift, 0.4 * narrow.scale, narrow.dof + 2.0)
    mean, variance = found.moments_of(softplus)
    for row in range(len(found)):
        parts = components(found, row)
        first = integral(softplus, parts)
        second = integral(lambda z, first=first: (softplus(z) - first) ** 2, parts)
        assert mean[row] == pytest.approx(first, rel=1e-4)
        assert np.sqrt(variance[row]) == pytest.approx(np.sqrt(second), rel=2e-3)


def test_linear_functions_have_the_moments_of_the_mixture(rng):
    predicted = mixture(rng, n=50)
    mean, variance = predicted.moments_of(lambda z, rows: 3.0 + 2.0 * z)
    np.testing.assert_allclose(mean, 3.0 + 2.0 * predicted.mean(), atol=1e-4)
    # The heaviest tails, of three degrees of freedom, reach beyond the last node.
    np.testing.assert_allclose(variance, 4.0 * predicted.variance(), rtol=2e-3)


def test_a_mean_does_not_depend_on_other_rows(rng):
    predicted = mixture(rng, n=300)
    mean, variance = predicted.moments_of(softplus)
    for rows in (slice(7, 8), slice(100, 299), np.array([5])):
        some = predicted[rows].moments_of(softplus)
        np.testing.assert_array_equal(some[0], mean[rows])
        np.testing.assert_array_equal(some[1], variance[rows])


def test_the_function_is_told_of_rows(rng):
    """Of any number of them, in parts, and of rows that are filled."""
    n = 3000
    predicted, offset = mixture(rng, n=n), np.arange(n) / 100.0
    places = np.arange(5, n, 7)
    filled = FilledDistribution(predicted, predicted[places + 1 - (places == n - 1)], places)
    for distribution in (predicted, filled):
        mean, _ = distribution.moments_of(lambda z, rows: z + offset[rows])
        np.testing.assert_allclose(mean, distribution.mean() + offset, atol=1e-4)


def test_normal_distributions(rng):
    predicted = NormalDistribution(rng.normal(size=5), rng.uniform(0.1, 2.0, size=5))
    mean, _ = predicted.moments_of(lambda z, rows: expit(z))
    for row in range(5):
        part: Any = t(1e4, predicted.location[row], predicted.scale[row])
        assert mean[row] == pytest.approx(integral(expit, [part]), rel=1e-6)


def test_stretched_distributions(rng):
    """Their slope has a step in the middle, where the rule is less exact."""
    stretched: Any = Recalibration(0.3, 0.8, 1.4, 20.0)(mixture(rng, n=6))
    mean, variance = stretched.moments_of(lambda z, rows: z)
    np.testing.assert_allclose(mean, stretched.mean(), atol=3e-3)
    np.testing.assert_allclose(np.sqrt(variance), stretched.std(), rtol=3e-3)
