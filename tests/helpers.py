"""Oracles that the tests share."""

import numpy as np

from ssgp import SVBSSGPRegressor


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
