"""Checks of a user's arguments, with errors that say where, what and what to do instead."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from numbers import Integral
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _num_samples, check_array, check_consistent_length, column_or_1d, validate_data

from ssgp._utils.arrays import Array
from ssgp._utils.column_errors import ExtremeValuesError, WeightError
from ssgp._utils.foreign_arrays import on_host
from ssgp._utils.warning import warn_user

__all__ = [
    "COLUMNS",
    "N_JOBS",
    "GroupNumbers",
    "WeightTotals",
    "check_blocks",
    "check_count",
    "check_inputs",
    "check_levels",
    "check_numbers",
    "check_positive",
    "check_rows",
    "check_target",
    "check_total_weight",
    "check_weights",
    "columns_unchanged_on_error",
    "is_number",
]

# The smallest weight but zero: float32 has smaller ones, but not their inverses' squares.
LEAST_WEIGHT = 1e-30
# Numbers of rows that a table can count for, at most so many or so many for each of its rows,
LEAST_TOTAL = 2.0
ROUNDING = 1e-9
MOST_TOTAL, MOST_MEAN = 1e9, 1e3
# and a number for each below which there is a warning.
LITTLE_MEAN = 0.1
# One row may count for at most so many times all others: beside it, they are the rounding of float32.
MOST_TIMES_OTHERS = 1e4
# Attributes of an estimator that are of its table.
COLUMNS = ("n_features_in_", "feature_names_in_", "encoder_")
# What `n_jobs` may be: threads, or all but so many from -1 on; none at all would do nothing.
N_JOBS: list[Any] = [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None]


@contextmanager
def columns_unchanged_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Let the estimator expect the columns it did before if what happens inside raises, and errors have their names."""
    before = {name: vars(estimator)[name] for name in COLUMNS if name in vars(estimator)}
    try:
        yield
    except BaseException as error:
        column = _column_of(estimator, error)
        for name in COLUMNS:
            vars(estimator).pop(name, None)
        vars(estimator).update(before)
        if isinstance(error, ExtremeValuesError):
            raise ExtremeValuesError(error.feature, column) from error
        raise


def _column_of(estimator: BaseEstimator, error: BaseException) -> str | None:
    """Name of the column whose values are too extreme, if they are and it has one."""
    if not isinstance(error, ExtremeValuesError) or error.feature is None:
        return None
    encoder = getattr(estimator, "encoder_", None)
    names = getattr(estimator, "feature_names_in_", None) if encoder is None else encoder.feature_columns()
    return None if names is None else str(names[error.feature])


def check_rows(
    estimator: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    blocks: ArrayLike | None,
    reset: bool,
    whole: bool = True,
) -> tuple[Array, Array, Array | None, NDArray[Any] | None]:
    """Return training rows as finite arrays: X, y, weights and blocks, rows of weight zero left out.

    Of rows that are not the `whole` table, how much they count for together is for the caller to check.
    """
    X, y = on_host(X), on_host(y)
    check_numbers(y)
    with _text_named(X):
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
    _check_finite_target(y)
    _check_finite(estimator, X)
    labels = None if blocks is None else check_blocks(blocks, X)
    if sample_weight is None:
        return X, y, None, labels
    weight = check_weights(sample_weight, X, whole)
    kept = weight > 0
    if kept.all():
        return X, y, weight, labels
    return X[kept], y[kept], weight[kept], None if labels is None else labels[kept]


def check_weights(sample_weight: ArrayLike, X: ArrayLike, whole: bool = True) -> Array:
    """Numbers of rows that each row of X counts for, shape (n,); some are zero, not all."""
    weight = _one_number_per_row(sample_weight, X)
    for found, rule in ((~np.isfinite(weight), "be finite"), (weight < 0.0, "not be negative")):
        if found.any():
            raise WeightError(
                f"sample_weight must {rule}: it says how many rows each row counts for, and is "
                f"{weight[found][0]} in row {int(np.argmax(found))} ({int(found.sum()):,} of {len(weight):,} rows)"
            )
    least = weight.min(initial=np.inf, where=weight > 0)
    if least < LEAST_WEIGHT:
        raise WeightError(f"sample_weight must be 0 or at least {LEAST_WEIGHT}, found {least}")
    if not weight.any():
        raise WeightError("sample_weight is zero for every row; at least one must be positive")
    if whole:
        check_total_weight(WeightTotals.of(weight))
    return weight


