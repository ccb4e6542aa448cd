"""How a column's encoding is chosen and fitted from the rows of a table."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.preprocessing import TargetEncoder

from ssgp._utils.arrays import Array
from ssgp._utils.column_errors import UnusableTypeError
from ssgp.tables.arrow_columns import Column, compute, family, instants, numbers, texts
from ssgp.tables.encodings import (
    DAY,
    MISSING_TIME,
    ColumnEncoding,
    Dropped,
    Number,
    OneHot,
    TargetMeans,
    Time,
    category_codes,
    phases,
)

__all__ = ["KINDS", "ColumnFitting", "kind_of"]

FAMILIES = {
    "number": ("numbers", "truth values", "durations", "text"),
    "time": ("times", "times with a time zone", "times of day", "text"),
    "category": ("numbers", "truth values", "durations", "times", "times with a time zone", "times of day", "text"),
}
KINDS = (*FAMILIES, "drop")
# Text that is different in more than this share of its rows names the row.
IDENTIFIER_SHARE = 0.9
IDENTIFIER_ROWS = 30
# Within a shorter time the days since the first one say the same as the day of the year.
LEAST_YEARLY_DAYS = 180


def kind_of(column: Column, name: str, wanted: str | None) -> str:
    """How to encode a column: as the user wants, or by its type."""
    holds = family(column.type)
    if wanted is None:
        return _natural_kind(column, name, holds)
    if wanted == "drop" or holds in ("nothing", *FAMILIES[wanted]):
        return wanted
    raise ValueError(f"column {name!r} holds {holds} ({column.type}), which cannot be encoded as a {wanted}")


def _natural_kind(column: Column, name: str, holds: str) -> str:
    if holds == "nothing":
        return "drop"
    if holds == "other":
        raise UnusableTypeError(name, str(column.type))
    if holds == "text" or pa.types.is_dictionary(column.type):
        return "category"
    return "number" if holds in FAMILIES["number"] else "time"


@dataclass(frozen=True)
class ColumnFitting:
    """Settings of the fit of a column.

    Attributes
    ----------
    y : array of shape (n,) or None
        Targets.
    max_one_hot : int
        Categories up to which each is a feature of its own.
    smooth
        Of scikit-learn's `TargetEncoder`.
    cv, random_state
        Number of folds of cross-fitting, and their seed.
    """

    y: Array | None
    max_one_hot: int
    smooth: float | str
    cv: int
    random_state: int | np.random.RandomState | None

    def __call__(self, column: Column, name: str, wanted: str | None) -> tuple[ColumnEncoding, Array]:
        """The encoding of a column, and what it makes of these very rows: cross-fitted where it knows their targets."""
        kind = kind_of(column, name, wanted)
        if kind == "drop":
            encoding = Dropped(name, "as asked for" if wanted == "drop" else "all values are missing")
        elif kind == "number":
            encoding = fit_number(column, name)
        elif kind == "time":
            encoding = fit_time(column, name)
        else:
            return self._category(column, name, look_for_identifiers=wanted is None)
        return encoding, encoding.encode(column)

    def _category(self, column: Column, name: str, look_for_identifiers: bool) -> tuple[ColumnEncoding, Array]:
        strings = texts(column)
        categories = np.array(sorted(compute.unique(strings).drop_null().to_pylist()), dtype=object)
        n_missing = strings.null_count
        n_present = len(column) - n_missing
        identifies = n_present >= IDENTIFIER_ROWS and len(categories) > IDENTIFIER_SHARE * n_present
        if len(categories) + bool(n_missing) < 2:
            encoding = Dropped(name, _sameness(categories))
        elif look_for_identifiers and identifies:
            encoding = Dropped(name, f"an identifier, {len(categories):,} different values in {n_present:,} rows")
        elif len(categories) > self.max_one_hot:
            return self._target_means(column, name, categories, n_missing)
        else:
            encoding = OneHot(name, categories, n_missing, len(column))
        return encoding, encoding.encode(column)

    def _target_means(
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


def fit_number(column: Column, name: str) -> Number | Dropped:
    """Median and missing values of a column."""
    values = numbers(column, name)
    present = values[~np.isnan(values)]
    n_missing = len(values) - len(present)
    if not len(present):
        return Dropped(name, "all values are missing")
    varies = bool(present.min() < present.max())
    if not varies and not n_missing:
        return Dropped(name, f"always {present[0]:g}")
    return Number(name, family(column.type), float(np.median(present)), n_missing, len(values), varies)


def fit_time(column: Column, name: str) -> Time | Dropped:
    """Cycles that vary, and where days begin."""
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
    """Cycles in which times are not all at one place."""
    turns = phases(clock)
    weekday = np.floor(7 * turns["weekday"])
    varies = {
        "hour": np.ptp(turns["hour"]) > 0,
        "weekday": np.ptp(weekday) > 0,
        "yearday": days.max() >= LEAST_YEARLY_DAYS,
    }
    return tuple(cycle for cycle, does in varies.items() if does)


def _sameness(categories: NDArray[Any]) -> str:
    return f"always {categories[0]!r}" if len(categories) else "all values are missing"
