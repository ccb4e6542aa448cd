"""Any table as an Arrow table, and its columns as arrays of numbers, texts and times."""

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray
from sklearn.utils import check_array

from ssgp._utils.arrays import Array, Mask
from ssgp._utils.column_errors import InfiniteValuesError
from ssgp._utils.foreign_arrays import on_host
from ssgp.tables.usual_types import with_usual_types

__all__ = [
    "ONE_ROW",
    "UNNAMED",
    "Column",
    "compute",
    "family",
    "given_rows",
    "instants",
    "is_array",
    "named_arrow_errors",
    "needs_encoding",
    "numbers",
    "pandas_column",
    "selected_rows",
    "texts",
    "to_table",
]

# A pyarrow.ChunkedArray: pyarrow has no annotations, and makes its functions when it is imported.
Column = Any
compute: Any = pyarrow.compute
ONE_ROW = "table.iloc[[0]]"
UNNAMED = "X is an array without names, and fit saw a table: give a table with the same names"
UNITS_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def is_array(X: Any) -> bool:  # noqa: ANN401  a user's
    """Whether X is an array or nested lists, whose columns have no names."""
    table_methods = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__", "to_arrow")
    return not isinstance(X, pa.Table | pa.RecordBatch) and not any(hasattr(X, name) for name in table_methods)


def given_rows(X: Any) -> Any:  # noqa: ANN401
    """A user's rows, those that can be read once as a table; an error for what is neither a table nor an array."""
    X = on_host(X)
    if type(X) is np.ndarray and X.dtype.kind not in "mMV":
        return X
    remedy = _remedy(X)
    if remedy is not None:
        raise ValueError(f"X must be a table or an array of rows and columns, got {type(X).__name__}{remedy}")
    if not is_array(X) and getattr(X, "shape", (0, 1))[1:] == (0,):
        raise ValueError("X is a table without columns")
    read_once = hasattr(X, "__arrow_c_stream__") and not hasattr(X, "shape")
    return pa.table(X) if read_once else X


def _remedy(X: Any) -> str | None:  # noqa: ANN401
    """What to do with what is no table and no array; None for these, and for what looks like them."""
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        return "; collect() it first"
    if isinstance(X, str | bytes | os.PathLike):
        return "; read the file first, as by pandas.read_csv"
    records = isinstance(X, list | tuple) and len(X) and isinstance(X[0], Mapping)
    if records or (isinstance(X, Mapping) and not hasattr(X, "shape")):
        return "; make a table of it first, as by pandas.DataFrame(X)"
    dtype: Any = getattr(X, "dtype", None)
    if getattr(dtype, "names", None):
        return " with fields; make a table of it first, as by pandas.DataFrame(X)"
    if is_array(X) and getattr(dtype, "kind", None) in ("m", "M"):
        return f" of {dtype}; make a table of it first, as by pandas.DataFrame(X)"
    return "" if X is None else None


def to_table(X: Any, needed: Collection[str] | None = None) -> pa.Table:  # noqa: ANN401
    """A pandas, polars or Arrow table, or an array of numbers (its columns x0, x1, ...), as an Arrow table.

    Of columns that are not `needed` only the names are sure: all are if it is None.
    """
    table = _from_array(X) if is_array(X) else _from_table(X, needed)
    if not isinstance(table, pa.Table):
        raise ValueError(f"X must be a table or an array of rows and columns, got {type(X).__name__}{_remedy(X) or ''}")
    names = Counter(name for name in table.column_names if needed is None or name in needed)
    name, times = names.most_common(1)[0] if names else ("", 0)
    if times > 1:
        raise ValueError(f"X has {times} columns called {name!r}; names must be different")
    return with_usual_types(table)


def needs_encoding(X: Any) -> bool:  # noqa: ANN401
    """Whether X is a table of anything but numbers and truth values, all of them there; no array is."""
    if is_array(X) or len(getattr(X, "shape", (0, 0))) != 2:
        return False
    return not all(_is_number_without_gaps(column) for column in to_table(X).columns)


def _is_number_without_gaps(column: Column) -> bool:
    if column.null_count or not (pa.types.is_boolean(column.type) or is_plain_number(column.type)):
        return False
    return not (pa.types.is_floating(column.type) and compute.any(compute.is_nan(column)).as_py())


