"""Fitting the encoding of a column: which kind it is, and its parameters."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.preprocessing import TargetEncoder

from ssgp._utils.arrays import Array
from ssgp._utils.column_errors import UnusableTypeError
from ssgp.tables.arrow_columns import Column, compute, family, instants, named_arrow_errors, numbers, texts
from ssgp.tables.encodings import (
    DAY,
    MISSING_TIME,
    ColumnEncoding,
    Dropped,
    Number,
    OneHot,
    Ordinal,
    TargetMeans,
    Time,
    category_codes,
    phases,
)

__all__ = ["KINDS", "ColumnFitter"]

# Families of columns that can be encoded as a kind.
FAMILIES = {
    "number": ("numbers", "truth values", "durations", "text"),
    "time": ("times", "times with a time zone", "times of day", "text"),
    "category": ("numbers", "truth values", "durations", "times", "times with a time zone", "times of day", "text"),
}
KINDS = (*FAMILIES, "drop")
# Text that is different in more than this share of its rows, of at least so many, names the row.
IDENTIFIER_SHARE = 0.9
LEAST_IDENTIFIER_ROWS = 30
# Over fewer days the day of the year says no more than the days since the first.
LEAST_YEARLY_DAYS = 180
# Whole numbers up to this one are floats without rounding.
LARGEST_EXACT = 2**53


def kind_of(column: Column, name: str, chosen: str | None) -> str:
    """Kind of encoding of a column: as the user chose, or by its type where that is None."""
    holds = family(column.type)
    if chosen is None:
        return _kind_of_type(column.type, name)
    if chosen == "drop" or holds in ("nothing", *FAMILIES[chosen]):
        return chosen
    raise ValueError(f"column {name!r} holds {holds} ({column.type}), which cannot be encoded as a {chosen}")


def _kind_of_type(column_type: pa.DataType, name: str) -> str:
    holds = family(column_type)
    if holds == "nothing":
        return "drop"
    if holds == "other":
        raise UnusableTypeError(name, str(column_type))
    if holds == "text" or pa.types.is_dictionary(column_type):
        return "category"
    return "number" if holds in FAMILIES["number"] else "time"


@dataclass(frozen=True)
class ColumnFitter:
    """Fits encodings to the columns of a table.

    Attributes
    ----------
    y : array of shape (n,) or None
        Targets.
    max_one_hot : int
        Most categories that become one feature each.
    smooth : float or "auto"
        Smoothing of the target's means, as in scikit-learn's `TargetEncoder`.
    cv, random_state
        Number of folds of cross-fitting, and their seed.
    """

    y: Array | None
    max_one_hot: int
    smooth: float | str
    cv: int
    random_state: int | np.random.RandomState | None

    def __call__(self, column: Column, name: str, chosen: str | None) -> tuple[ColumnEncoding, Array]:
        """Fit the encoding of a column; return it, and the encoded rows, cross-fitted where they depend on targets."""
        with named_arrow_errors(name):
            return self._fit(column, name, chosen)

    def _fit(self, column: Column, name: str, chosen: str | None) -> tuple[ColumnEncoding, Array]:
        kind = kind_of(column, name, chosen)
        if kind == "drop":
            encoding = Dropped(name, "as asked for" if chosen == "drop" else "all values are missing")
        elif kind == "number":
            encoding = fit_number(column, name)
        elif kind == "time":
            encoding = fit_time(column, name)
        else:
            return self._fit_category(column, name, drop_identifiers=chosen is None)
        return encoding, encoding.encode(column)

    def _fit_category(self, column: Column, name: str, drop_identifiers: bool) -> tuple[ColumnEncoding, Array]:
        ordered = _ordered_categories(column)
        if ordered is not None and drop_identifiers:
            encoding = fit_ordinal(column, name, ordered)
            return encoding, encoding.encode(column)
        strings = texts(column)
        categories = np.array(sorted(compute.unique(strings).drop_null().to_pylist()), dtype=object)
        n_missing = strings.null_count
        n_present = len(column) - n_missing
        identifies = n_present >= LEAST_IDENTIFIER_ROWS and len(categories) > IDENTIFIER_SHARE * n_present
        if len(categories) + bool(n_missing) < 2:
            encoding = Dropped(name, f"always {categories[0]!r}" if len(categories) else "all values are missing")
        elif drop_identifiers and identifies:
            encoding = Dropped(name, f"an identifier, {len(categories):,} different values in {n_present:,} rows")
        elif len(categories) > self.max_one_hot:
            return self._fit_target_means(column, name, categories, n_missing)
        else:
            encoding = OneHot(name, categories, n_missing, len(column))
        return encoding, encoding.encode(column)

    def _fit_target_means(
        self, column: Column, name: str, categories: NDArray[Any], n_missing: int
    ) -> tuple[TargetMeans, Array]:
        if self.y is None:
            raise ValueError(
                f"column {name!r} has {len(categories)} categories, more than max_one_hot={self.max_one_hot}: they are "
                "encoded by the target's means, and fit got no y"
            )
        codes = category_codes(column, categories)[:, None]
        encoder = TargetEncoder(target_type="continuous", smooth=cast(Any, self.smooth))
        folds = KFold(min(self.cv, len(column)), shuffle=True, random_state=self.random_state)
        cross_fitted = cross_val_predict(encoder, codes, self.y, cv=folds, method=cast(Any, "transform"))
        encoder.fit(codes, self.y)
        means = np.full(len(categories) + 2, float(encoder.target_mean_))
        means[encoder.categories_[0]] = encoder.encodings_[0]
        return TargetMeans(name, categories, means, n_missing, len(column)), np.asarray(cross_fitted)


def _ordered_categories(column: Column) -> list[str] | None:
    """Distinct categories in their order, where the column says that they have one."""
    if not (pa.types.is_dictionary(column.type) and column.type.ordered and column.num_chunks):
        return None
    values = column.unify_dictionaries().chunk(0).dictionary
    return list(dict.fromkeys(texts(pa.chunked_array([values])).drop_null().to_pylist()))


def fit_ordinal(column: Column, name: str, categories: list[str]) -> Ordinal | Dropped:
    """Fit an encoding of categories with an order: their median and missing values."""
    codes = category_codes(column, np.array(categories, dtype=object))
    present = codes[codes < len(categories)]
    n_missing = len(codes) - len(present)
    if not len(present):
        return Dropped(name, "all values are missing")
    if present.min() == present.max() and not n_missing:
        return Dropped(name, f"always {categories[present[0]]!r}")
    order = np.array(categories, dtype=object)
    return Ordinal(name, order, float(np.floor(np.median(present))), n_missing, len(codes))


def fit_number(column: Column, name: str) -> Number | Dropped:
    """Fit an encoding of numbers: their median and missing values."""
    values = numbers(column, name)
    present = values[~np.isnan(values)]
    n_missing = len(values) - len(present)
    if not len(present):
        return Dropped(name, "all values are missing")
    varies = bool(present.min() < present.max())
    if not varies and not n_missing:
        rounded = pa.types.is_integer(column.type) and abs(present[0]) > LARGEST_EXACT
        return Dropped(name, f"always {present[0]:g}{', to which such integers are rounded' if rounded else ''}")
    return Number(name, family(column.type), float(np.median(present)), n_missing, len(values), varies)


def fit_time(column: Column, name: str) -> Time | Dropped:
    """Fit an encoding of times: cycles that vary, and the time from which days are counted."""
    zone = column.type.tz if pa.types.is_timestamp(column.type) else None
    clock, absolute = instants(column, name, zone)
    present = clock != MISSING_TIME
    clock, absolute, n_missing = clock[present], absolute[present], int((~present).sum())
    if not len(clock):
        return Dropped(name, "all values are missing")
    if clock.min() == clock.max() and not n_missing:
        return Dropped(name, "always the same time")
    days = (absolute - absolute.min()) / DAY
    dated = family(column.type) != "times of day" and days.max() > 0
    median = float(np.median(days)) if dated else None
    cycles = _varying_cycles(clock, days)
    return Time(name, family(column.type), zone, cycles, int(absolute.min()), median, n_missing, len(present))


def _varying_cycles(clock: NDArray[np.int64], days: Array) -> tuple[str, ...]:
    """Cycles in which times differ."""
    phase = phases(clock)
    weekday = np.floor(7 * phase["weekday"])
    varies = {
        "hour": np.ptp(phase["hour"]) > 0,
        "weekday": np.ptp(weekday) > 0,
        "yearday": days.max() >= LEAST_YEARLY_DAYS,
    }
    return tuple(cycle for cycle in varies if varies[cycle])
