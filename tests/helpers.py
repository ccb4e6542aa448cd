"""Oracles that the tests share."""

import numpy as np

from ssgp import SpectralForestRegressor, SVBSSGPRegressor


def central_difference(function, x, step=1e-6):
    """Gradient of a scalar function by central differences, in the shape of x."""
    x = np.asarray(x, dtype=float)
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        moved = x.copy()
        moved[index] += step
        up = function(moved)
        moved[index] -= 2 * step
        gradient[index] = (up - function(moved)) / (2 * step)
    return gradient


def squared_exponential(A, B, lengthscale, signal_variance):
    """Textbook kernel, with loops."""
    K = np.empty((len(A), len(B)))
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            K[i, j] = signal_variance * np.exp(-0.5 * np.sum(((a - b) / lengthscale) ** 2))
    return K


def naive_features(X, frequencies):
    """One feature at a time."""
    columns = [np.cos(2 * np.pi * X @ r) for r in frequencies] + [np.sin(2 * np.pi * X @ r) for r in frequencies]
    return np.stack(columns, axis=1)


def dual_gp(K, K_star, k_star_star, y, noise):
    """Mean and variance of the latent function of an exact GP, by dense matrices."""
    inverse = np.linalg.inv(K + noise * np.eye(len(y)))
    return K_star @ inverse @ y, k_star_star - np.einsum("ij,jk,ik->i", K_star, inverse, K_star)


def quick(**settings):
    """A small regressor with a small budget."""
    return SVBSSGPRegressor(**{"n_frequencies": 10, "max_iter": 800, "n_draws": 3, "random_state": 0, **settings})


def small_forest(**settings):
    """A small forest with a small budget."""
    small = {"n_trees": 3, "n_frequencies": 8, "max_iter": 60, "n_jobs": 1, "random_state": 0}
    return SpectralForestRegressor(**{**small, **settings})


def wavy(n, seed=0, d=2, noise=0.1):
    """Rows of a smooth function of the first two of d inputs: X, y and the function."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, d))
    latent = np.sin(2 * X[:, 0]) + np.cos(1.5 * X[:, 1])
    return X, latent + noise * rng.normal(size=n), latent
