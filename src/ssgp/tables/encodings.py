"""What becomes of one column of a table: one small class for each way to turn it into numbers."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ssgp._utils.arrays import Array, Indices
from ssgp.tables.arrow_columns import Column, compute, instants, numbers, texts

__all__ = ["ColumnEncoding", "Dropped", "Number", "OneHot", "TargetMeans", "Time", "category_codes", "phases"]

DAY = 86_400_000_000
MISSING_TIME = np.iinfo(np.int64).min
CYCLES = {"hour": "hour of day", "weekday": "day of week", "yearday": "day of year"}


class ColumnEncoding(Protocol):
    """What the encoder asks of a column's encoding, once it is fitted."""

    @property
    def name(self) -> str:
        """Of the column."""
        ...

    def feature_names(self) -> list[str]:
        """Of what it becomes, k of them."""
        ...

    def encode(self, column: Column) -> Array:
        """Rows of the column as floats, shape (n, k)."""
        ...

    def describe(self) -> str:
        """What is done to the column, in words."""
        ...


@dataclass(frozen=True)
class Dropped:
    """A column that is left out, and why."""

    name: str
    reason: str

    def feature_names(self) -> list[str]:
        """None."""
        return []

    def encode(self, column: Column) -> Array:
        """Nothing."""
        return np.empty((len(column), 0))

    def describe(self) -> str:
        """Why."""
        return f"dropped: {self.reason}"


@dataclass(frozen=True)
class Number:
    """A number as it is, missing values imputed.

    Attributes
    ----------
    name, holds : str
        Of the column, and what it holds in words.
    median : float
        What a missing value becomes.
    n_missing, n_rows : int
        In fit; with missing values there, a second feature tells where they are.
    varies : bool
        Whether values differed in fit; otherwise the second feature is all that is kept.
    """

    name: str
    holds: str
    median: float
    n_missing: int
    n_rows: int
    varies: bool

    def feature_names(self) -> list[str]:
        """The column's own name, and that of the indicator."""
        return [self.name] * self.varies + _indicator_name(self.name, self.n_missing)

    def encode(self, column: Column) -> Array:
        """Values and indicator."""
        values = numbers(column, self.name)
        missing = np.isnan(values)
        kept = [np.where(missing, self.median, values)] * self.varies + [missing] * bool(self.n_missing)
        return np.column_stack([np.empty((len(values), 0)), *kept])

    def describe(self) -> str:
        """In words."""
        units = {"truth values": "as 0 and 1", "durations": "in seconds"}.get(self.holds, "as they are")
        what = f"{self.holds} {units}" if self.varies else f"always {self.median:g} where it is not missing"
        filled = f"imputed by {self.median:g} with an indicator" if self.varies else "told by an indicator"
        return what + _said_of_missing(self.n_missing, self.n_rows, filled)


