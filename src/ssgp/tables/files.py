"""Tables in files: one or many, here or elsewhere, read some rows at a time.

`open_table` finds the files, `TableSource` says what is in them and reads them. Files are read one after the other and
their rows in order; no more than one block of a file is in memory (the standard input is kept there whole).
"""

import glob
import io
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from ssgp._utils.names import hint, listed
from ssgp.tables.formats import FORMATS, TableFormat, Types, cast_columns, without_compression

__all__ = ["BATCH_ROWS", "STANDARD_INPUT", "TableFileError", "TableSource", "check_columns", "open_table"]

BATCH_ROWS = 1 << 16
STANDARD_INPUT = "-"


class TableFileError(ValueError):
    """A table that cannot be read: it is not there, not of a known format, or not what it should be."""


@dataclass(frozen=True)
class TableFile:
    """A file and how to open it.

    Attributes
    ----------
    name : str
        For messages.
    format : TableFormat
        What it is written in.
    open : callable
        Returns the file's bytes, from the beginning.
    size : callable
        Returns their number, None where that is not known.
    """

    name: str
    format: TableFormat
    open: Callable[[], BinaryIO]
    size: Callable[[], int | None]

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The file, any trouble with it told by its name."""
        try:
            with self.open() as handle, _decompressed(handle, self.name) as data:
                yield data
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowKeyError, pa.ArrowNotImplementedError, OSError) as error:
            why = self._with_column_name(" ".join(str(error).split()))
            raise TableFileError(f"{self.name!r} cannot be read as {self.format.name}: {why}") from error

    def _with_column_name(self, message: str) -> str:
        """Arrow counts the columns of CSV files; users know them by name."""
        found = re.match(r"In CSV column #(\d+): (.*)", message)
        if found is None:
            return message
        names = self.schema({}).names
        return f"column {names[int(found[1])]!r}: {found[2]}"

    def schema(self, types: Types) -> pa.Schema:
        """Names and types of the columns."""
        with self.opened() as data:
            found = self.format.schema(data, types)
        name, times = next(iter(Counter(self._names_of(found)).most_common(1)), ("", 0))
        if times > 1:
            raise TableFileError(f"{self.name!r} has {times} columns called {name!r}; names must be different")
        return found

    def _names_of(self, schema: pa.Schema) -> list[str]:
        try:
            return schema.names
        except UnicodeDecodeError as error:
            raise TableFileError(
                f"the names of columns in {self.name!r} cannot be read: the text is not UTF-8; save the file as UTF-8"
            ) from error

    def batches(self, schema: pa.Schema, rows: int) -> Iterator[pa.Table]:
        """The rows in order, at most so many at a time, in these columns and types."""
        with self.opened() as data:
            for batch in self.format.batches(data, schema, rows):
                yield from _slices(cast_columns(pa.Table.from_batches([batch]), schema), rows)

    def read(self, columns: Sequence[str], types: Types) -> pa.Table:
        """All rows."""
        with self.opened() as data:
            return self.format.read(data, columns, types).select(list(columns))

    def retyped(self, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """All rows, which were read before, in these types."""
        if table.schema.types == schema.types:
            return table
        with self.opened() as data:
            return self.format.retyped(data, table, schema)

    def holds(self, name: str, kind: pa.DataType) -> bool:
        """Whether all values of a column can be read as of this type."""
        try:
            for _ in self.batches(pa.schema([(name, kind)]), BATCH_ROWS):
                pass
        except TableFileError:
            return False
        return True


@dataclass(frozen=True)
class TableSource:
    """A table in one or more files.

    Attributes
    ----------
    name : str
        What the user called it.
    files : tuple of TableFile
        In order.
    types : dict of pyarrow.DataType
        Of columns in files that hold text alone; where nothing is said, the values tell.
    """

    name: str
    files: tuple[TableFile, ...]
    types: Types = field(default_factory=dict)

    @cached_property
    def _schemas(self) -> list[pa.Schema]:
        """Of each file, the columns of the first in its order."""
        first, *others = [file.schema(self.types) for file in self.files]
        for file, schema in zip(self.files[1:], others, strict=True):
            check_columns(first.names, schema.names, f"{file.name!r} has no column", "as there is in the first file")
        return [first, *(_chosen(schema, first.names) for schema in others)]

    @property
    def column_names(self) -> list[str]:
        """Of the table."""
        return self._schemas[0].names

    def schema(self, columns: Sequence[str] | None = None) -> pa.Schema:
        """Names and types of all or some columns; of CSV files, judged by their beginning."""
        names = self._names(columns)
        return self._unified([_chosen(own, names) for own in self._schemas])

    def _unified(self, schemas: list[pa.Schema]) -> pa.Schema:
        """Types that hold the values of all files; of files of text, what the values are taken for together."""
        try:
            return self.files[0].format.unified(schemas, lambda i, *column: self.files[i].holds(*column))
        except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
            raise TableFileError(f"the files of {self.name!r} do not fit together: {_one_line(error)}") from error

    @cached_property
    def n_rows(self) -> int | None:
        """Number of rows, where the files tell without being read."""
        counts = []
        for file in self.files:
            with file.opened() as data:
                counts.append(file.format.n_rows(data))
        return None if None in counts else sum(cast(list[int], counts))

    @cached_property
    def n_bytes(self) -> int | None:
        """Size of the files, where it is known."""
        sizes = [file.size() for file in self.files]
        return None if None in sizes else sum(cast(list[int], sizes))

    def with_types(self, types: Types) -> "TableSource":
        """The same table, with the types of columns that are known beforehand."""
        return TableSource(self.name, self.files, types)

    def batches(self, columns: Sequence[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
        """Read the rows in order.

        Parameters
        ----------
        columns : sequence of str, optional
            Which columns, in this order; all by default.
        rows : int, default=65,536
            Rows of a batch at most.

        Yields
        ------
        pyarrow.Table
            A batch; all have the same types, whatever file they come from.
        """
        schema = self.schema(columns)
        for file in self.files:
            yield from file.batches(schema, rows)

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows. In CSV files all values of a column have a say in its type, not only the first."""
        names = self._names(columns)
        tables = [file.read(names, self.types) for file in self.files]
        schema = self._unified([table.schema for table in tables])
        same = [file.retyped(table, schema) for file, table in zip(self.files, tables, strict=True)]
        return pa.concat_tables(same, promote_options="permissive")

    def _names(self, columns: Sequence[str] | None) -> list[str]:
        """Of the columns that are asked for."""
        names = self.column_names if columns is None else list(columns)
        check_columns(names, self.column_names, f"{self.name!r} has no column")
        return names


