"""What the scores take: targets, distributions, levels and weights, checked."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length

from ssgp._utils.arrays import Array, Mask
from ssgp._utils.checks import check_levels

__all__ = ["Predicted", "averages", "check_levels", "check_predicted", "check_vectors", "mean", "one_or_all"]


# Predictive distributions of n rows: what `predict_distribution` returns, or any object with a length and those of its
# methods that a score asks. One with point masses also has `cdf_left`, the probabilities of less than y.
Predicted: TypeAlias = Any


def check_predicted(y_true: ArrayLike, distribution: Predicted, method: str) -> Array:
    """Targets (n,), for distributions of as many rows that have this method."""
    if not callable(getattr(distribution, method, None)):
        raise TypeError(
            f"distribution must be what predict_distribution(X) of a regressor returns, got {_in_words(distribution)}. "
            "Of means and deviations, ssgp.distributions.NormalDistribution.of(mean, std) makes one"
        )
    (true,) = check_vectors(y_true=y_true)
    if len(true) != len(distribution):
        raise ValueError(f"y_true has {len(true):,} targets, and distribution {len(distribution):,} rows")
    return true


def _in_words(value: object) -> str:
    return f"{type(value).__name__} of shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__


def check_vectors(**columns: ArrayLike) -> list[Array]:
    """Columns as float vectors of one length, shapes (n,); errors name the column."""
    checks: dict[str, Any] = {"ensure_2d": False, "dtype": float}
    checked = [
        np.asarray(check_array(column, input_name=name, **checks)).reshape(-1) for name, column in columns.items()
    ]
    check_consistent_length(*checked)
    return checked


def mean(row_scores: Array | Mask, sample_weight: ArrayLike | None) -> float:
    """Mean of scores (n,) over the rows, weighted by `sample_weight` (n,) unless that is None."""
    return float(averages(row_scores, sample_weight))


def averages(row_scores: Array | Mask, sample_weight: ArrayLike | None) -> Array:
    """Means of scores (n,) or (n, k) over the rows, weighted by `sample_weight` (n,) unless that is None."""
    if sample_weight is None:
        return np.mean(row_scores, axis=0)
    (weight,) = check_vectors(sample_weight=sample_weight)
    check_consistent_length(row_scores, weight)
    if weight.min() < 0 or not weight.any():
        raise ValueError("sample_weight must not be negative, and one weight at least must be positive")
    return np.average(row_scores, axis=0, weights=weight)


def one_or_all(values: Array, levels: ArrayLike) -> Any:  # noqa: ANN401  float or Array
    """Values of k levels: a float where `levels` is a number, otherwise an array of shape (k,)."""
    return float(values[0]) if np.ndim(levels) == 0 else values
