"""Frequencies of Matern kernels, against scikit-learn's."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

from ssgp.spectrum.features import features
from ssgp.spectrum.kernels import KERNELS, tail_scales

# Kernels that are compared with scikit-learn's of the same smoothness.
MATERN = {"matern-1/2": 0.5, "matern-3/2": 1.5, "matern-5/2": 2.5}


def test_every_kernel_is_tested():
    """A kernel of another family needs a comparison with its own closed form."""
    assert set(KERNELS) == {"squared-exponential", *MATERN}


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("name", MATERN)
def test_frequencies_average_to_the_matern_kernel(name, d, rng):
    """m = 40,000 frequencies give each entry to 1 / sqrt(2 m) = 0.0035; five times that is allowed."""
    nu = MATERN[name]
    lengthscale, x = 0.7, np.concatenate([np.zeros((1, d)), rng.normal(size=(12, d))])
    factors = rng.permutation(tail_scales(name, 40_000).astype(float))
    frequencies = factors * rng.normal(size=(40_000, d)) / (2 * np.pi * lengthscale)
    expected = Matern(lengthscale, nu=nu)(x[:1], x)  # pyright: ignore[reportArgumentType]
    kernel = features(x[:1], frequencies) @ features(x, frequencies).T / 40_000
    np.testing.assert_allclose(kernel, expected, atol=0.018)


@pytest.mark.parametrize("name", MATERN)
def test_few_factors_are_an_even_sample(name):
    """With the normal part integrated out in closed form, 200 factors are as good as 40,000 draws."""
    x = np.linspace(0.0, 4.0, 30)
    found = np.exp(-0.5 * (tail_scales(name, 200) * x) ** 2).mean(axis=0)
    expected = Matern(1.0, nu=KERNELS[name])(np.zeros((1, 1)), x[:, None])[0]  # pyright: ignore[reportArgumentType]
    np.testing.assert_allclose(found, expected, atol=0.01)


def test_a_squared_exponential_has_no_tail():
    np.testing.assert_array_equal(tail_scales("squared-exponential", 10), np.ones((10, 1)))


@pytest.mark.parametrize("name", MATERN)
@pytest.mark.parametrize("m", [1, 2, 100])
def test_factors_are_one_a_frequency_positive_and_finite(name, m):
    found = tail_scales(name, m)
    assert found.shape == (m, 1)
    assert np.isfinite(found).all()
    assert (found > 0).all()


def test_rougher_kernels_have_heavier_tails():
    largest = [tail_scales(name, 1000).max() for name in ("matern-5/2", "matern-3/2", "matern-1/2")]
    assert largest == sorted(largest)
    assert largest[0] < 0.1 * largest[2]