def _one_number_per_row(sample_weight: ArrayLike, X: ArrayLike) -> Array:
    """Weights as floats, one number given for all rows or one for each."""
    n_rows = _num_samples(X)
    try:
        numbers = check_array(
            on_host(sample_weight), dtype="float64", ensure_2d=False, ensure_all_finite=False, ensure_min_samples=0
        )
    except (TypeError, ValueError) as error:
        raise WeightError(f"sample_weight must have a number for each of the {n_rows:,} rows: {error}") from error
    weight = np.full(n_rows, float(numbers)) if numbers.ndim == 0 else numbers
    if weight.shape != (n_rows,):
        raise WeightError(f"sample_weight must have a number for each of the {n_rows:,} rows, got shape {weight.shape}")
    return weight


@dataclass(frozen=True)
class WeightTotals:
    """How many rows have a weight, what their weights sum to, and the largest of them; of parts, they add up."""

    n_rows: int = 0
    total: float = 0.0
    largest: float = 0.0

    @classmethod
    def of(cls, weight: Array) -> "WeightTotals":
        """Totals of weights (n,)."""
        with np.errstate(over="ignore"):
            return cls(int(np.count_nonzero(weight)), float(weight.sum(dtype=float)), float(weight.max(initial=0.0)))

    def __add__(self, other: "WeightTotals") -> "WeightTotals":
        return WeightTotals(self.n_rows + other.n_rows, self.total + other.total, max(self.largest, other.largest))


def check_total_weight(found: WeightTotals, growing: bool = False) -> None:
    """Refuse weights of a table that cannot be numbers of rows; warn of a table that counts for few.

    A table that is `growing` may count for as little as it does so far.
    """
    n_rows, total, others = found.n_rows, found.total, found.total - found.largest
    if n_rows > 1 and found.largest > MOST_TIMES_OTHERS * others:
        raise WeightError(
            f"sample_weight has one row of weight {found.largest:.3g}, more than {MOST_TIMES_OTHERS:,.0f} times that "
            f"of the {n_rows - 1:,} others together, {others:.3g}: nothing can be learned from these beside it. Look "
            "for a mistake in that row's weight"
        )
    least, most = min(LEAST_TOTAL, n_rows), max(MOST_TOTAL, MOST_MEAN * n_rows)
    if total < (1.0 - ROUNDING) * least and not growing:
        raise WeightError(
            f"sample_weight sums to {total:.3g}: a row of weight k counts for k rows, so that all would count for "
            f"fewer than {least:.0f}. If only ratios of the weights matter, divide them by their mean, "
            f"{total / n_rows:.3g}"
        )
    if total > most:
        raise WeightError(
            f"sample_weight sums to {total:.3g}: a row of weight k counts for k rows, and more than {most:.3g} of them "
            "are beyond what can be computed. If only ratios of the weights matter, divide them by their mean, "
            f"{total / n_rows:.3g}"
        )
    if total < LITTLE_MEAN * n_rows:
        warn_user(
            f"sample_weight sums to {total:.3g} for {n_rows:,} rows: a row of weight k counts for k rows, so the model "
            "is as unsure as if it had seen so few. If only ratios of the weights matter, divide them by their mean, "
            f"{total / n_rows:.3g}"
        )


def check_inputs(estimator: BaseEstimator, X: ArrayLike) -> Array:
    """Rows to predict, as a finite float array with the columns seen in fit."""
    if not _is_as_in_fit(estimator, X):
        X = on_host(X)
        with _text_named(X):
            X = validate_data(
                estimator, cast(Any, X), reset=False, dtype=[np.float64, np.float32], ensure_all_finite=False
            )
    rows = cast(Array, X)
    _check_finite(estimator, rows)
    return rows


@contextmanager
def _text_named(X: Any) -> Iterator[None]:  # noqa: ANN401
    """Context in which text among the inputs is an error that names the first column with some."""
    try:
        yield
    except ValueError as error:
        # Names that are not those of fit are worse.
        found = None if str(error).startswith("The feature names should match") else _first_text(X)
        if found is None:
            raise
        raise ValueError(
            f"column {found[0]} of X holds text, such as {found[1]!r}, where numbers are needed: learn from a data "
            "frame (pandas, polars or Arrow) with encoder='auto', which takes text, dates and missing values"
        ) from error


def _first_text(X: Any) -> tuple[str, str] | None:  # noqa: ANN401
    """Name or number of the first column with text that is no number, and that text; None where there is none."""
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "OUS":
        return None
    names = getattr(X, "column_names", getattr(X, "columns", None))
    for i, column in enumerate(array.T):
        text = next((value for value in column if isinstance(value, str) and not is_number(value)), None)
        if text is not None:
            return (str(i) if names is None else repr(str(names[i]))), str(text)
    return None


