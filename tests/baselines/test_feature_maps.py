"""Random features and their moments, against Monte Carlo."""

import numpy as np
import pytest

from helpers import central_difference
from linear_models import LENGTHS, MAPS, SIGNAL, D, variational
from ssgp.baselines.feature_maps import SpectralMap, VariationalMap


def test_vectors_make_the_same_map(rng):
    X = rng.normal(size=(6, D))
    for make in MAPS.values():
        features = make(rng)
        again = features.with_vector(features.to_vector())
        np.testing.assert_array_equal(again.moments(X).mean, features.moments(X).mean)


@pytest.mark.slow
def test_moments_of_variational_features_by_monte_carlo(rng):
    features, X, n = variational(rng), rng.normal(size=(4, D)), 400_000
    scale = np.exp(features.log_lengthscale)
    e = features.mean + np.exp(features.log_deviation) * rng.normal(size=(n, 5, D))
    b = features.phase + features.half_width * rng.uniform(-1, 1, size=(n, 5))
    amplitude = np.sqrt(2 * np.exp(SIGNAL) / 5)
    means, variances, _ = features.moments(X)
    assert variances is not None
    for x, mean, variance in zip(X, means, variances, strict=True):
        drawn = amplitude * np.cos(np.einsum("nkd,kd->nk", e, (x - features.origin) / scale) + b)
        np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=5 * amplitude / np.sqrt(n))
        np.testing.assert_allclose(drawn.var(axis=0), variance, atol=5 * amplitude**2 / np.sqrt(n))


def test_known_frequencies_and_phases_are_the_limit_of_narrow_posteriors(rng):
    """Frequency k with phases b and b - pi/2 are the cosine and the sine of SSGP."""
    whitened, X = rng.normal(size=(3, D)), rng.normal(size=(20, D))
    narrow = VariationalMap(
        np.tile(whitened, (2, 1)),
        np.full((6, D), -12.0),
        np.zeros((6, D)),
        np.repeat([0.0, -0.5 * np.pi], 3),
        np.full(6, -20.0),
        LENGTHS,
        SIGNAL,
    )
    known = SpectralMap(whitened, LENGTHS, SIGNAL).moments(X).mean
    np.testing.assert_allclose(narrow.moments(X).mean, known, atol=1e-7)
    variance = narrow.moments(X).variance
    assert variance is not None
    assert variance.max() < 1e-7


@pytest.mark.slow
def test_divergence_of_frequencies_and_phases_by_monte_carlo(rng):
    features, n = variational(rng), 400_000
    deviation = np.exp(features.log_deviation)
    z = rng.normal(size=(n, 5, D))
    e = features.mean + deviation * z
    normal = np.sum(-0.5 * z**2 - features.log_deviation + 0.5 * e**2, axis=(1, 2))
    uniform = np.sum(np.log(2 * np.pi / (2 * features.half_width)))
    assert features.divergence()[0] == pytest.approx(normal.mean() + uniform, abs=5 * normal.std() / np.sqrt(n))


def test_gradient_of_the_divergence(rng):
    for make in MAPS.values():
        features = make(rng)
        expected = central_difference(lambda v, f=features: f.with_vector(v).divergence()[0], features.to_vector())
        np.testing.assert_allclose(features.divergence()[1], expected, atol=1e-7)
