"""Tables written to files in batches, whole or not at all."""

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import pyarrow as pa

from ssgp._utils.whole_file import FilePath, check_place, whole_file
from ssgp.tables.formats import FORMATS
from ssgp.tables.table_file import TableFileError

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
    schema = format.writable(first.schema)
    with whole_file(path) as part, format.writer(str(part), schema) as writer:
        for table in chain([first], others):
            writer.write_table(table.cast(schema))
            n_rows += table.num_rows
    return n_rows
