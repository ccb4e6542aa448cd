"""Tables in files: one or many, local or remote, read in batches.

`open_table` finds the files, `TableSource` tells their columns and reads them. Files are read one after the other and
their rows in order; no more than one block of a file is in memory (the standard input is kept there whole).
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import pyarrow as pa

from ssgp._utils.names import hint, listed
from ssgp.tables.csv_text import CsvText
from ssgp.tables.formats import Csv, Types
from ssgp.tables.locations import find_files
from ssgp.tables.table_file import BATCH_ROWS, TableFile, TableFileError, gathered, one_line

__all__ = ["BATCH_ROWS", "TableFileError", "TableSource", "check_columns", "open_table"]


@dataclass(frozen=True)
class TableSource:
    """A table in one or more files.

    Attributes
    ----------
    name : str
        Path that the user gave.
    files : tuple of TableFile
        Files, in the order in which they are read.
    types : dict of pyarrow.DataType
        Types of columns in text files, by name; those of others are inferred from their values.
    """

    name: str
    files: tuple[TableFile, ...]
    types: Types = field(default_factory=dict)

    @cached_property
    def _schemas(self) -> list[pa.Schema]:
        """Schemas of the files, with the columns of the first in its order."""
        first, *others = [file.schema(self.types) for file in self.files]
        for file, schema in zip(self.files[1:], others, strict=True):
            check_columns(first.names, schema.names, f"{file.name!r} has no column", "as there is in the first file")
        return [first, *(_select(schema, first.names) for schema in others)]

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        return self._schemas[0].names

    def schema(self, columns: Sequence[str] | None = None) -> pa.Schema:
        """Names and types of these columns, all by default; those of CSV files are inferred from their beginning."""
        names = self._checked_names(columns)
        return self._unified([_select(schema, names) for schema in self._schemas])

    def _unified(self, schemas: list[pa.Schema]) -> pa.Schema:
        """Schema that holds the values of all files; of text files, the one they would have as one file."""
        try:
            return self.files[0].format.unified(schemas, lambda i, *column: self.files[i].readable_as(*column))
        except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
            raise TableFileError(f"the files of {self.name!r} do not fit together: {one_line(error)}") from error

    @cached_property
    def n_rows(self) -> int | None:
        """Number of rows; None where the whole files would have to be read for it."""
        counts = []
        for file in self.files:
            with file.opened() as data:
                counts.append(file.format.n_rows(data))
        return None if None in counts else sum(cast(list[int], counts))

    @cached_property
    def n_bytes(self) -> int | None:
        """Size of the files; None where it is unknown."""
        sizes = [file.size() for file in self.files]
        return None if None in sizes else sum(cast(list[int], sizes))

    @cached_property
    def text(self) -> CsvText | None:
        """How the first file is written, as far as that was found in it and is not usual; None for other formats."""
        file = self.files[0]
        if not isinstance(file.format, Csv):
            return None
        with file.opened() as data:
            found, given = file.format.found(data), file.format.text
        usual = CsvText(file.format.delimiter, ".")
        return CsvText(
            None if found.separator in (given.separator, usual.separator) else found.separator,
            None if found.decimal in (given.decimal, usual.decimal) else found.decimal,
        )

    def with_types(self, types: Types) -> "TableSource":
        """The same table, with these types of columns in text files."""
        return TableSource(self.name, self.files, types)

    def batches(self, columns: Sequence[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
        """Read the rows in order.

        Parameters
        ----------
        columns : sequence of str, optional
            Names of the columns to read, in this order; all by default.
        rows : int, default=65,536
            Most rows of a batch.

        Yields
        ------
        pyarrow.Table
            A batch; all batches have the same types, whatever file they come from.
        """
        schema = self.schema(columns)
        batches = (batch for file in self.files for batch in file.batches(schema, rows))
        try:
            yield from gathered(batches, rows)
        except pa.ArrowException as error:
            raise TableFileError(f"rows of the files of {self.name!r} cannot be joined: {one_line(error)}") from error

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Read all rows. Types of columns in CSV files are inferred from all values, not only from the first."""
        names = self._checked_names(columns)
        tables = [file.read(names, self.types) for file in self.files]
        schema = self._unified([table.schema for table in tables])
        retyped = [file.retyped(table, schema) for file, table in zip(self.files, tables, strict=True)]
        return pa.concat_tables(retyped, promote_options="permissive")

    def _checked_names(self, columns: Sequence[str] | None) -> list[str]:
        """Names of the columns to read, all by default; an error where one is missing."""
        names = self.column_names if columns is None else list(columns)
        check_columns(names, self.column_names, f"{self.name!r} has no column")
        return names


def open_table(
    path: str | os.PathLike[str],
    types: Types | None = None,
    *,
    separator: str | None = None,
    decimal: str | None = None,
    missing: Sequence[str] = (),
) -> TableSource:
    """Find the files of a table.

    Parameters
    ----------
    path : path-like
        A CSV, Parquet or Arrow file, a folder or a glob of them, the address of a remote one (``s3://``, ``https://``,
        through fsspec), or ``-`` for CSV on the standard input.
    types : dict of pyarrow.DataType, optional
        Types of columns in CSV files, by name; those of others are inferred from their values.
    separator, decimal : str, optional
        What separates columns and decimals in CSV files. If not given, the usual one of the file's suffix does, and
        points; semicolons, tabs, bars or commas, and decimal commas, where the beginning of the file leaves no doubt.
    missing : sequence of str, default=()
        Text that stands for missing values in CSV files, besides what always does: nothing, NA, NaN, null.

    Returns
    -------
    TableSource
        The table; no rows have been read.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(os.path.join(folder, "sizes.csv"), "w", encoding="utf-8") as file:
    ...         print("name,size", "ant,1", "bee,2", sep=chr(10), file=file)
    ...     source = open_table(folder)
    ...     print(source.column_names, [batch.num_rows for batch in source.batches()])
    ['name', 'size'] [2]
    """
    name, text = os.fspath(path), CsvText(separator, decimal, tuple(missing))
    return TableSource(name, tuple(_with_text(file, text) for file in find_files(name)), dict(types or {}))


def _with_text(file: TableFile, text: CsvText) -> TableFile:
    """The file, known to be written so."""
    if text == CsvText():
        return file
    if not isinstance(file.format, Csv):
        raise TableFileError(
            f"{file.name!r} is {file.format.name}, which says itself what separates and what is missing; "
            "a separator, a decimal sign and text that stands for missing values are of CSV files"
        )
    return replace(file, format=file.format.with_text(text))


def check_columns(required: Sequence[str], columns: Sequence[str], message: str, after: str = "") -> None:
    """Raise an error that names the first required column that is missing, and one that may be meant."""
    for name in required:
        if name not in columns:
            end = f" {after}" if after else ""
            raise TableFileError(f"{message} {name!r}{end}{hint(name, columns)}. Its columns: {listed(columns)}")


def _select(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema([schema.field(name) for name in names])
