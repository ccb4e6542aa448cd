"""Ways to move one input of a table while all others stay: what effects are made of."""

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
MOST_CATEGORIES = 10


@dataclass(frozen=True)
class Variation:
    """One way to move an input.

    Attributes
    ----------
    column : str
        Which.
    label : str
        What is moved, in words.
    scale : {"number", "date", "category"}
        What `values` are.
    values : array of shape (k,)
        To which all rows are moved, one after another: numbers, dates or names.
    where_rows_are : array of shape (n,)
        The rows' own values; NaN, NaT or None where there is none.
    moved : callable
        Takes i to the column with all rows moved to the i-th value.
    """

    column: str
    label: str
    scale: Literal["number", "date", "category"]
    values: NDArray
    where_rows_are: NDArray
    moved: Callable[[int], Column]


def variations(inputs: InputTable, name: str, n_values: int = 20) -> list[Variation]:
    """Ways to move a column: one for numbers and categories; for times the hour, the day of the week and the week.

    Numbers are moved to quantiles of the rows' own values and categories to the most frequent ones. Of a time only one
    part is moved, since else a row moved to another week would come to another hour as well. Columns without any value
    have no way to move: nulls, NaN and empty text are none.
    """
    column, encoding = inputs.column(name), inputs.encodings.get(name)
    # Nulls alone may have any type, also one that the encoding could not read.
    if column.null_count == len(column):
        return []
    if isinstance(encoding, Time):
        return _of_times(column, encoding, name, n_values)
    if isinstance(encoding, OneHot | TargetMeans) or (encoding is None and inputs.holds(name) == "text"):
        return _of_categories(column, name)
    return _of_numbers(column, name, n_values)


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


def _of_numbers(column: Column, name: str, n_values: int) -> list[Variation]:
    values = numbers(column, name)
    order = np.argsort(values)[: np.isfinite(values).sum()]
    if not len(order):
        return []
    # Values of rows, not between them: whole numbers stay whole, and no type has to be made.
    at = np.round(np.linspace(0.01, 0.99, n_values) * (len(order) - 1)).astype(int)
    distinct, first = np.unique(values[order[at]], return_index=True)
    return [Variation(name, name, "number", distinct, values, partial(_all_at, column, order[at][first]))]


def _of_categories(column: Column, name: str) -> list[Variation]:
    strings = texts(column).to_pylist()
    counts = Counter(text for text in strings if text is not None)
    if not counts:
        return []
    names = sorted(counts, key=lambda text: (-counts[text], text))[:MOST_CATEGORIES]
    rows = np.array([strings.index(category) for category in names])
    own = np.array(strings, dtype=object)
    return [Variation(name, name, "category", np.array(names), own, partial(_all_at, column, rows))]


def _all_at(column: Column, rows: Indices, i: int) -> Column:
    """A column whose rows all have the value of one of them."""
    return column.take(pa.array(np.full(len(column), rows[i])))


def _of_times(column: Column, encoding: Time, name: str, n_values: int) -> list[Variation]:
    clock, _ = instants(column, name, encoding.zone)
    missing = clock == MISSING_TIME
    known = clock[~missing]
    if not len(known):
        return []
    # Rows without a time are moved as well, from the middle of the others.
    clock = np.where(missing, int(np.median(known)), clock)
    found = []

    def add(label: str, scale: Literal["number", "date", "category"], values: NDArray, rows: NDArray, to: list) -> None:
        moved = [partial(_as_before, time, column, encoding.zone) for time in to]
        found.append(Variation(name, f"{name}: {label}", scale, values, rows, lambda i: moved[i]()))

    if "hour" in encoding.cycles:
        hours = np.arange(24)
        own = np.where(missing, np.nan, clock % DAY / HOUR)
        add("hour of day", "number", hours, own, [clock - clock % DAY + hour * HOUR for hour in hours])
    if "weekday" in encoding.cycles:
        weekday = (clock + MONDAY) % WEEK // DAY
        moves = [clock + (day - weekday) * DAY for day in range(7)]
        own = np.array([*WEEKDAYS, None])[np.where(missing, -1, weekday)]
        add("day of week", "category", np.array(WEEKDAYS), own, moves)
    weeks = np.unique((known + MONDAY) // WEEK)
    if "yearday" in encoding.cycles or (encoding.median_day is not None and len(weeks) > 2):
        some = weeks[np.unique(np.round(np.linspace(0, len(weeks) - 1, n_values)).astype(int))]
        within = (clock + MONDAY) % WEEK
        starts = some * WEEK - MONDAY
        own = np.where(missing, np.datetime64("NaT"), clock.astype("M8[us]"))
        add("date", "date", starts.astype("M8[us]"), own, [start + within for start in starts])
    return found


def _as_before(clock: NDArray[np.int64], column: Column, zone: str | None) -> Column:
    """Times on a clock as a column of another's type."""
    kind = column.type
    if pa.types.is_time(kind):
        return pa.chunked_array([pa.array(clock, pa.time64("us")).cast(kind, safe=False)])
    times = pa.array(clock, pa.timestamp("us"))
    if family(kind) == "times with a time zone":
        times = compute.assume_timezone(times, zone, ambiguous="earliest", nonexistent="earliest")
    return pa.chunked_array([times.cast(kind, safe=False)])
