"""Scores of predictions: errors, densities and coverage.

`rmse` and `mnlp` are the two measures of the paper (section 5).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.metrics import root_mean_squared_error
from sklearn.utils import check_array, check_consistent_length

from ssgp._utils.arrays import Array, Mask

__all__ = ["coverage", "mnlp", "rmse"]


def rmse(y_true: ArrayLike, y_mean: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Root mean squared error.

    Parameters
    ----------
    y_true, y_mean : array-like of shape (n,)
        Observed targets and predicted means.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> rmse([1.0, 2.0], [1.0, 4.0])
    1.4142135623730951
    """
    return float(root_mean_squared_error(y_true, y_mean, sample_weight=sample_weight))


def mnlp(y_true: ArrayLike, y_mean: ArrayLike, y_std: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean negative log probability of the targets under normal predictions.

    Parameters
    ----------
    y_true, y_mean, y_std : array-like of shape (n,)
        Observed targets, and means and deviations of their predictions
        (of an observation, noise included, not of the latent function).
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> round(mnlp([0.0], [0.0], [1.0]), 4)
    0.9189
    """
    true, mean, std = _columns(y_true=y_true, y_mean=y_mean, y_std=y_std)
    if np.any(std <= 0):
        raise ValueError(f"y_std must be positive, found {std.min()} in row {int(std.argmin())}")
    negative_log_density = 0.5 * ((true - mean) / std) ** 2 + np.log(std) + 0.5 * np.log(2 * np.pi)
    return _mean(negative_log_density, sample_weight)


def coverage(
    y_true: ArrayLike,
    y_mean: ArrayLike,
    y_std: ArrayLike,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Share of targets inside their central normal interval.

    Parameters
    ----------
    y_true, y_mean, y_std : array-like of shape (n,)
        Observed targets, and means and deviations of their predictions.
    level : float, default=0.95
        Nominal coverage, between 0 and 1. A calibrated model covers about this share.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> coverage([0.0, 5.0], [0.0, 0.0], [1.0, 1.0], level=0.95)
    0.5
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}")
    true, mean, std = _columns(y_true=y_true, y_mean=y_mean, y_std=y_std)
    inside = np.abs(true - mean) <= ndtri(0.5 + level / 2) * std
    return _mean(inside, sample_weight)


def _mean(row_scores: Array | Mask, sample_weight: ArrayLike | None) -> float:
    """Mean of scores (n,) over the rows, weighted by `sample_weight` (n,) unless that is None."""
    return float(np.average(row_scores, weights=None if sample_weight is None else np.asanyarray(sample_weight)))


def _columns(**columns: ArrayLike) -> list[Array]:
    """Columns as float vectors of one length, shapes (n,); errors name the column."""
    checks: dict[str, Any] = {"ensure_2d": False, "dtype": float}
    checked = [
        np.asarray(check_array(column, input_name=name, **checks)).reshape(-1) for name, column in columns.items()
    ]
    check_consistent_length(*checked)
    return checked
