"""Ways to move one input of a table while all others stay, from which effects are computed."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ssgp._utils.arrays import Indices
from ssgp.plot.inputs import InputTable
from ssgp.tables.arrow_columns import Column, compute, family, instants, numbers, texts
from ssgp.tables.encodings import DAY, MISSING_TIME, OneHot, TargetMeans, Time

__all__ = ["Variation", "variation_of", "variations"]

HOUR, WEEK = DAY // 24, 7 * DAY
# The first of January 1970 was a Thursday, three days after a Monday.
MONDAY = 3 * DAY
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MOST_CATEGORIES = 10


@dataclass(frozen=True)
class Variation:
    """One way to move an input.

    Attributes
    ----------
    column : str
        Name of the column that is moved.
    label : str
        What is moved, in words: the column, or the part of a time.
    scale : {"number", "date", "category"}
        Kind of `values`.
    values : array of shape (k,)
        Values to which all rows are moved, one after another: numbers, dates or names.
    where_rows_are : array of shape (n,)
        Values that the rows have; NaN, NaT or None where there is none.
    moved : callable
        Returns the column with all rows moved to the value of a number from 0 to k - 1.
    """

    column: str
    label: str
    scale: Literal["number", "date", "category"]
    values: NDArray
    where_rows_are: NDArray
    moved: Callable[[int], Column]


def variations(inputs: InputTable, name: str, n_values: int = 20) -> list[Variation]:
    """Ways to move a column: one for numbers and categories; for times the hour, the day of the week and the week.

    Numbers are moved to quantiles of the rows' values and categories to the most frequent ones. Of a time only one
    part is moved, since else a row moved to another week would come to another hour as well. Columns without any value
    have no way to move: nulls, NaN and empty text are no values.
    """
    column, encoding = inputs.column(name), inputs.encodings.get(name)
    # Nulls alone may have any type, also one that the encoding could not read.
    if column.null_count == len(column):
        return []
    if isinstance(encoding, Time):
        return _time_variations(column, encoding, name, n_values)
    if isinstance(encoding, OneHot | TargetMeans) or (encoding is None and inputs.holds(name) == "text"):
        return _category_variations(column, name)
    return _number_variations(column, name, n_values)


def variation_of(inputs: InputTable, column: str | int, part: int = 0, n_values: int = 20) -> Variation:
    """One way to move a column, given by its name or number, or an error that says why there is none."""
    name = column if isinstance(column, str) else inputs.names[column]
    ways = variations(inputs, name, n_values)
    if not ways:
        raise ValueError(f"column {name!r} has no values in these rows")
    if not 0 <= part < len(ways):
        labels = ", ".join(f"{i}: {way.label}" for i, way in enumerate(ways))
        raise ValueError(f"part must be one of {{{labels}}}, got {part!r}")
    return ways[part]


def _number_variations(column: Column, name: str, n_values: int) -> list[Variation]:
    values = numbers(column, name)
    order = np.argsort(values)[: np.isfinite(values).sum()]
    if not len(order):
        return []
    # Values of rows, not between them: whole numbers stay whole, and the column keeps its type.
    at = np.round(np.linspace(0.01, 0.99, n_values) * (len(order) - 1)).astype(int)
    distinct, first = np.unique(values[order[at]], return_index=True)
    return [Variation(name, name, "number", distinct, values, partial(_all_at, column, order[at][first]))]


def _category_variations(column: Column, name: str) -> list[Variation]:
    strings = texts(column).to_pylist()
    counts = Counter(text for text in strings if text is not None)
    if not counts:
        return []
    names = in_order(sorted(counts, key=lambda text: (-counts[text], text))[:MOST_CATEGORIES])
    rows = np.array([strings.index(category) for category in names])
    categories = np.array(strings, dtype=object)
    return [Variation(name, name, "category", np.array(names), categories, partial(_all_at, column, rows))]


def in_order(names: list[str]) -> list[str]:
    """Categories in the order that people expect: of days, months, or numbers inside the text, else of letters.

    Examples
    --------
    >>> in_order(["Tuesday", "Monday"]), in_order(["10 km", "9 km"]), in_order(["good", "Fair"])
    (['Monday', 'Tuesday'], ['9 km', '10 km'], ['Fair', 'good'])
    """
    for order in (WEEKDAYS, MONTHS):
        places = [next((i for i, start in enumerate(order) if name.startswith(start)), -1) for name in names]
        if -1 not in places:
            return [name for _, name in sorted(zip(places, names, strict=True))]
    return sorted(names, key=_as_in_a_catalogue)


def _as_in_a_catalogue(name: str) -> list[tuple[float, str]]:
    """A key that sorts numbers inside text by their size, and letters whatever their case."""
    parts = re.split(r"([0-9]+)", name.casefold())
    return [(float(part), "") if part.isdigit() else (-1.0, part) for part in parts if part]


def _all_at(column: Column, rows: Indices, i: int) -> Column:
    """A column whose rows all have the value of row ``rows[i]``."""
    return column.take(pa.array(np.full(len(column), rows[i])))


def _time_variations(column: Column, encoding: Time, name: str, n_values: int) -> list[Variation]:
    clock, _ = instants(column, name, encoding.zone)
    missing = clock == MISSING_TIME
    present = clock[~missing]
    if not len(present):
        return []
    # Rows without a time are moved as well, from the middle of the others.
    clock = np.where(missing, int(np.median(present)), clock)
    ways = []

    def add(label: str, scale: Literal["number", "date", "category"], values: NDArray, rows: NDArray, to: list) -> None:
        moved = [partial(_clock_column, times, column.type, encoding.zone) for times in to]
        ways.append(Variation(name, f"{name}: {label}", scale, values, rows, lambda i: moved[i]()))

    if "hour" in encoding.cycles:
        hours = np.arange(24)
        row_hours = np.where(missing, np.nan, clock % DAY / HOUR)
        add("hour of day", "number", hours, row_hours, [clock - clock % DAY + hour * HOUR for hour in hours])
    if "weekday" in encoding.cycles:
        weekday = (clock + MONDAY) % WEEK // DAY
        row_days = np.array([*WEEKDAYS, None])[np.where(missing, -1, weekday)]
        moves = [clock + (day - weekday) * DAY for day in range(7)]
        add("day of week", "category", np.array(WEEKDAYS), row_days, moves)
    weeks = np.unique((present + MONDAY) // WEEK)
    if "yearday" in encoding.cycles or (encoding.median_day is not None and len(weeks) > 2):
        shown = weeks[np.unique(np.round(np.linspace(0, len(weeks) - 1, n_values)).astype(int))]
        starts = shown * WEEK - MONDAY
        row_dates = np.where(missing, np.datetime64("NaT"), clock.astype("M8[us]"))
        within_week = (clock + MONDAY) % WEEK
        add("date", "date", starts.astype("M8[us]"), row_dates, [start + within_week for start in starts])
    return ways


def _clock_column(clock: NDArray[np.int64], kind: pa.DataType, zone: str | None) -> Column:
    """Microseconds on the clock of a time zone as a column of a type."""
    if pa.types.is_time(kind):
        return pa.chunked_array([pa.array(clock, pa.time64("us")).cast(kind, safe=False)])
    times = pa.array(clock, pa.timestamp("us"))
    if family(kind) == "times with a time zone":
        times = compute.assume_timezone(times, zone, ambiguous="earliest", nonexistent="earliest")
    return pa.chunked_array([times.cast(kind, safe=False)])
