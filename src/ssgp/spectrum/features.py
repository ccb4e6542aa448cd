"""Trigonometric features of rows, whose inner products are the sparse spectrum kernel (eq. 2)."""

import numpy as np

from ssgp._utils.arrays import Array

__all__ = ["features", "frequency_gradient", "trend_features"]

TWO_PI = 2.0 * np.pi


def features(X: Array, frequencies: Array, out: Array | None = None) -> Array:
    """Cosines and sines of rows, ``[cos(2 pi X R^T), sin(2 pi X R^T)]``.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows. The features have the dtype of `X`: float32 cosines are about
        twenty times cheaper than float64 ones.
    frequencies : array of shape (m, d)
        Spectral frequencies R, one per row.
    out : array of shape (2m, n), optional
        Where to write the transpose.

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
    columns = np.empty((2 * n_frequencies, len(X)), dtype=X.dtype) if out is None else out
    np.cos(phase, out=columns[:n_frequencies])
    np.sin(phase, out=columns[n_frequencies:])
    return columns.T


def frequency_gradient(grad_phi: Array, phi: Array, X: Array) -> Array:
    """Gradient with respect to the frequencies, from that with respect to the features.

    Parameters
    ----------
    grad_phi : array of shape (n, 2m)
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
    grad_phase = grad_phi[:, m:] * phi[:, :m]
    grad_phase -= grad_phi[:, :m] * phi[:, m:]
    return TWO_PI * (grad_phase.T @ X)


def trend_features(X: Array, lengthscale: Array, n_frequencies: int, out: Array | None = None) -> Array:
    """Constant and linear features of rows, ``[sqrt(m), sqrt(m / d) X / l]``, beside those of m frequencies.

    Under one prior for all weights the constant and the linear features each have the signal variance of all m
    frequencies together: a block's level and slope need not be a sum of slow cosines.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.
    lengthscale : array of shape (d,)
        Lengthscales l.
    n_frequencies : int
        m.
    out : array of shape (1 + d, n), optional
        Where to write the transpose.

    Returns
    -------
    array of shape (n, 1 + d)
        In column-major order, in the dtype of `X`.
    """
    n_rows, n_inputs = X.shape
    columns = np.empty((1 + n_inputs, n_rows), dtype=X.dtype) if out is None else out
    columns[0] = np.sqrt(n_frequencies)
    slope = (np.sqrt(n_frequencies / n_inputs) / lengthscale).astype(X.dtype)
    np.multiply(X.T, slope[:, None], out=columns[1:])
    return columns.T