def open_table(path: str | os.PathLike[str], types: Types | None = None) -> TableSource:
    """Find the files of a table.

    Parameters
    ----------
    path : path-like
        A CSV, Parquet or Arrow file, a folder or a glob of them, the address of one elsewhere (``s3://``, ``https://``,
        through fsspec), or ``-`` for CSV on the standard input.
    types : dict of pyarrow.DataType, optional
        Of columns in CSV files, where they are known beforehand.

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
    name = os.fspath(path)
    if name == STANDARD_INPUT:
        files = [_standard_input()]
    elif "://" in name:
        files = _remote_files(name)
    else:
        files = [_local_file(own) for own in _local_names(name)]
    return TableSource(name, tuple(files), dict(types or {}))


def check_columns(wanted: Sequence[str], there: Sequence[str], message: str, after: str = "") -> None:
    """Raise an error that names the first column that is not there, and one that may be meant."""
    for name in wanted:
        if name not in there:
            end = f" {after}" if after else ""
            raise TableFileError(f"{message} {name!r}{end}{hint(name, there)}. Its columns: {listed(there)}")


def _local_names(name: str) -> list[str]:
    if os.path.isdir(name):
        return _known(name, sorted(os.path.join(name, own) for own in os.listdir(name) if own[0] not in "._"))
    if os.path.exists(name):
        return [name]
    if glob.has_magic(name):
        return _known(name, sorted(filter(os.path.isfile, glob.glob(name, recursive=True))))
    folder, own = os.path.split(name)
    there = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
    raise TableFileError(f"there is no file {name!r}{hint(own, there)}")


def _local_file(name: str) -> TableFile:
    return TableFile(name, _format_of(name), lambda: open(name, "rb"), lambda: os.path.getsize(name))


def _known(name: str, files: Sequence[str]) -> list[str]:
    """Those files of a folder or glob whose suffix is one of a table; of one format."""
    known = [own for own in files if _suffix(own) in FORMATS]
    formats = {FORMATS[_suffix(own)].name for own in known}
    if not known:
        raise TableFileError(
            f"there is no table in {name!r}: no file that ends in {_suffixes()}"
            + ("" if glob.has_magic(name) else f"; files in folders below are found by '{name}/**/*.parquet'")
        )
    if len(formats) > 1:
        raise TableFileError(
            f"{name!r} has files of several formats ({', '.join(sorted(formats))}); choose some: '{name}/*.parquet'"
        )
    return known


def _suffix(name: str) -> str:
    return Path(without_compression(name)).suffix.lower()


def _suffixes() -> str:
    return ", ".join(FORMATS)


def _format_of(name: str) -> TableFormat:
    suffix = _suffix(name)
    if suffix not in FORMATS:
        raise TableFileError(f"{name!r} does not end as a table does: {suffix or 'no suffix'}, not {_suffixes()}")
    return FORMATS[suffix]


def _remote_files(name: str) -> list[TableFile]:
    filesystem, path = _filesystem(name)
    # To ask a web server for a folder is to fetch the file.
    listable = not name.startswith(("http://", "https://"))
    try:
        if listable and filesystem.isdir(path):
            names = _known(name, sorted(filesystem.ls(path, detail=False)))
        elif listable and glob.has_magic(path):
            names = _known(name, sorted(filesystem.glob(path)))
        else:
            names = [path]
        readable = filesystem if _in_parts(filesystem.info(names[0]), listable) else _fetching(filesystem)
    except TableFileError:
        raise
    except ImportError as error:
        raise _missing_driver(name, error) from error
    except FileNotFoundError as error:
        raise TableFileError(f"there is no file {name!r}{_cause(error)}") from error
    except Exception as error:  # every driver has its own
        raise TableFileError(f"{name!r} cannot be reached: {_one_line(error)}") from error
    formats = [_format_of(own.partition("?")[0]) for own in names]

    def file(own: str, format: TableFormat) -> TableFile:
        return TableFile(own, format, lambda: readable.open(own, "rb"), lambda: filesystem.info(own).get("size"))

    return [file(own, format) for own, format in zip(names, formats, strict=True)]


def _in_parts(info: dict[str, Any], listable: bool) -> bool:
    """Whether a file can be read from the middle; a web server has to say so."""
    return listable or bool(info.get("partial"))


def _fetching(filesystem: Any) -> Any:  # noqa: ANN401  fsspec has no annotations
    """The same files, fetched whole, once, to a temporary folder."""
    from fsspec import filesystem as make

    return make("simplecache", fs=filesystem)


def _cause(error: BaseException) -> str:
    return "" if error.__cause__ is None else f" ({_one_line(error.__cause__)})"


def _filesystem(name: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise TableFileError(
            f"{name!r} is read through fsspec, which is not installed: pip install 'ssgp[remote]'"
        ) from error
    try:
        return url_to_fs(name)
    except ImportError as error:
        raise _missing_driver(name, error) from error
    except ValueError as error:
        raise TableFileError(f"{name!r} cannot be opened: {_one_line(error)}") from error


def _missing_driver(name: str, error: ImportError) -> TableFileError:
    protocol = name.partition("://")[0]
    return TableFileError(
        f"{name!r} needs a package that is not installed ({_one_line(error)}): pip install 'fsspec[{protocol}]'"
    )


def _standard_input() -> TableFile:
    """The standard input, kept in memory because it is looked at twice."""
    text = sys.stdin.buffer.read()
    return TableFile("standard input", FORMATS[".csv"], lambda: io.BytesIO(text), lambda: len(text))


@contextmanager
def _decompressed(handle: BinaryIO, name: str) -> Iterator[Any]:
    """The bytes of a file, unpacked where its name says that they are packed."""
    own = name.partition("?")[0]
    if without_compression(own) == own:
        yield handle
        return
    compression = pa.Codec.detect(own).name
    with pa.CompressedInputStream(pa.PythonFile(handle, "r"), compression) as data:
        yield data


def _chosen(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema([schema.field(name) for name in names])


def _slices(table: pa.Table, rows: int) -> Iterator[pa.Table]:
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
