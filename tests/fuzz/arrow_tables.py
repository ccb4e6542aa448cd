"""Random Arrow tables with columns of every type, awkward values and awkward names."""

import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["COLUMNS", "PLAIN_COLUMNS", "random_table"]

Maker = Callable[[np.random.Generator, int], Any]

N_ROWS = (0, 1, 2, 3, 7, 20, 60, 200)
WORDS = (
    *("", "a", "b", "é", "日本", "😀", "007", "1", "1.5", "-0", "NA", "NaN", "null", "true", "False", "inf", "1e400"),
    *("2020-01-01", "2020-01-01 10:00:00", "10:00", 'x,"y"', "two\nlines", "tab\there", "\x00", " ", "\x1b[31mred"),
)
NAMES = (
    *("x", "y", "", " ", "a,b", 'quo"ted', "two\nlines", "é日本😀", "\x1b[31mred"),
    *("x" * 300, "1", "null", "NaN", "x"),
)
UNITS = ("s", "ms", "us", "ns")
ZONES = (None, "UTC", "Europe/Berlin", "+02:00")
WHOLE = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())


def _one_of(rng: np.random.Generator, values: Sequence[Any]) -> Any:
    return values[int(rng.integers(len(values)))]


def _gaps(rng: np.random.Generator, n: int) -> np.ndarray:
    """Which values are missing: none, some, most or all."""
    return rng.random(n) < _one_of(rng, (0.0, 0.0, 0.1, 0.9, 1.1))


def _array(rng: np.random.Generator, values: Sequence[Any], kind: pa.DataType) -> Any:
    gaps = _gaps(rng, len(values))
    return pa.array([None if gap else value for value, gap in zip(values, gaps, strict=True)], kind)


def _integers(rng: np.random.Generator, n: int, low: int, high: int) -> list[int]:
    """Whole numbers of the whole range, or small ones, or few different ones."""
    if rng.random() < 0.6:
        low, high = max(low, -20), min(high, 100)
    return rng.integers(low, high, size=n, endpoint=True, dtype=np.uint64 if low == 0 else np.int64).tolist()


def _whole(rng: np.random.Generator, n: int) -> Any:
    kind = _one_of(rng, WHOLE)
    bits, signed = kind.bit_width, pa.types.is_signed_integer(kind)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return _array(rng, _integers(rng, n, low, high), kind)


def _floats(rng: np.random.Generator, n: int) -> np.ndarray:
    values = rng.normal(size=n) * 10.0 ** float(_one_of(rng, (0, 0, 3, -3, 12, -12)))
    special = rng.random(n) < _one_of(rng, (0.0, 0.0, 0.0, 0.2))
    return np.where(special, rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1.8e308], size=n), values)


def _float(rng: np.random.Generator, n: int) -> Any:
    kind = _one_of(rng, (pa.float64(), pa.float64(), pa.float32(), pa.float16()))
    with np.errstate(over="ignore"):
        return _array(rng, list(_floats(rng, n).astype(kind.to_pandas_dtype())), kind)


def _bool(rng: np.random.Generator, n: int) -> Any:
    return _array(rng, (rng.random(n) < rng.random()).tolist(), pa.bool_())


def _words(rng: np.random.Generator, n: int) -> list[str]:
    if rng.random() < 0.5:
        return [str(word) for word in rng.choice(WORDS[: int(rng.integers(1, len(WORDS) + 1))], size=n)]
    letters = list(string.ascii_letters + "éß日😀")
    return ["".join(rng.choice(letters, size=int(rng.integers(1, 20)))) for _ in range(n)]


def _text(rng: np.random.Generator, n: int) -> Any:
    return _array(rng, _words(rng, n), _one_of(rng, (pa.string(), pa.large_string(), pa.string_view())))


def _bytes(rng: np.random.Generator, n: int) -> Any:
    kind = _one_of(rng, (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(4)))
    width = 4 if kind == pa.binary(4) else None
    return _array(rng, [rng.bytes(width or int(rng.integers(20))) for _ in range(n)], kind)


def _decimal(rng: np.random.Generator, n: int) -> Any:
    kind = _one_of(rng, (pa.decimal128(21, 2), pa.decimal128(38, 10), pa.decimal256(50, 5)))
    return _array(rng, rng.integers(-9999, 9999, size=n).tolist(), pa.int64()).cast(kind)