def is_plain_number(kind: pa.DataType) -> bool:
    """Whether values of a type are integers or floats."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind)


def selected_rows(X: Any, chosen: Mask) -> Any:  # noqa: ANN401
    """Rows of a mask: of an array as an array, of any table as an Arrow table."""
    return np.asarray(on_host(X))[chosen] if is_array(X) else to_table(X).filter(pa.array(chosen))


def _from_table(X: Any, needed: Collection[str] | None) -> Any:  # noqa: ANN401
    if isinstance(X, pa.Table):
        return X
    if hasattr(X, "to_frame") and len(getattr(X, "shape", ())) == 1:
        raise ValueError(
            f"X must be a table or an array of rows and columns, got {type(X).__name__}: a row of a pandas table is "
            f"{ONE_ROW}, and a column table[['name']]"
        )
    if type(X).__module__.partition(".")[0] == "pandas" and hasattr(X, "columns"):
        return _from_pandas(X, needed)
    if hasattr(X, "to_arrow"):
        return _from_polars(X) if hasattr(X, "get_columns") else X.to_arrow()
    if isinstance(X, pa.RecordBatch) or hasattr(X, "__arrow_c_stream__"):
        return pa.table(X)
    if hasattr(X, "__dataframe__"):
        from pyarrow.interchange import from_dataframe

        return from_dataframe(X)
    return X


def _from_pandas(X: Any, needed: Collection[str] | None) -> pa.Table:  # noqa: ANN401
    """A pandas table, converted column by column: Arrow's message does not always name the one it cannot read."""
    names, arrays = [str(name) for name in X.columns], []
    for i, name in enumerate(names):
        if needed is not None and name not in needed:
            arrays.append(pa.nulls(len(X)))
            continue
        try:
            arrays.append(pandas_column(X.iloc[:, i]))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, UnicodeEncodeError) as error:
            raise ValueError(
                f"column {name!r} has values of several types, or of one that tables do not have ({error}); make them "
                "all strings or all numbers"
            ) from error
    return pa.Table.from_arrays(arrays, names=names)


def _from_polars(X: Any) -> pa.Table:  # noqa: ANN401
    """A polars table; an error that names the first column whose type Arrow has not."""
    try:
        return X.to_arrow()
    except pa.ArrowInvalid:
        for column in X.get_columns():
            try:
                column.to_arrow()
            except pa.ArrowInvalid as error:
                raise ValueError(
                    f"column {column.name!r} has the type {column.dtype}, which Arrow has not: cast it to another"
                ) from error
        raise


def pandas_column(values: Any) -> Any:  # noqa: ANN401
    """A pandas column as an array of Arrow: periods as the times at which they begin, bins as their text."""
    kind = type(values.dtype).__name__
    if kind == "PeriodDtype":
        values = getattr(values, "dt", values).to_timestamp()
    elif kind == "SparseDtype":
        values = values.sparse.to_dense()
    elif kind == "CategoricalDtype" and type(values.dtype.categories.dtype).__name__ == "IntervalDtype":
        values = values.cat.rename_categories(str)
    try:
        return pa.array(_as_arrow_has_them(values), from_pandas=True)
    except OverflowError:
        # Integers beyond 64 bits.
        return pa.array(values.astype(float), from_pandas=True)


def _as_arrow_has_them(values: Any) -> Any:  # noqa: ANN401  anything with a dtype
    """Numbers in this machine's order of bytes, and of 64 bits at most, as Arrow has them; all else as it is."""
    dtype = values.dtype
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iuf":
        return values
    known = np.dtype(np.float64) if dtype.itemsize > np.float64().itemsize else dtype.newbyteorder("=")
    return values if known == dtype else values.astype(known)


def _from_array(X: Any) -> Any:  # noqa: ANN401
    if not (isinstance(X, Sequence) or hasattr(X, "shape") or hasattr(X, "__array__")):
        return X
    array = check_array(X, dtype="numeric", ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0)
    return pa.table({f"x{i}": column for i, column in enumerate(_as_arrow_has_them(np.asarray(array)).T)})


