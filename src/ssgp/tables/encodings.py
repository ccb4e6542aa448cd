"""Fitted encodings of one column: one small class for each way to turn it into numbers."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp.saving.contents import ContentsError, Sizes, array, flag, integer, number, optional, strings, text, tuple_of
from ssgp.saving.kinds import stored
from ssgp.tables.arrow_columns import Column, compute, instants, numbers, texts

__all__ = [
    "ColumnEncoding",
    "Dropped",
    "Number",
    "OneHot",
    "Ordinal",
    "TargetMeans",
    "Time",
    "category_codes",
    "phases",
    "unknown_values",
]

# Microseconds.
DAY = 86_400_000_000
MISSING_TIME = np.iinfo(np.int64).min
# Fewer rows with gaps than these, or than this share of a small table, do not teach what a gap means.
LEAST_MISSING, LEAST_MISSING_SHARE = 20, 0.02
CYCLES = {"hour": "hour of day", "weekday": "day of week", "yearday": "day of year"}


class ColumnEncoding(Protocol):
    """What the encoder asks of a column's encoding."""

    @property
    def name(self) -> str:
        """Name of the column."""
        ...

    def feature_names(self) -> list[str]:
        """Names of the k features that the column becomes."""
        ...

    def encode(self, column: Column) -> Array:
        """Rows of the column as floats, shape (n, k)."""
        ...

    def describe(self) -> str:
        """Description of the encoding, in words."""
        ...


@stored({"name": text(), "reason": text()})
@dataclass(frozen=True)
class Dropped:
    """A column that is left out, and why."""

    name: str
    reason: str

    def feature_names(self) -> list[str]:
        """No names."""
        return []

    def encode(self, column: Column) -> Array:
        """No features: an array of shape (n, 0)."""
        return np.empty((len(column), 0))

    def describe(self) -> str:
        """Why the column is left out."""
        return f"dropped: {self.reason}"


@stored(
    {
        "name": text(),
        "holds": text(),
        "median": number(),
        "n_missing": integer(),
        "n_rows": integer(),
        "varies": flag,
    }
)
@dataclass(frozen=True)
class Number:
    """Numbers as they are, missing values imputed.

    Attributes
    ----------
    name, holds : str
        Name of the column, and what it holds, in words.
    median : float
        Value that a missing one is replaced by.
    n_missing, n_rows : int
        Number of missing values and of rows in fit; where there were missing ones, a second feature indicates them.
    varies : bool
        Whether values differed in fit; otherwise the indicator is the only feature.
    """

    name: str
    holds: str
    median: float
    n_missing: int
    n_rows: int
    varies: bool

    def feature_names(self) -> list[str]:
        """Names of the column and of the indicator."""
        return [self.name] * self.varies + _indicator_name(self.name, self.n_missing)

    def encode(self, column: Column) -> Array:
        """Values and indicator, shape (n, k)."""
        values = numbers(column, self.name)
        missing = np.isnan(values)
        features = [np.where(missing, self.median, values)] * self.varies + [missing] * bool(self.n_missing)
        return np.column_stack([np.empty((len(values), 0)), *features])

    def describe(self) -> str:
        """Description of the encoding, in words."""
        units = {"truth values": "as 0 and 1", "durations": "in seconds"}.get(self.holds, "as they are")
        values = f"{self.holds} {units}" if self.varies else f"always {self.median:g} where it is not missing"
        treatment = f"imputed by {self.median:g} with an indicator" if self.varies else "told by an indicator"
        return values + _missing_note(self.n_missing, self.n_rows, treatment)