def _date(rng: np.random.Generator, n: int) -> Any:
    kind = _one_of(rng, (pa.date32(), pa.date64()))
    days = _array(rng, rng.integers(-30_000, 60_000, size=n).tolist(), pa.int32()).cast(pa.date32())
    return days.cast(kind)


def _time_of_day(rng: np.random.Generator, n: int) -> Any:
    kind = _one_of(rng, (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")))
    return _array(rng, rng.integers(86_400, size=n).tolist(), pa.int32()).cast(pa.time32("s")).cast(kind)


def _instant(rng: np.random.Generator, n: int) -> Any:
    unit, zone = _one_of(rng, UNITS), _one_of(rng, ZONES)
    wild = rng.random() < 0.2
    per_second = 1000 ** UNITS.index(unit)
    values = rng.integers(-(2**62), 2**62, size=n) if wild else rng.integers(-(2**31), 2**32, size=n) * per_second
    return _array(rng, values.tolist(), pa.int64()).cast(pa.timestamp(unit, zone))


def _duration(rng: np.random.Generator, n: int) -> Any:
    values = _integers(rng, n, -(2**62), 2**62)
    return _array(rng, values, pa.int64()).cast(pa.duration(_one_of(rng, UNITS)))


def _dictionary(rng: np.random.Generator, n: int) -> Any:
    values = _one_of(rng, (_text, _whole, _float, _instant, _bool))(rng, int(rng.integers(1, 30)))
    width = _one_of(rng, (pa.int8(), pa.int32(), pa.uint16()))
    codes = _array(rng, rng.integers(len(values), size=n).tolist(), width)
    return pa.DictionaryArray.from_arrays(codes, values, ordered=bool(rng.random() < 0.2))


def _nothing(rng: np.random.Generator, n: int) -> Any:
    return pa.nulls(n)


def _lists(rng: np.random.Generator, n: int) -> Any:
    item = _one_of(rng, (pa.int32(), pa.string(), pa.list_(pa.int8())))
    kind = _one_of(rng, (pa.list_(item), pa.large_list(item), pa.list_view(item)))
    value = {pa.int32(): 3, pa.string(): "a"}.get(item, [1, None])
    return _array(rng, [[value] * int(rng.integers(4)) for _ in range(n)], kind)


def _nested(rng: np.random.Generator, n: int) -> Any:
    struct = pa.struct([("a", pa.int32()), ("b", pa.string())])
    if rng.random() < 0.5:
        return _array(rng, [{"a": i, "b": _one_of(rng, WORDS)} for i in range(n)], struct)
    return _array(rng, [[("k", i)] for i in range(n)], pa.map_(pa.string(), pa.int32()))


def _rare(rng: np.random.Generator, n: int) -> Any:
    choice = rng.integers(3)
    if choice == 0:
        return _array(rng, [(int(i), 1, -2) for i in range(n)], pa.month_day_nano_interval())
    if choice == 1 and hasattr(pa, "uuid"):
        return pa.ExtensionArray.from_storage(pa.uuid(), _array(rng, [rng.bytes(16) for _ in range(n)], pa.binary(16)))
    values = pa.array(_words(rng, n))
    return pa.RunEndEncodedArray.from_arrays(np.arange(1, n + 1, dtype=np.int32), values) if n else values


# Columns that can be learned from, and all others.
PLAIN_COLUMNS: tuple[Maker, ...] = (_whole, _float, _bool, _text, _date, _time_of_day, _instant, _duration, _dictionary)
COLUMNS: tuple[Maker, ...] = (*PLAIN_COLUMNS, _decimal, _bytes, _nothing, _lists, _nested, _rare)


def random_table(rng: np.random.Generator, makers: Sequence[Maker] = COLUMNS, n_rows: int | None = None) -> pa.Table:
    """A table of one to six columns, now and then with two of one name."""
    n = int(_one_of(rng, N_ROWS)) if n_rows is None else n_rows
    n_columns = int(rng.integers(1, 7))
    names = [f"c{i}" for i in range(n_columns)]
    if rng.random() < 0.3:
        names[int(rng.integers(n_columns))] = _one_of(rng, NAMES)
    return pa.Table.from_arrays([_one_of(rng, makers)(rng, n) for _ in names], names=names)
