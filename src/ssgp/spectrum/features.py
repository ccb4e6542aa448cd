"""Trigonometric features and the sparse spectrum kernel they span (eq. 2)."""

import numpy as np

from ssgp._utils.arrays import Array

__all__ = ["features", "frequency_gradient", "spectral_kernel", "trend_features"]

TWO_PI = 2.0 * np.pi


def features(X: Array, frequencies: Array) -> Array:
    """Map rows to ``[cos(2 pi X R^T), sin(2 pi X R^T)]``.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows. The features have the dtype of `X`: float32 cosines are some
        twenty times cheaper than float64 ones.
    frequencies : array of shape (m, d)
        Spectral frequencies R, one a row.

    Returns
    -------
    array of shape (n, 2m)
        In column-major order: each feature is contiguous, so the cosines run at
        full vector width and products with the features need no copy.

    Examples
    --------
    >>> import numpy as np
    >>> features(np.array([[0.0], [0.25]]), np.array([[1.0]])).round(12)
    array([[1., 0.],
           [0., 1.]])
    """
    n_frequencies = len(frequencies)
    phase = np.asarray(TWO_PI * frequencies, dtype=X.dtype) @ X.T
    by_feature = np.empty((2 * n_frequencies, len(X)), dtype=X.dtype)
    np.cos(phase, out=by_feature[:n_frequencies])
    np.sin(phase, out=by_feature[n_frequencies:])
    return by_feature.T


def frequency_gradient(feature_gradient: Array, phi: Array, X: Array) -> Array:
    """Carry a gradient with respect to the features over to the frequencies.

    Parameters
    ----------
    feature_gradient : array of shape (n, 2m)
        Derivative of a scalar with respect to ``phi``.
    phi : array of shape (n, 2m)
        ``features(X, frequencies)``.
    X : array of shape (n, d)
        The rows.

    Returns
    -------
    array of shape (m, d)
        Derivative of the same scalar with respect to the frequencies.
    """
    m = phi.shape[1] // 2
    by_phase = feature_gradient[:, m:] * phi[:, :m]
    by_phase -= feature_gradient[:, :m] * phi[:, m:]
    return TWO_PI * (by_phase.T @ X)


def trend_features(X: Array, lengthscale: Array, n_frequencies: int) -> Array:
    """Constant and linear functions, ``[sqrt(m), sqrt(m / d) X / l]``, to stand beside m frequencies.

    Under one prior for all weights each of the two kinds has the signal variance of the m waves
    together: a block's level and slope need not be made up from slow waves.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.
    lengthscale : array of shape (d,)
        Lengthscales l.
    n_frequencies : int
        m.

    Returns
    -------
    array of shape (n, 1 + d)
        In column-major order, in the dtype of `X`.
    """
    n_rows, n_inputs = X.shape
    by_feature = np.empty((1 + n_inputs, n_rows), dtype=X.dtype)
    by_feature[0] = np.sqrt(n_frequencies)
    slope = (np.sqrt(n_frequencies / n_inputs) / lengthscale).astype(X.dtype)
    np.multiply(X.T, slope[:, None], out=by_feature[1:])
    return by_feature.T


def spectral_kernel(A: Array, B: Array, frequencies: Array, signal_variance: float = 1.0) -> Array:
    """Sparse spectrum kernel: ``signal_variance / m sum_i cos(2 pi r_i (a - b))``.

    It converges to the squared exponential kernel with lengthscales l as the
    number m of frequencies drawn from N(0, diag(1 / (2 pi l))^2) grows.

    Parameters
    ----------
    A : array of shape (n, d)
        Rows.
    B : array of shape (k, d)
        Rows.
    frequencies : array of shape (m, d)
        Spectral frequencies.
    signal_variance : float
        Variance of the latent function.

    Returns
    -------
    array of shape (n, k)
        The kernel matrix.
    """
    scale = signal_variance / len(frequencies)
    return scale * (features(A, frequencies) @ features(B, frequencies).T)