@dataclass(frozen=True)
class Time:
    """A date or time as points on circles, of the day, the week and the year, and as days since the first one.

    Attributes
    ----------
    name, holds : str
        Of the column, and what it holds in words.
    zone : str or None
        Time zone whose clock tells hours and days.
    cycles : tuple of str
        Those of `CYCLES` that vary.
    origin : int
        Microseconds since 1970 from which days are counted; there are none where times are of the day.
    median_day : float or None
        What a missing day becomes; None where days do not vary. On the circles it is the centre.
    n_missing, n_rows : int
        In fit; with missing values there, one more feature tells where they are.
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
        """Sine and cosine of every cycle, the days and the indicator."""
        circles = [f"{self.name}_{cycle}_{part}" for cycle in self.cycles for part in ("sin", "cos")]
        days = [] if self.median_day is None else [f"{self.name}_days"]
        return circles + days + _indicator_name(self.name, self.n_missing)

    def encode(self, column: Column) -> Array:
        """Circles, days and indicator."""
        clock, absolute = instants(column, self.name, self.zone)
        missing = clock == MISSING_TIME
        kept = [np.empty((len(clock), 0))]
        turns = phases(np.where(missing, 0, clock))
        for cycle in self.cycles:
            angle = 2.0 * np.pi * turns[cycle]
            kept += [np.where(missing, 0.0, np.sin(angle)), np.where(missing, 0.0, np.cos(angle))]
        if self.median_day is not None:
            kept.append(np.where(missing, self.median_day, (np.where(missing, 0, absolute) - self.origin) / DAY))
        if self.n_missing:
            kept.append(missing)
        return np.column_stack(kept)

    def describe(self) -> str:
        """In words."""
        zone = f" in {self.zone}" if self.zone else ""
        circles = [f"{CYCLES[cycle]} on a circle" for cycle in self.cycles]
        first = f"{np.datetime64(self.origin, 'us').astype('M8[s]')}{' UTC' if self.zone else ''}"
        days = [] if self.median_day is None else [f"days since {first}"]
        what = f"{self.holds}{zone} as {', '.join(circles + days) or 'nothing else, for they are all the same'}"
        return what + _said_of_missing(self.n_missing, self.n_rows, "told by an indicator")


@dataclass(frozen=True)
class OneHot:
    """A category as one feature for each: 1 where the row has it. New ones have none.

    Attributes
    ----------
    name : str
        Of the column.
    categories : array of str, shape (k,)
        In fit, sorted.
    n_missing, n_rows : int
        In fit; with missing values there, they are one more category.
    """

    name: str
    categories: NDArray[Any]
    n_missing: int
    n_rows: int

    def feature_names(self) -> list[str]:
        """One a category."""
        return [f"{self.name}_{category}" for category in self.categories] + _indicator_name(self.name, self.n_missing)

    def encode(self, column: Column) -> Array:
        """One a category."""
        seen = np.arange(len(self.categories) + bool(self.n_missing))
        return (category_codes(column, self.categories)[:, None] == seen).astype(float)

    def describe(self) -> str:
        """In words."""
        what = f"{len(self.categories)} categories, one feature each"
        return what + _said_of_missing(self.n_missing, self.n_rows, "a category of their own")


@dataclass(frozen=True)
class TargetMeans:
    """A category as the smoothed mean of the target in fit. New ones have the mean of all rows.

    Attributes
    ----------
    name : str
        Of the column.
    categories : array of str, shape (k,)
        In fit, sorted.
    means : array of shape (k + 2,)
        Of the categories, of rows where it is missing, and of all rows.
    n_missing, n_rows : int
        In fit.
    """

    name: str
    categories: NDArray[Any]
    means: Array
    n_missing: int
    n_rows: int

    def feature_names(self) -> list[str]:
        """The column's own name."""
        return [self.name]

    def encode(self, column: Column) -> Array:
        """Means; code -1, a new category, is the last of them."""
        return self.means[category_codes(column, self.categories)][:, None]

    def describe(self) -> str:
        """In words."""
        what = f"{len(self.categories):,} categories as the target's mean in each, smoothed"
        return what + _said_of_missing(self.n_missing, self.n_rows, "a category of their own")


def category_codes(column: Column, categories: NDArray[Any]) -> Indices:
    """Number of each row's category, that after the last where it is missing, -1 where it is new."""
    strings = texts(column)
    known = compute.index_in(strings, value_set=pa.array(categories, pa.large_string()))
    codes = np.array(known.fill_null(-1).to_numpy())
    codes[strings.is_null().to_numpy()] = len(categories)
    return codes


def phases(clock: NDArray[np.int64]) -> dict[str, Array]:
    """Where in the day, the week and the year microseconds since 1970 are, from 0 to 1."""
    years = clock.view("M8[us]").astype("M8[Y]")
    starts, ends = ((years + after).astype("M8[us]").view(np.int64) for after in (0, 1))
    return {
        "hour": clock % DAY / DAY,
        # The first of January 1970 was a Thursday, three days after a Monday.
        "weekday": (clock + 3 * DAY) % (7 * DAY) / (7 * DAY),
        "yearday": (clock - starts) / (ends - starts),
    }


def _indicator_name(name: str, n_missing: int) -> list[str]:
    return [f"{name}_missing"] * bool(n_missing)


def _said_of_missing(n_missing: int, n_rows: int, what: str) -> str:
    return f"; {n_missing:,} of {n_rows:,} missing, {what}" if n_missing else ""
