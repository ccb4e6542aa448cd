"""Checks of a user's arguments, with errors that say where, what and what to do instead."""

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d, validate_data

from ssgp._utils.arrays import Array

__all__ = [
    "N_JOBS",
    "check_blocks",
    "check_count",
    "check_inputs",
    "check_levels",
    "check_positive",
    "check_rows",
    "check_target",
    "columns_unchanged_on_error",
]

# What `n_jobs` may be: threads, or all but so many from -1 on; none at all would do nothing.
N_JOBS: list[Any] = [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None]


@contextmanager
def columns_unchanged_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Let the estimator expect the columns it did before if what happens inside raises."""
    names = ("n_features_in_", "feature_names_in_")
    before = {name: vars(estimator)[name] for name in names if name in vars(estimator)}
    try:
        yield
    except BaseException:
        for name in names:
            vars(estimator).pop(name, None)
        vars(estimator).update(before)
        raise


def check_rows(
    estimator: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    blocks: ArrayLike | None,
    reset: bool,
) -> tuple[Array, Array, Array | None, NDArray[Any] | None]:
    """Return training rows as finite arrays: X, y, weights and blocks, rows of weight zero left out."""
    rows = validate_data(
        estimator,
        cast(Any, X),
        cast(Any, y),
        reset=reset,
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        y_numeric=True,
        multi_output=False,
    )
    X, y = cast(tuple[Array, Array], rows)
    y = np.asarray(y, dtype=float)
    _check_finite(estimator, X)
    labels = None if blocks is None else check_blocks(blocks, X)
    if sample_weight is None:
        return X, y, None, labels
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    kept = weight > 0
    if kept.any() and not (weight[kept].min() >= 1e-30 and weight.max() <= 1e30):
        raise ValueError(f"sample_weight must be 0 or from 1e-30 to 1e30, found {weight[kept].min()} to {weight.max()}")
    if not kept.any():
        raise ValueError("sample_weight is zero for every row; at least one must be positive")
    if kept.all():
        return X, y, weight, labels
    return X[kept], y[kept], weight[kept], None if labels is None else labels[kept]


def check_inputs(estimator: BaseEstimator, X: ArrayLike) -> Array:
    """Rows to predict, as a finite float array with the columns seen in fit."""
    rows = validate_data(estimator, cast(Any, X), reset=False, dtype=[np.float64, np.float32], ensure_all_finite=False)
    X = cast(Array, rows)
    _check_finite(estimator, X)
    return X


def _check_finite(estimator: BaseEstimator, X: Array) -> None:
    """Raise an error that names the first column with a missing or infinite value."""
    # A sum is finite unless some entry is not (or it overflows, which the full look then settles).
    with np.errstate(all="ignore"):
        if np.isfinite(X.sum(dtype=float)):
            return
    bad = ~np.isfinite(X)
    if not bad.any():
        return
    column = int(np.flatnonzero(bad.any(axis=0))[0])
    names = getattr(estimator, "feature_names_in_", None)
    raise ValueError(
        f"Input X contains {'NaN' if np.isnan(X[:, column]).any() else 'infinity'} "
        f"in column {column if names is None else repr(str(names[column]))}: "
        f"{int(bad[:, column].sum())} of {len(X)} rows are not finite. "
        f"{type(estimator).__name__} needs finite values; drop or impute these rows first."
    )


def check_blocks(blocks: ArrayLike, X: Array, name: str = "blocks") -> NDArray[Any]:
    """Labels of blocks, one per row."""
    labels = column_or_1d(np.asarray(blocks))
    check_consistent_length(labels, X)
    missing = labels.dtype.kind == "f" and not np.isfinite(labels).all()
    if missing or (labels.dtype.kind == "O" and any(label is None or label != label for label in labels)):
        raise ValueError(f"{name} has missing values; every row needs the label of its block")
    return labels


def check_positive(value: Any, name: str, n_inputs: int | None = None) -> Array:  # noqa: ANN401
    """Positive finite numbers: one, or for `n_inputs` one or one per input."""
    allowed = "a positive number" if n_inputs is None else f"a positive number or {n_inputs} of them, one per input"
    shapes = [()] if n_inputs is None else [(), (n_inputs,)]
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.shape not in shapes or not np.all(np.isfinite(array)) or np.any(array <= 0):
        raise ValueError(f"{name} must be 'auto' or {allowed}, got {value!r}")
    return array


def check_levels(levels: ArrayLike, name: str) -> list[float]:
    """Probabilities strictly between 0 and 1."""
    values = np.atleast_1d(np.asarray(levels, dtype=float))
    if values.ndim != 1 or not values.size or not np.all((values > 0) & (values < 1)):
        raise ValueError(f"{name} must lie between 0 and 1, got {levels!r}")
    return values.tolist()


def check_count(value: Any, name: str, least: int) -> int:  # noqa: ANN401  checked here
    """A whole number that is not below the least."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)


def check_target(y: ArrayLike, X: ArrayLike) -> Array:
    """Finite targets, one per row of X."""
    target = column_or_1d(np.asarray(y, dtype=float))
    check_consistent_length(target, X)
    if not np.isfinite(target).all():
        raise ValueError(
            f"y has {int((~np.isfinite(target)).sum())} values that are not finite, the first in row "
            f"{int(np.argmin(np.isfinite(target)))}"
        )
    return target