@contextmanager
def named_arrow_errors(name: str) -> Iterator[None]:
    """Context in which what Arrow cannot do with a column is an error that names it."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowKeyError) as error:
        raise ValueError(f"column {name!r} has values that cannot be encoded: {error}") from error


def family(kind: pa.DataType) -> str:
    """What a column of a type holds, in words; between fit and transform the type may change within a family."""
    if pa.types.is_dictionary(kind):
        return family(kind.value_type)
    if is_plain_number(kind) or pa.types.is_decimal(kind):
        return "numbers"
    if pa.types.is_timestamp(kind):
        return "times" if kind.tz is None else "times with a time zone"
    simple = {
        "nothing": pa.types.is_null,
        "truth values": pa.types.is_boolean,
        "durations": pa.types.is_duration,
        "times": pa.types.is_date,
        "times of day": pa.types.is_time,
        "text": lambda kind: any(
            is_text(kind) for is_text in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
        ),
    }
    return next((name for name, is_of_family in simple.items() if is_of_family(kind)), "other")


def numbers(column: Column, name: str) -> Array:
    """A column as floats, NaN where a value is missing; durations are in seconds. Shape (n,)."""
    column = _decoded(column)
    if pa.types.is_duration(column.type):
        values = _floats(column.cast(pa.int64())) / UNITS_PER_SECOND[column.type.unit]
    elif family(column.type) == "text":
        values = _floats(_parsed(_nonempty_texts(column), pa.float64(), name, "a number"))
    else:
        values = _floats(column)
    if np.isinf(values).any():
        rows = np.flatnonzero(np.isinf(values))
        raise InfiniteValuesError(name, len(rows), len(values), int(rows[0]))
    return values


def _floats(column: Column) -> Array:
    # Integers beyond 2^53 are rounded, as every float is.
    floats = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
    return np.array(floats.cast(pa.float64(), safe=False).to_numpy(), dtype=float)


def texts(column: Column) -> Column:
    """A column of categories as strings, null where a value is missing or empty."""
    column = _decoded(column)
    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        return _float_texts(column.cast(pa.float64(), safe=False))
    return _nonempty_texts(column)


def _float_texts(column: Column) -> Column:
    """Numbers as texts, 7.0 as 7: a missing value turns integers into floats in many tables."""
    present = compute.if_else(compute.is_nan(column), None, column)
    whole = compute.and_(compute.equal(compute.floor(present), present), compute.less(compute.abs(present), 2.0**63))
    integers = compute.if_else(whole, present, None).cast(pa.int64())
    return compute.coalesce(integers.cast(pa.large_string()), present.cast(pa.large_string()))


def _nonempty_texts(column: Column) -> Column:
    """Strings, null where they are empty."""
    strings = column.cast(pa.large_string())
    empty = compute.equal(strings, "")
    if not compute.any(empty).as_py():
        return strings
    # `if_else` of pyarrow before 20 mixes up the strings of a slice.
    return strings.take(compute.if_else(empty, None, pa.array(np.arange(len(strings)))))


def instants(column: Column, name: str, zone: str | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Microseconds on the clock of a time zone, and since 1970 in UTC; the least int64 where missing. Shapes (n,)."""
    column = _decoded(column)
    if family(column.type) == "text":
        column = _parsed_times(_nonempty_texts(column), name)
    try:
        if pa.types.is_time(column.type):
            clock = absolute = _truncated(column, pa.time64("us"))
        else:
            absolute = _truncated(column, pa.timestamp("us", zone))
            clock = absolute if zone is None else compute.local_timestamp(absolute)
    except pa.ArrowInvalid as error:
        raise ValueError(f"column {name!r} has times that cannot be read: {error}") from error
    return _microseconds(clock), _microseconds(absolute)


def _truncated(column: Column, to: pa.DataType) -> Column:
    """Times of another type, without nanoseconds; an error for years beyond the reach of microseconds."""
    return column.cast(options=compute.CastOptions(to, allow_time_truncate=True))


def _parsed_times(column: Column, name: str) -> Column:
    """Text as times, with or without a time zone."""
    try:
        return column.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return _parsed(column, pa.timestamp("us", "UTC"), name, "a date or time as ISO 8601 writes it")


def _microseconds(column: Column) -> NDArray[np.int64]:
    return np.array(column.cast(pa.int64()).fill_null(np.iinfo(np.int64).min).to_numpy())


def _parsed(column: Column, to: pa.DataType, name: str, expected: str) -> Column:
    try:
        return column.cast(to)
    except pa.ArrowInvalid as error:
        raise ValueError(f"column {name!r} has text that is not {expected}: {error}") from error


def _decoded(column: Column) -> Column:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
