import numpy as np
import pytest

from helpers import central_difference, naive_features, squared_exponential
from ssgp.spectrum.features import features, frequency_gradient


def test_features_are_cosines_then_sines(rng):
    X, R = rng.normal(size=(7, 3)), rng.normal(size=(4, 3))
    np.testing.assert_allclose(features(X, R), naive_features(X, R), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_keep_the_dtype_of_the_rows(rng, dtype):
    assert features(rng.normal(size=(5, 2)).astype(dtype), rng.normal(size=(3, 2))).dtype == dtype


def test_inner_products_converge_to_the_squared_exponential_kernel(rng):
    lengthscale = np.array([0.7, 1.9])
    X = rng.normal(size=(12, 2))
    exact = squared_exponential(X, X, lengthscale, 1.7)
    errors = []
    for m in (100, 10_000, 200_000):
        R = rng.normal(size=(m, 2)) / (2 * np.pi * lengthscale)
        phi = features(X, R)
        errors.append(np.abs(1.7 / m * phi @ phi.T - exact).max())
    # A mean of m bounded cosines: the error falls as m^-1/2, here below 5 deviations of each of 144 entries.
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 5 * 1.7 / np.sqrt(200_000)


def test_frequency_gradient_against_central_differences(rng):
    X, R, weights = rng.normal(size=(6, 2)), rng.normal(size=(3, 2)), rng.normal(size=(6, 6))
    phi = features(X, R)
    numeric = central_difference(lambda R: np.sum(np.sin(weights * features(X, R))), R)
    by_phi = weights * np.cos(weights * phi)
    np.testing.assert_allclose(frequency_gradient(by_phi, phi, X), numeric, rtol=1e-6, atol=1e-7)
