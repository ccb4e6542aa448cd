"""Tables written to files in batches, whole or not at all."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import pyarrow as pa

from ssgp._utils.whole_file import FilePath, check_place, whole_file
from ssgp.tables.formats import FORMATS, TableFormat
from ssgp.tables.table_file import TableFileError, one_line

__all__ = ["check_output", "write_table"]


def check_output(path: FilePath) -> None:
    """Raise if no table can be written to a file of that name."""
    name = os.fspath(path)
    if "://" in name:
        raise TableFileError(f"cannot write to {name!r}: tables are written to files here; give a path")
    try:
        check_place(name, "the table")
    except OSError as error:
        raise TableFileError(str(error)) from error
    if Path(name).suffix.lower() not in FORMATS:
        raise TableFileError(f"cannot write to {name!r}: its name must end in {', '.join(FORMATS)}")


def write_table(tables: Iterable[pa.Table], path: FilePath) -> int:
    """Write tables of the same columns, one below the other.

    Parameters
    ----------
    tables : iterable of pyarrow.Table
        Tables, at least one; each is written before the next is asked for.
    path : path-like
        File to write, in the format of its suffix. One that is there is replaced once the new one is whole.

    Returns
    -------
    int
        Number of rows.
    """
    check_output(path)
    others: Iterator[pa.Table] = iter(tables)
    first = next(others)
    n_rows, format = 0, FORMATS[Path(path).suffix.lower()]
    schema = _writable_schema(format, first)
    with whole_file(path) as part:
        with _named_refusals(path, format, first):
            opened = format.writer(str(part), schema)
        with opened as writer:
            for table in chain([first], others):
                with _named_refusals(path, format, table):
                    writer.write_table(table.cast(schema))
                n_rows += table.num_rows
    return n_rows


# What Arrow raises of a column that a format cannot hold.
REFUSALS = pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, OSError


@contextmanager
def _named_refusals(path: FilePath, format: TableFormat, table: pa.Table) -> Iterator[None]:
    """Context in which a table that the format cannot hold is an error that names the first such column."""
    try:
        yield
    except REFUSALS as error:
        if _is_of_the_disk(error):
            raise
        columns = (f"column {name!r} " for name in table.column_names if not _is_writable(format, table.select([name])))
        raise TableFileError(
            f"cannot write {next(columns, '')}to {os.fspath(path)!r} as {format.name}: {one_line(error)}"
        ) from error


def _writable_schema(format: TableFormat, table: pa.Table) -> pa.Schema:
    """Columns as the format holds them; files that say of a column that nothing is missing there may be wrong."""
    schema = format.writable(table.schema)
    return pa.schema([field.with_nullable(True) for field in schema], schema.metadata)


def _is_writable(format: TableFormat, table: pa.Table) -> bool:
    schema = _writable_schema(format, table)
    with tempfile.TemporaryDirectory() as folder:
        try:
            with format.writer(os.path.join(folder, "column"), schema) as writer:
                writer.write_table(table.cast(schema))
        except REFUSALS as error:
            if _is_of_the_disk(error):
                raise
            return False
    return True


def _is_of_the_disk(error: Exception) -> bool:
    """Whether an error is the system's; Parquet's own have no number."""
    return isinstance(error, OSError) and error.errno is not None