def _zone(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
    """A name of a time zone, or a difference from UTC, that Arrow knows."""
    text()(value, sizes)
    try:
        compute.local_timestamp(pa.array([0], pa.timestamp("us", value)))
    except (pa.ArrowException, ValueError) as error:
        raise ContentsError(f"{value!r:.40} is no time zone") from error


@stored(
    {
        "name": text(),
        "holds": text(),
        "zone": optional(_zone),
        "cycles": tuple_of(text(*CYCLES), most=len(CYCLES)),
        "origin": integer(-(2**63)),
        "median_day": optional(number()),
        "n_missing": integer(),
        "n_rows": integer(),
    }
)
@dataclass(frozen=True)
class Time:
    """A date or time as points on circles, of the day, the week and the year, and as days since the first one.

    Attributes
    ----------
    name, holds : str
        Name of the column, and what it holds, in words.
    zone : str or None
        Time zone whose clock gives hours and days.
    cycles : tuple of str
        Keys of the `CYCLES` that vary.
    origin : int
        Microseconds since 1970 from which days are counted; not used where times are of the day.
    median_day : float or None
        Day that a missing one is replaced by; None where days do not vary. On the circles it is the centre.
    n_missing, n_rows : int
        Number of missing values and of rows in fit; where there were missing ones, one more feature indicates them.
    """

    name: str
    holds: str
    zone: str | None
    cycles: tuple[str, ...]
    origin: int
    median_day: float | None
    n_missing: int
    n_rows: int

    def feature_names(self) -> list[str]:
        """Names of the sine and cosine of every cycle, of the days and of the indicator."""
        circles = [f"{self.name}_{cycle}_{part}" for cycle in self.cycles for part in ("sin", "cos")]
        days = [] if self.median_day is None else [f"{self.name}_days"]
        return circles + days + _indicator_name(self.name, self.n_missing)

    def encode(self, column: Column) -> Array:
        """Points on circles, days and indicator, shape (n, k)."""
        clock, absolute = instants(column, self.name, self.zone)
        missing = clock == MISSING_TIME
        features = [np.empty((len(clock), 0))]
        phase = phases(np.where(missing, 0, clock))
        for cycle in self.cycles:
            angle = 2.0 * np.pi * phase[cycle]
            features += [np.where(missing, 0.0, np.sin(angle)), np.where(missing, 0.0, np.cos(angle))]
        if self.median_day is not None:
            features.append(np.where(missing, self.median_day, (np.where(missing, 0, absolute) - self.origin) / DAY))
        if self.n_missing:
            features.append(missing)
        return np.column_stack(features)

    def describe(self) -> str:
        """Description of the encoding, in words."""
        zone = f" in {self.zone}" if self.zone else ""
        circles = [f"{CYCLES[cycle]} on a circle" for cycle in self.cycles]
        first = f"{np.datetime64(self.origin, 'us').astype('M8[s]')}{' UTC' if self.zone else ''}"
        days = [] if self.median_day is None else [f"days since {first}"]
        times = f"{self.holds}{zone} as {', '.join(circles + days) or 'nothing else, for they are all the same'}"
        return times + _missing_note(self.n_missing, self.n_rows, "told by an indicator")


@stored({"name": text(), "categories": strings("k"), "n_missing": integer(), "n_rows": integer()})
@dataclass(frozen=True)
class OneHot:
    """Categories as one feature each: 1 where the row has it. New categories are 0 everywhere.

    Attributes
    ----------
    name : str
        Name of the column.
    categories : array of str, shape (k,)
        Categories in fit, sorted.
    n_missing, n_rows : int
        Number of missing values and of rows in fit; where there were missing ones, they are one more category.
    """

    name: str
    categories: NDArray[Any]
    n_missing: int
    n_rows: int

    def feature_names(self) -> list[str]:
        """Names of the features, one per category."""
        return [f"{self.name}_{category}" for category in self.categories] + _indicator_name(self.name, self.n_missing)

    def encode(self, column: Column) -> Array:
        """Indicators of the categories, shape (n, k)."""
        codes = np.arange(len(self.categories) + bool(self.n_missing))
        return (category_codes(column, self.categories)[:, None] == codes).astype(float)

    def describe(self) -> str:
        """Description of the encoding, in words."""
        categories = f"{len(self.categories)} categories, one feature each"
        return categories + _missing_note(self.n_missing, self.n_rows, "a category of their own")


@stored(
    {
        "name": text(),
        "categories": strings("k"),
        "median": number(),
        "n_missing": integer(),
        "n_rows": integer(),
    }
)
@dataclass(frozen=True)
class Ordinal:
    """Categories with an order as their places in it, from 0; missing and new ones are imputed.

    Attributes
    ----------
    name : str
        Name of the column.
    categories : array of str, shape (k,)
        Categories in their order.
    median : float
        Place that a missing one is replaced by.
    n_missing, n_rows : int
        Number of missing values and of rows in fit; where there were missing ones, a second feature indicates them.
    """

    name: str
    categories: NDArray[Any]
    median: float
    n_missing: int
    n_rows: int

    def feature_names(self) -> list[str]:
        """Names of the column and of the indicator."""
        return [self.name, *_indicator_name(self.name, self.n_missing)]

    def encode(self, column: Column) -> Array:
        """Places and indicator, shape (n, k)."""
        codes = category_codes(column, self.categories)
        missing = codes == len(self.categories)
        places = np.where(missing | (codes < 0), self.median, codes)
        return np.column_stack([places, *([missing] if self.n_missing else [])]).astype(float)

    def describe(self) -> str:
        """Description of the encoding, in words."""
        categories = f"{len(self.categories)} categories as their places in the order"
        treatment = f"imputed by place {self.median:g} with an indicator"
        return categories + _missing_note(self.n_missing, self.n_rows, treatment)


@stored(
    {
        "name": text(),
        "categories": strings("k"),
        "means": array("float64", "means"),
        "n_missing": integer(),
        "n_rows": integer(),
    },
    relations=lambda p: [(len(p.means) == len(p.categories) + 2, "there must be two means more than categories")],
)
@dataclass(frozen=True)
class TargetMeans:
    """Categories as the smoothed means of the target in fit. New categories have the mean of all rows.

    Attributes
    ----------
    name : str
        Name of the column.
    categories : array of str, shape (k,)
        Categories in fit, sorted.
    means : array of shape (k + 2,)
        Means of the categories, of rows where the category is missing, and of all rows.
    n_missing, n_rows : int
        Number of missing values and of rows in fit.
    """

    name: str
    categories: NDArray[Any]
    means: Array
    n_missing: int
    n_rows: int

    def feature_names(self) -> list[str]:
        """Name of the column."""
        return [self.name]

    def encode(self, column: Column) -> Array:
        """Means of the rows' categories, shape (n, 1); the code of a new category is -1, that of the last mean."""
        return self.means[category_codes(column, self.categories)][:, None]

    def describe(self) -> str:
        """Description of the encoding, in words."""
        categories = f"{len(self.categories):,} categories as the target's mean in each, smoothed"
        return categories + _missing_note(self.n_missing, self.n_rows, "a category of their own")


def category_codes(column: Column, categories: NDArray[Any]) -> Indices:
    """Number of each row's category among k, shape (n,); k where it is missing, -1 where it is new."""
    strings = texts(column)
    positions = compute.index_in(strings, value_set=pa.array(categories, pa.large_string()))
    codes = np.array(positions.fill_null(-1).to_numpy())
    codes[strings.is_null().to_numpy()] = len(categories)
    return codes


def unknown_values(encoding: ColumnEncoding, column: Column, replaced: bool) -> Mask:
    """Where fit had no values like them, shape (n,): new categories, and missing ones where none were missing.

    Where they are `replaced` by others, missing ones are among them where hardly any were missing as well.
    """
    if not isinstance(encoding, OneHot | Ordinal | TargetMeans | Number | Time):
        return np.zeros(len(column), bool)
    few = min(LEAST_MISSING, LEAST_MISSING_SHARE * encoding.n_rows) if replaced else 1
    few_missing = encoding.n_missing < max(few, 1)
    if isinstance(encoding, OneHot | Ordinal | TargetMeans):
        codes = category_codes(column, encoding.categories)
        return (codes < 0) | ((codes == len(encoding.categories)) & few_missing)
    if few_missing and isinstance(encoding, Number):
        return np.isnan(numbers(column, encoding.name))
    if few_missing and isinstance(encoding, Time):
        return instants(column, encoding.name, encoding.zone)[0] == MISSING_TIME
    return np.zeros(len(column), bool)


def phases(clock: NDArray[np.int64]) -> dict[str, Array]:
    """Phases of the day, the week and the year, from 0 to 1, of microseconds since 1970; shapes (n,)."""
    years = clock.view("M8[us]").astype("M8[Y]")
    starts, ends = ((years + n_years).astype("M8[us]").view(np.int64) for n_years in (0, 1))
    return {
        "hour": clock % DAY / DAY,
        # The first of January 1970 was a Thursday, three days after a Monday.
        "weekday": (clock + 3 * DAY) % (7 * DAY) / (7 * DAY),
        "yearday": (clock - starts) / (ends - starts),
    }


def _indicator_name(name: str, n_missing: int) -> list[str]:
    return [f"{name}_missing"] * bool(n_missing)


def _missing_note(n_missing: int, n_rows: int, treatment: str) -> str:
    return f"; {n_missing:,} of {n_rows:,} missing, {treatment}" if n_missing else ""
