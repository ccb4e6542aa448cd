"""The files that a path stands for: local ones, folders and globs, remote ones, and the standard input."""

import glob
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ssgp._utils.names import hint
from ssgp.tables.formats import FORMATS, TableFormat, without_compression
from ssgp.tables.table_file import TableFile, TableFileError, one_line

__all__ = ["find_files"]

STANDARD_INPUT = "-"


def find_files(name: str) -> list[TableFile]:
    """Files of a table, in order: a file, those of a folder or glob, a remote one, or ``-`` for the standard input."""
    if name == STANDARD_INPUT:
        return [_standard_input()]
    if "://" in name:
        return _remote_files(name)
    return [_local_file(path) for path in _local_paths(name)]


def _local_paths(name: str) -> list[str]:
    """Paths of the tables that a name stands for: a file, or the files of a folder or glob."""
    if os.path.isdir(name):
        return _table_paths(name, sorted(os.path.join(name, file) for file in os.listdir(name) if file[0] not in "._"))
    if os.path.exists(name):
        return [name]
    if glob.has_magic(name):
        return _table_paths(name, sorted(filter(os.path.isfile, glob.glob(name, recursive=True))))
    folder, file = os.path.split(name)
    others = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
    raise TableFileError(f"there is no file {name!r}{hint(file, others)}")


def _local_file(name: str) -> TableFile:
    return TableFile(name, _format_of(name), lambda: open(name, "rb"), lambda: os.path.getsize(name))


def _table_paths(name: str, paths: Sequence[str]) -> list[str]:
    """Files of a folder or glob whose suffix is one of a table, which must all have one format."""
    tables = [path for path in paths if _suffix(path) in FORMATS]
    formats = {FORMATS[_suffix(path)].name for path in tables}
    if not tables:
        raise TableFileError(
            f"there is no table in {name!r}: no file that ends in {_suffixes()}"
            + ("" if glob.has_magic(name) else f"; files in folders below are found by '{name}/**/*.parquet'")
        )
    if len(formats) > 1:
        raise TableFileError(
            f"{name!r} has files of several formats ({', '.join(sorted(formats))}); choose some: '{name}/*.parquet'"
        )
    return tables


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
            paths = _table_paths(name, sorted(filesystem.ls(path, detail=False)))
        elif listable and glob.has_magic(path):
            paths = _table_paths(name, sorted(filesystem.glob(path)))
        else:
            paths = [path]
        info = filesystem.info(paths[0])
        # Web servers say whether they send parts of a file; all others do.
        readable = filesystem if listable or info.get("partial") else _fetching(filesystem)
    except TableFileError:
        raise
    except ImportError as error:
        raise _missing_driver(name, error) from error
    except FileNotFoundError as error:
        raise TableFileError(f"there is no file {name!r}{_cause(error)}") from error
    except Exception as error:  # every driver raises other errors
        raise TableFileError(f"{name!r} cannot be reached: {one_line(error)}") from error
    formats = [_format_of(path.partition("?")[0]) for path in paths]

    def file(path: str, format: TableFormat) -> TableFile:
        return TableFile(path, format, lambda: readable.open(path, "rb"), lambda: filesystem.info(path).get("size"))

    return [file(path, format) for path, format in zip(paths, formats, strict=True)]


def _fetching(filesystem: Any) -> Any:  # noqa: ANN401  fsspec has no annotations
    """The same files, fetched whole, once, to a temporary folder."""
    from fsspec import filesystem as make_filesystem

    return make_filesystem("simplecache", fs=filesystem)


def _cause(error: BaseException) -> str:
    return "" if error.__cause__ is None else f" ({one_line(error.__cause__)})"


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
        raise TableFileError(f"{name!r} cannot be opened: {one_line(error)}") from error


def _missing_driver(name: str, error: ImportError) -> TableFileError:
    protocol = name.partition("://")[0]
    return TableFileError(
        f"{name!r} needs a package that is not installed ({one_line(error)}): pip install 'fsspec[{protocol}]'"
    )


def _standard_input() -> TableFile:
    """The standard input, kept in memory because it is read twice."""
    if sys.stdin is None:
        raise TableFileError("the standard input is closed; give the name of a file, or a table by < or |")
    text = sys.stdin.buffer.read()
    return TableFile("standard input", FORMATS[".csv"], lambda: io.BytesIO(text), lambda: len(text))
