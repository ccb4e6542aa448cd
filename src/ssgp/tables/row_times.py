"""Times of rows as numbers that order them."""

from typing import Any

import numpy as np
import pyarrow as pa

from ssgp._utils.arrays import Array
from ssgp.tables.arrow_columns import Column, family, instants, numbers, pandas_column
from ssgp.tables.encodings import MISSING_TIME
from ssgp.tables.text_reading import ORDERS, have_dots, read_text
from ssgp.tables.usual_types import with_usual_types

__all__ = ["row_times", "time_column"]

TIMES = ("times", "times with a time zone")
MICROSECONDS = 1e6
# Units that Arrow has.
UNITS = ("s", "ms", "us", "ns")


def row_times(column: Column, name: str, dates: str = "auto") -> Array:
    """Seconds since 1970, or the numbers of a column of numbers, NaN where a value is missing; shape (n,).

    Parameters
    ----------
    column : column
        Times, numbers, durations, or text that reads as times.
    name : str
        What errors call it.
    dates : "dayfirst", "monthfirst" or "auto"
        How dates such as 3/4/2025 are read: they are an error where it is not said, for parts of a table may differ.
        Dates with dots are European everywhere.
    """
    column = _read(column, name, dates)
    holds = family(column.type)
    if holds in TIMES:
        zone = column.type.tz if pa.types.is_timestamp(column.type) else None
        _, absolute = instants(column, name, zone)
        return np.where(absolute == MISSING_TIME, np.nan, absolute / MICROSECONDS)
    if holds in ("numbers", "durations"):
        return numbers(column, name)
    if holds == "nothing":
        return np.full(len(column), np.nan)
    example = next((str(value) for value in column.drop_null()), "")
    raise ValueError(f"{name} holds {holds}, such as {example!r}; it has to hold times, dates or numbers")


def time_column(values: Any, name: str) -> Column:  # noqa: ANN401
    """A user's times as a column."""
    if hasattr(values, "to_arrow"):
        values = values.to_arrow()
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] not in UNITS:
        values = values.astype(f"{values.dtype.kind}8[s]")
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        try:
            of_pandas = type(values).__module__.partition(".")[0] == "pandas" and hasattr(values, "dtype")
            values = pandas_column(values) if of_pandas else pa.array(values, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise ValueError(f"{name} has values that are no times, dates or numbers: {error}") from error
    return with_usual_types(pa.table({name: values})).column(0)


def _read(column: Column, name: str, dates: str) -> Column:
    """Text as the times that it reads as, anything else as it is."""
    if family(column.type) != "text":
        return column
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    ways = [read_text(column, order) for order in (ORDERS if dates == "auto" else [dates])]
    reading = next((way for way in ways if way is not None and not way.n_unreadable), None)
    if reading is None:
        return column
    if reading.how in ORDERS and dates == "auto" and not (reading.how == "dayfirst" and have_dots(column)):
        raise ValueError(
            f"{name} has dates whose order of day and month is not said: give them as times, as text such as "
            "2025-04-03, or say dates='dayfirst' or 'monthfirst' of a TableEncoder (--dates)"
        )
    return reading.values
