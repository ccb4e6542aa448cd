"""One file of a table: how it is opened and read, with errors that name it."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa

from ssgp.tables.formats import Parquet, TableFormat, Types, cast_columns, without_compression
from ssgp.tables.usual_types import usual_schema, with_usual_types

__all__ = ["BATCH_ROWS", "TableFile", "TableFileError", "gathered", "one_line"]

BATCH_ROWS = 1 << 16
# Digits of the widest decimals.
DECIMAL_DIGITS = 76


class TableFileError(ValueError):
    """A table that cannot be read or written: a missing file or column, an unknown format, a damaged file."""


@dataclass(frozen=True)
class TableFile:
    """A file and how to open it.

    Attributes
    ----------
    name : str
        Name for messages.
    format : TableFormat
        Format of the file.
    open : callable
        Returns the file, opened at its beginning.
    size : callable
        Returns the number of bytes, None where that is unknown.
    """

    name: str
    format: TableFormat
    open: Callable[[], BinaryIO]
    size: Callable[[], int | None]

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Context with the open file, in which errors of reading name it."""
        try:
            with self.open() as handle, _decompressed(handle, self.name) as data:
                yield data
        except MemoryError as error:
            reason = f"{one_line(error) or 'no memory left'}; it is damaged, or larger than the memory"
            raise self._unreadable(reason) from error
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise self._unreadable(self._with_column_name(one_line(error))) from error

    def _unreadable(self, reason: str) -> TableFileError:
        return TableFileError(f"{self.name!r} cannot be read as {self.format.name}: {reason}")

    def _with_column_name(self, message: str) -> str:
        """Arrow's message with the name of a column of a CSV file, where Arrow has its number."""
        match = re.match(r"In CSV column #(\d+): (.*)", message)
        if match is None:
            return message
        names = self.schema({}).names
        return f"column {names[int(match[1])]!r}: {match[2]}"

    def schema(self, types: Types) -> pa.Schema:
        """Names and types of the columns."""
        with self.opened() as data:
            schema = self.format.schema(data, types)
        name, times = next(iter(Counter(self._column_names(schema)).most_common(1)), ("", 0))
        if times > 1:
            raise TableFileError(f"{self.name!r} has {times} columns called {name!r}; names must be different")
        for field in schema:
            self._check_type(field)
        return usual_schema(schema)

    def _check_type(self, field: pa.Field) -> None:
        """Raise where the type of a column is one that Arrow reads from damaged files and cannot work with."""
        for kind in _types_within(field.type):
            wrong = _wrong_with_type(kind)
            if wrong:
                raise self._unreadable(f"column {field.name!r}: {wrong}")

    def _column_names(self, schema: pa.Schema) -> list[str]:
        try:
            return schema.names
        except UnicodeDecodeError as error:
            raise TableFileError(
                f"the names of columns in {self.name!r} cannot be read: the text is not UTF-8; save the file as UTF-8"
            ) from error

    def batches(self, schema: pa.Schema, rows: int) -> Iterator[pa.Table]:
        """Rows in order, in batches of at most `rows`, with the columns and types of a schema."""
        with self.opened() as data:
            # Before they are joined: arrays that point beyond their ends cannot be copied.
            stored = (_sound(pa.Table.from_batches([batch])) for batch in self.format.batches(data, schema, rows))
            for table in gathered(stored, rows):
                yield from _slices(cast_columns(table, schema), rows)

    def row_groups(self, groups: Sequence[int], schema: pa.Schema) -> Iterator[tuple[int, pa.Table]]:
        """Row groups of a Parquet file by their numbers, with the columns and types of a schema; errors name them."""
        with self.opened() as data:
            file = Parquet.opened(data)
            for group in groups:
                try:
                    yield group, cast_columns(_sound(file.read_row_group(group, columns=schema.names)), schema)
                except (pa.ArrowException, OSError, KeyError) as error:
                    raise self._unreadable(f"row group {group}: {one_line(error)}") from error

    def read(self, columns: Sequence[str], types: Types) -> pa.Table:
        """All rows of these columns."""
        with self.opened() as data:
            return _sound(self.format.read(data, columns, types).select(list(columns)))

    def retyped(self, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """All rows, which were read before, with the types of a schema."""
        if table.schema.types == schema.types:
            return table
        with self.opened() as data:
            return self.format.retyped(data, table, schema)

    def readable_as(self, name: str, kind: pa.DataType) -> bool:
        """Whether all values of a column can be read as a type."""
        try:
            for _ in self.batches(pa.schema([(name, kind)]), BATCH_ROWS):
                pass
        except TableFileError:
            return False
        return True


def _types_within(kind: pa.DataType) -> Iterator[pa.DataType]:
    """A type and those of its parts."""
    yield kind
    if pa.types.is_dictionary(kind):
        yield from _types_within(kind.value_type)
    for i in range(kind.num_fields):
        yield from _types_within(kind.field(i).type)


def _wrong_with_type(kind: pa.DataType) -> str | None:
    if pa.types.is_decimal(kind) and abs(kind.scale) > DECIMAL_DIGITS:
        return f"decimals of scale {kind.scale}; at most {DECIMAL_DIGITS} digits are allowed"
    if pa.types.is_union(kind) and not kind.num_fields:
        return "a union of no types"
    try:
        _ = kind.tz if pa.types.is_timestamp(kind) else None
    except UnicodeDecodeError:
        return "the name of its time zone is not UTF-8"
    return None


@contextmanager
def _decompressed(handle: BinaryIO, name: str) -> Iterator[Any]:
    """Context with the bytes of a file, decompressed where its name ends as that of a compressed file."""
    path = name.partition("?")[0]
    if without_compression(path) == path:
        yield handle
        return
    compression = pa.Codec.detect(path).name
    with pa.CompressedInputStream(pa.PythonFile(handle, "r"), compression) as data:
        yield data


def gathered(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of up to `rows`, where there were smaller ones: what is done per table takes time."""
    waiting: list[pa.Table] = []
    n_waiting = 0
    for table in tables:
        if waiting and n_waiting + table.num_rows > rows:
            yield _joined(waiting)
            waiting, n_waiting = [], 0
        waiting.append(table)
        n_waiting += table.num_rows
        if n_waiting >= rows:
            yield _joined(waiting)
            waiting, n_waiting = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(tables: list[pa.Table]) -> pa.Table:
    """Tables of one schema as one, each of its columns in one piece."""
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _sound(table: pa.Table) -> pa.Table:
    """The table in usual types; an error where arrays point beyond their ends or text is not UTF-8, as Arrow trusts."""
    for field in table.schema:
        column = table[field.name]
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            raise pa.ArrowInvalid(f"column {field.name!r}: {error}") from error
        if column.null_count and not field.nullable:
            raise pa.ArrowInvalid(f"column {field.name!r}: values are missing, and the file says that none are")
    return with_usual_types(table)


def _slices(table: pa.Table, rows: int) -> Iterator[pa.Table]:
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)


def one_line(error: BaseException) -> str:
    """Message of an error, without line breaks."""
    return " ".join(str(error).split())