def is_number(text: str) -> bool:
    """Whether text reads as a float."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_as_in_fit(estimator: BaseEstimator, X: ArrayLike) -> bool:
    """Whether X is a plain array as scikit-learn would return it: looking takes it longer than one row's prediction."""
    return (
        type(X) is np.ndarray
        and X.dtype in (np.float64, np.float32)
        and X.ndim == 2
        and len(X) > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
    )


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
    missing = np.isnan(X[:, column]).any()
    way_out = ", or learn from a data frame (pandas, polars or Arrow), in which values may be missing"
    if names is not None:
        # A table of numbers, all of which were there in fit: it was not encoded.
        way_out = ", or fit with encoder=TableEncoder(), by which new rows may lack values that were always there"
    raise ValueError(
        f"Input X contains {'NaN' if missing else 'infinity'} "
        f"in column {column if names is None else repr(str(names[column]))}: "
        f"{int(bad[:, column].sum())} of {len(X)} rows are not finite. "
        f"{type(estimator).__name__} needs finite values; drop or impute these rows first{way_out if missing else ''}."
    )


def check_blocks(blocks: ArrayLike, X: ArrayLike, name: str = "blocks", of: str = "block") -> NDArray[Any]:
    """Labels of blocks, one per row."""
    labels = np.asarray(on_host(blocks))
    if labels.ndim == 0 or labels[:1].size > 1:
        found = f"{labels.item()!r:.60}" if labels.ndim == 0 else f"an array of shape {labels.shape}"
        raise ValueError(f"{name} must be an array with one label per row, that of its {of}, got {found}")
    labels = column_or_1d(labels)
    check_consistent_length(labels, X)
    # NumPy makes text of what is missing in a list that has text.
    if _lacks_some(np.array(blocks, dtype=object) if isinstance(blocks, list | tuple) else labels):
        raise ValueError(f"{name} has missing values; every row needs the label of its {of}")
    return labels


def _lacks_some(labels: NDArray[Any]) -> bool:
    """Whether some labels are missing: None, not a number, or what pandas has for that."""
    if labels.dtype.kind in "mM":
        return bool(np.isnat(labels).any())
    if labels.dtype.kind == "O":
        # Neither is equal to itself; pandas' own says not even that it is not.
        return any(label is None or (label == label) is not True for label in labels.tolist())
    return labels.dtype.kind == "f" and not np.isfinite(labels).all()


class GroupNumbers:
    """Numbers of groups by the first appearance of their labels, over all parts of a table."""

    def __init__(self) -> None:
        self._number: dict[Any, int] = {}

    def __len__(self) -> int:
        return len(self._number)

    def of(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Numbers of the groups with these labels (n,)."""
        number = self._number
        return np.array([number.setdefault(label, len(number)) for label in labels.tolist()], dtype=np.int64)

    def check(self) -> None:
        """Refuse a table of a single group."""
        if len(self._number) < 2:
            raise ValueError(
                f"groups has the one label {next(iter(self._number), None)!r}: groups are held out as a whole, which "
                "takes at least two"
            )


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


def check_numbers(y: ArrayLike) -> None:
    """Refuse targets that are no numbers, though NumPy may make some of them."""
    values = np.asarray(y)
    if values.dtype.kind in "biuf":
        return
    for row, value in enumerate(values.ravel()):
        found = _no_number(value)
        if found is not None:
            holds, remedy = found
            raise ValueError(f"y has to hold numbers, and holds {holds}: {str(value)!r:.60} in row {row}{remedy}")


def _no_number(value: Any) -> tuple[str, str] | None:  # noqa: ANN401  any value of an array
    """What a target is that is no number, nor text that reads as one, and what to do; None for these and gaps."""
    if isinstance(value, str):
        return None if is_number(value) else ("text", "")
    if isinstance(value, date | np.datetime64):
        return "dates", "; days since one of them are numbers"
    if isinstance(value, timedelta | np.timedelta64):
        return "durations", "; in seconds or days they are numbers"
    return (
        ("complex numbers", ". Complex data not supported") if isinstance(value, complex | np.complexfloating) else None
    )


def check_target(y: ArrayLike, X: ArrayLike) -> Array:
    """Finite targets, one per row of X."""
    y = on_host(y)
    check_numbers(y)
    target = column_or_1d(np.asarray(y, dtype=float))
    check_consistent_length(target, X)
    _check_finite_target(target)
    return target


def _check_finite_target(y: Array) -> None:
    finite = np.isfinite(y)
    if not finite.all():
        raise ValueError(
            f"y has {int((~finite).sum())} values that are not finite, the first in row {int(np.argmin(finite))}"
        )
