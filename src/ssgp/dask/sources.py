"""What users give: Dask's arrays and data frames, and Parquet files that workers read, cut into blocks."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from dask.base import compute, is_dask_collection
from dask.delayed import Delayed, delayed

from ssgp.dask.blocks import Block, Partition, RowGroups
from ssgp.dask.tasks import Tasks
from ssgp.tables.files import check_columns
from ssgp.tables.formats import FORMATS, Parquet, consecutive_groups
from ssgp.tables.locations import find_files
from ssgp.tables.table_file import TableFile, TableFileError

__all__ = [
    "TargetColumns",
    "blocks_of",
    "blocks_to_predict",
    "collection_blocks",
    "is_collection",
    "open_parquet",
    "parquet_blocks",
    "partitions",
    "paths_of",
]

# Blocks of a file's row groups: so many of a table, of at least so many bytes.
BLOCKS, LEAST_BLOCK_BYTES = 32, 1 << 24
# Bytes of a block of rows to predict, at most.
MOST_PREDICTED_BYTES = 1 << 27
# Files, and row groups of each.
FileGroups = tuple[tuple[TableFile, tuple[int, ...]], ...]


@dataclass(frozen=True)
class TargetColumns:
    """Names of columns, where the source has all of them in one table.

    Attributes
    ----------
    target : str or None
        What is to be predicted; None where it comes apart from the inputs.
    features : sequence of str or None
        Inputs, None for all other columns.
    weight : str or None
        How many rows each row counts for.
    known_only : bool
        Whether rows of a file without a target are left out.
    """

    target: str | None
    features: Sequence[str] | None = None
    weight: str | None = None
    known_only: bool = False

    def needed(self, where: str) -> str:
        """The target, which must be given."""
        if self.target is None:
            raise ValueError(
                f"{where} has inputs and target in one table: say which column is the target, target='...'"
            )
        return self.target

    def inputs_among(self, columns: Sequence[str], where: str) -> list[str]:
        """Names of the inputs among the columns of a table, of which all that were named must be."""
        taken = [self.needed(where), *([] if self.weight is None else [self.weight])]
        check_columns([*taken, *(self.features or ())], columns, f"{where} has no column")
        return [name for name in columns if name not in taken] if self.features is None else list(self.features)


def is_collection(source: Any) -> bool:  # noqa: ANN401
    """Whether something is an array or a data frame of Dask, or a sequence with some."""
    if isinstance(source, list | tuple):
        return any(map(is_dask_collection, source))
    return is_dask_collection(source)


def blocks_of(
    source: Any,  # noqa: ANN401
    columns: TargetColumns,
    tasks: Tasks,
    most_bytes: int,
) -> Sequence[Block | Delayed]:
    """Blocks of a source: parts of at most so many bytes, or its own partitions."""
    if is_collection(source):
        return collection_blocks(source, columns, tasks)
    paths = paths_of(source, "source must be a pair (X, y) of Dask's arrays or data frames, a data frame of Dask")
    return parquet_blocks(paths, columns, tasks, most_bytes)


def paths_of(source: Any, otherwise: str) -> list[str]:  # noqa: ANN401
    """Paths of files: one, or several; else an error that begins with what the source may be otherwise."""
    if isinstance(source, str | os.PathLike):
        return [os.fspath(source)]
    # Entries of data frames are names of columns.
    paths = [] if hasattr(source, "shape") or not isinstance(source, Iterable) else list(source)
    if not paths or not all(isinstance(path, str | os.PathLike) for path in paths):
        raise TypeError(f"{otherwise}, or paths of Parquet files, got {type(source).__name__}")
    return [os.fspath(path) for path in paths]


def collection_blocks(source: Any, columns: TargetColumns, tasks: Tasks) -> list[Delayed]:  # noqa: ANN401
    """A task for each partition of a data frame, or of a pair or three of arrays or data frames."""
    parts = list(source) if isinstance(source, list | tuple) else _columns_of_frame(source, columns)
    given = parts[:-1] if len(parts) == 3 and parts[-1] is None else parts
    if not 2 <= len(given) <= 3 or not all(map(is_dask_collection, given)):
        found = ", ".join(type(part).__name__ for part in parts)
        raise TypeError(f"source must be (X, y) or (X, y, sample_weight), all of them Dask's, got ({found})")
    if isinstance(source, list | tuple) and columns.target is not None:
        raise ValueError("target names a column of one table, and source is a pair with the target apart")
    delayed = [partitions(part, given[0]) for part in given]
    numbers = {len(own) for own in delayed}
    if len(numbers) > 1:
        found = ", ".join(f"{len(own):,}" for own in delayed)
        raise ValueError(f"X, y and weights must have the same partitions, and have {found} of them: repartition them")
    return [tasks.call("partition", Partition, i, *own) for i, own in enumerate(zip(*delayed, strict=True))]


def _columns_of_frame(frame: Any, columns: TargetColumns) -> list[Any]:  # noqa: ANN401
    """Inputs, target and weights of a data frame with all of them."""
    if not hasattr(frame, "columns"):
        raise TypeError(f"source must be a pair (X, y) or a data frame, got one {type(frame).__name__} of Dask's")
    names = list(frame.columns)
    inputs = columns.inputs_among(names, "the data frame")
    weight = [] if columns.weight is None else [frame[columns.weight]]
    return [frame[inputs], frame[columns.target], *weight]


def partitions(part: Any, like: Any) -> list[Delayed]:  # noqa: ANN401
    """Partitions of an array or a data frame; those of arrays as those of the inputs."""
    if not hasattr(part, "chunks"):
        return list(part.to_delayed())
    if part.ndim == 2 and len(part.chunks[1]) > 1:
        part = part.rechunk({1: -1})
    rows = getattr(like, "chunks", (part.chunks[0],))[0]
    if part.chunks[0] != rows and not np.isnan([*part.chunks[0], *rows]).any() and sum(part.chunks[0]) == sum(rows):
        part = part.rechunk({0: rows})
    return part.to_delayed().ravel().tolist()


@dataclass(frozen=True)
class Footer:
    """What stands at the end of a Parquet file: its schema, and how many rows each row group has."""

    schema: pa.Schema
    sizes: tuple[int, ...]


def parquet_blocks(paths: Sequence[str], columns: TargetColumns, tasks: Tasks, most_bytes: int) -> list[RowGroups]:
    """Blocks of neighbouring row groups of files, with inputs and target."""
    files = parquet_files(paths)
    footers = tasks.run([tasks.call("footer", read_footer, file) for file in files])
    inputs = columns.inputs_among(footers[0].schema.names, repr(files[0].name))
    others = [columns.needed(repr(paths[0])), *([] if columns.weight is None else [columns.weight])]
    schema = _schema_of_all(files, footers, [*inputs, *others])
    split = _selected(schema, inputs), _selected(schema, others)
    blocks = _blocks(files, footers, len(inputs) + 1, most_bytes)
    return [RowGroups(groups, *split, columns.known_only, n_rows) for groups, n_rows in blocks]


def open_parquet(paths: Sequence[str], names: Sequence[str] | None) -> list[RowGroups]:
    """Blocks of row groups of files with these columns, by default all."""
    files = parquet_files(paths)
    footers = compute(*[delayed(read_footer)(file) for file in files])
    inputs = footers[0].schema.names if names is None else list(names)
    check_columns(inputs, footers[0].schema.names, f"{files[0].name!r} has no column")
    return _predicted_blocks(files, footers, _schema_of_all(files, footers, inputs))


def blocks_to_predict(path: str, schema: pa.Schema, tasks: Tasks) -> list[RowGroups]:
    """Blocks of row groups of files, which have rows, with these columns."""
    files = parquet_files([path])
    footers = tasks.run([tasks.call("footer", read_footer, file) for file in files])
    return [block for block in _predicted_blocks(files, footers, schema) if block.n_rows]


def _predicted_blocks(files: Sequence[TableFile], footers: Sequence[Footer], schema: pa.Schema) -> list[RowGroups]:
    blocks = _blocks(files, footers, len(schema), MOST_PREDICTED_BYTES)
    return [RowGroups(groups, schema, pa.schema([]), n_rows=n_rows) for groups, n_rows in blocks]


def parquet_files(paths: Sequence[str]) -> list[TableFile]:
    """The files that paths stand for, of whatever folder a worker is in."""
    files = [file for path in paths for file in find_files(path if "://" in path else os.path.abspath(path))]
    for file in files:
        if not isinstance(file.format, Parquet):
            raise TableFileError(
                f"{file.name!r} is {file.format.name}, and workers read the row groups of Parquet files, which pandas, "
                "polars and Arrow can write"
            )
    return files


def read_footer(file: TableFile) -> Footer:
    """Schema and sizes of the row groups of a file."""
    try:
        schema = file.schema({})
    except TableFileError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        raise TableFileError(
            f"a worker finds no file {file.name!r}: all of them have to read the files, by the same names"
        ) from error
    with file.opened() as data:
        metadata = Parquet.opened(data).metadata
        return Footer(schema, tuple(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)))


def _blocks(
    files: Sequence[TableFile], footers: Sequence[Footer], n_columns: int, most_bytes: int
) -> Iterator[tuple[FileGroups, int]]:
    """Neighbouring row groups, by file, and how many rows they have together."""
    groups = [(file, group) for file, footer in zip(files, footers, strict=True) for group in range(len(footer.sizes))]
    sizes, row_bytes = [size for footer in footers for size in footer.sizes], 8 * n_columns
    most_rows = min(max(sum(sizes) * row_bytes // BLOCKS, LEAST_BLOCK_BYTES), most_bytes) // row_bytes
    for block in consecutive_groups(sizes, most_rows):
        by_file = groupby([groups[i] for i in block], key=lambda pair: id(pair[0]))
        own = [list(pairs) for _, pairs in by_file]
        n_rows = sum(sizes[block.start : block.stop])
        yield tuple((pairs[0][0], tuple(group for _, group in pairs)) for pairs in own), n_rows


def _schema_of_all(files: Sequence[TableFile], footers: Sequence[Footer], names: Sequence[str]) -> pa.Schema:
    """Columns that the rows of all files can be cast to; an error names the first file that does not fit."""
    schema = _selected(footers[0].schema, names)
    for file, footer in zip(files[1:], footers[1:], strict=True):
        check_columns(names, footer.schema.names, f"{file.name!r} has no column", "as there is in the first file")
        found = _selected(footer.schema, names)
        try:
            schema = FORMATS[".parquet"].unified([schema, found], lambda *_: True)
        except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
            differing = [field.name for field in found if field.type != schema.field(field.name).type]
            kinds = ", ".join(
                f"column {name!r} holds {found.field(name).type} and {schema.field(name).type} in those before"
                for name in differing
            )
            raise TableFileError(f"{file.name!r} does not fit to the files before it: {kinds}") from error
    return schema


def _selected(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema([pa.field(name, schema.field(name).type) for name in names])
