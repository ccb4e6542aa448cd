"""The formats that tables are stored in: what a file of each holds, and how it is read and written."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import pyarrow as pa

__all__ = ["FORMATS", "Holds", "TableFormat", "Types", "cast_columns", "without_compression"]

Types = Mapping[str, pa.DataType]
# Whether the file of a number has a column of a name whose values can all be read as a type.
Holds = Callable[[int, str, pa.DataType], bool]

COMPRESSIONS = (".gz", ".bz2", ".zst", ".lz4")
# Bytes of text that are parsed at once: some hundred thousand rows of few columns.
CSV_BLOCK = 1 << 24
ARROW_MAGIC = b"ARROW1"
TEXTS = (pa.string(), pa.binary())
# What values of several types of a line are taken for together: the last of them. Others are text together.
VALUE_TYPES = (
    (pa.int64(), pa.bool_()),
    (pa.int64(), pa.float64()),
    (pa.date32(), pa.timestamp("s"), pa.timestamp("ns")),
    (pa.timestamp("s", "UTC"), pa.timestamp("ns", "UTC")),
)
# 0 and 1 are truth values, but 2 is none; nanoseconds end in 2262.
NARROW_TYPES = (pa.bool_(), pa.timestamp("ns"), pa.timestamp("ns", "UTC"))


def without_compression(name: str) -> str:
    """The name of the file that a packed one holds.

    Examples
    --------
    >>> without_compression("rows.csv.gz")
    'rows.csv'
    """
    return next((name.removesuffix(end) for end in COMPRESSIONS if name.endswith(end)), name)


class TableFormat(ABC):
    """How files of a format are read and written; `data` is an open file at its beginning."""

    name: str

    @abstractmethod
    def schema(self, data: BinaryIO, types: Types) -> pa.Schema:
        """Names and types of the columns."""

    @abstractmethod
    def n_rows(self, data: BinaryIO) -> int | None:
        """Number of rows, where the file tells."""

    @abstractmethod
    def unified(self, schemas: Sequence[pa.Schema], holds: Holds) -> pa.Schema:
        """Types for the columns of several files, from those that the same columns have in each."""

    @abstractmethod
    def batches(self, data: BinaryIO, schema: pa.Schema, rows: int) -> Iterator[Any]:
        """Rows in order, about so many at a time; text is read as the types of the schema."""

    @abstractmethod
    def read(self, data: BinaryIO, columns: Sequence[str], types: Types) -> pa.Table:
        """All rows."""

    @abstractmethod
    def retyped(self, data: BinaryIO, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """All rows, which were read before, in the types of the schema."""

    @abstractmethod
    def writable(self, schema: pa.Schema) -> pa.Schema:
        """What tables of a schema are written as."""

    @abstractmethod
    def writer(self, path: str, schema: pa.Schema) -> Any:  # noqa: ANN401  Arrow's writers have no common class
        """What writes tables to a file: a context with a method `write_table`."""


class Parquet(TableFormat):
    """Parquet: columns in groups of rows."""

    name = "Parquet"

    def schema(self, data: BinaryIO, types: Types) -> pa.Schema:
        """From the end of the file."""
        return self._file(data).schema_arrow.remove_metadata()

    def n_rows(self, data: BinaryIO) -> int:
        """From the end of the file."""
        return self._file(data).metadata.num_rows

    def unified(self, schemas: Sequence[pa.Schema], holds: Holds) -> pa.Schema:
        """Types that the files' own can be cast to."""
        return _promoted(schemas)

    def batches(self, data: BinaryIO, schema: pa.Schema, rows: int) -> Iterator[Any]:
        """A group of rows at a time: Arrow would fetch all groups that it is asked for beforehand."""
        file = self._file(data)
        for group in range(file.num_row_groups):
            yield from file.iter_batches(batch_size=rows, row_groups=[group], columns=schema.names)

    def read(self, data: BinaryIO, columns: Sequence[str], types: Types) -> pa.Table:
        """All rows."""
        return self._file(data).read(columns=list(columns))

    def retyped(self, data: BinaryIO, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """Columns of other types are cast."""
        return cast_columns(table, schema)

    def writable(self, schema: pa.Schema) -> pa.Schema:
        """As they are."""
        return schema

    def writer(self, path: str, schema: pa.Schema) -> Any:  # noqa: ANN401
        """A group of rows for each table."""
        import pyarrow.parquet as pq

        return pq.ParquetWriter(path, schema)

    def _file(self, data: BinaryIO) -> Any:  # noqa: ANN401
        import pyarrow.parquet as pq

        return pq.ParquetFile(data)


class Arrow(TableFormat):
    """Arrow's own: files (Feather) and streams."""

    name = "Arrow"

    def schema(self, data: BinaryIO, types: Types) -> pa.Schema:
        """From the beginning of the file."""
        return self._reader(data).schema.remove_metadata()

    def n_rows(self, data: BinaryIO) -> int | None:
        """Of files; streams do not tell."""
        reader = self._reader(data)
        return reader.count_rows() if isinstance(reader, pa.ipc.RecordBatchFileReader) else None

    def unified(self, schemas: Sequence[pa.Schema], holds: Holds) -> pa.Schema:
        """Types that the files' own can be cast to."""
        return _promoted(schemas)

    def batches(self, data: BinaryIO, schema: pa.Schema, rows: int) -> Iterator[Any]:
        """As they are stored."""
        reader = self._reader(data)
        stored = (
            (reader.get_batch(i) for i in range(reader.num_record_batches))
            if isinstance(reader, pa.ipc.RecordBatchFileReader)
            else reader
        )
        return (batch.select(schema.names) for batch in stored)

    def read(self, data: BinaryIO, columns: Sequence[str], types: Types) -> pa.Table:
        """All rows."""
        return self._reader(data).read_all().select(list(columns))

    def retyped(self, data: BinaryIO, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """Columns of other types are cast."""
        return cast_columns(table, schema)

    def writable(self, schema: pa.Schema) -> pa.Schema:
        """Without dictionaries: a file has one a column, and the next rows may have another."""
        return _decoded(schema, schema.names)

    def writer(self, path: str, schema: pa.Schema) -> Any:  # noqa: ANN401
        """A file, not a stream."""
        return pa.ipc.new_file(path, schema)

    def _reader(self, data: BinaryIO) -> Any:  # noqa: ANN401
        is_file = data.read(len(ARROW_MAGIC)) == ARROW_MAGIC
        data.seek(0)
        return pa.ipc.open_file(data) if is_file else pa.ipc.open_stream(data)


class Csv(TableFormat):
    """Text with a line of names; values that look like numbers, times or truth values are taken for them."""

    name = "CSV"

    def __init__(self, delimiter: str) -> None:
        self.delimiter = delimiter

    def schema(self, data: BinaryIO, types: Types) -> pa.Schema:
        """Judged by the first block."""
        return self._open(data, None, types).schema

    def n_rows(self, data: BinaryIO) -> None:
        """Unknown."""
        return None

    def unified(self, schemas: Sequence[pa.Schema], holds: Holds) -> pa.Schema:
        """Types that the values would be taken for if they were in one file."""
        names = schemas[0].names
        return pa.schema([(name, _text_type(name, [own.field(name).type for own in schemas], holds)) for name in names])

    def batches(self, data: BinaryIO, schema: pa.Schema, rows: int) -> Iterator[Any]:
        """A block of text at a time."""
        return iter(self._open(data, schema.names, _types(schema, schema.names)))

    def read(self, data: BinaryIO, columns: Sequence[str], types: Types) -> pa.Table:
        """All rows; a column whose values are integers at first and fractions later holds floats."""
        import pyarrow.csv as csv

        return csv.read_csv(data, **self._options(columns, types))

    def retyped(self, data: BinaryIO, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """Columns that are text after all are read again: 7 may have been 007."""
        texts = [name for name in _differing([table.schema, schema]) if schema.field(name).type in TEXTS]
        if texts:
            again = self.read(data, texts, _types(schema, texts))
            own = {name: table[name] for name in table.column_names}
            table = pa.table(own | {name: again[name] for name in texts})
        return cast_columns(table, schema)

    def writable(self, schema: pa.Schema) -> pa.Schema:
        """As they are."""
        return schema

    def writer(self, path: str, schema: pa.Schema) -> Any:  # noqa: ANN401
        """Numbers with as many digits as it takes to read them back the same."""
        import pyarrow.csv as csv

        return csv.CSVWriter(path, schema, write_options=csv.WriteOptions(delimiter=self.delimiter))

    def _open(self, data: BinaryIO, columns: Sequence[str] | None, types: Types) -> Any:  # noqa: ANN401
        import pyarrow.csv as csv

        return csv.open_csv(data, **self._options(columns, types))

    def _options(self, columns: Sequence[str] | None, types: Types) -> dict[str, Any]:
        import pyarrow.csv as csv

        return {
            "read_options": csv.ReadOptions(block_size=CSV_BLOCK),
            "parse_options": csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            "convert_options": csv.ConvertOptions(
                column_types=dict(types), include_columns=None if columns is None else list(columns)
            ),
        }


def cast_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of a schema, in its types."""
    return pa.Table.from_arrays([_cast(table[field.name], field.type) for field in schema], schema=schema)


def _cast(column: Any, to: pa.DataType) -> Any:  # noqa: ANN401  pyarrow.ChunkedArray, which has no annotations
    import pyarrow.compute as compute

    # Integers beyond 2^53 are rounded, as every float is.
    options = compute.CastOptions(to, allow_float_truncate=True)
    return column if column.type == to else column.cast(options=options)


def _promoted(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Types that hold the values of all, those of a dictionary and of no dictionary too."""
    differing = _differing(schemas)
    return pa.unify_schemas([_decoded(own, differing) for own in schemas], promote_options="permissive")


def _differing(schemas: Sequence[pa.Schema]) -> list[str]:
    """Columns that do not have the same type in all."""
    return [name for name in schemas[0].names if len({own.field(name).type for own in schemas}) > 1]


def _decoded(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """The values of dictionaries instead of them, in some columns."""
    return pa.schema([_decoded_field(field) if field.name in names else field for field in schema])


def _decoded_field(field: pa.Field) -> pa.Field:
    return field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field


def _text_type(name: str, types: Sequence[pa.DataType], holds: Holds) -> pa.DataType:
    """What the values of a column would be taken for, from what they are taken for in each file."""
    common = _loosest(set(types))
    doubtful = [i for i, own in enumerate(types) if common in NARROW_TYPES and own not in (common, pa.null())]
    return common if all(holds(i, name, common) for i in doubtful) else pa.string()


def _loosest(types: set[pa.DataType]) -> pa.DataType:
    found = types - {pa.null()}
    if len(found) < 2:
        return next(iter(found), pa.null())
    line = next((line for line in VALUE_TYPES if found <= set(line)), None)
    if line is not None:
        return max(found, key=line.index)
    return pa.binary() if pa.binary() in found else pa.string()


def _types(schema: pa.Schema, names: Sequence[str]) -> Types:
    return {name: schema.field(name).type for name in names}


_ARROW, _CSV = Arrow(), Csv(",")
FORMATS: dict[str, TableFormat] = {
    ".parquet": Parquet(),
    ".csv": _CSV,
    ".tsv": Csv("\t"),
    ".arrow": _ARROW,
    ".feather": _ARROW,
    ".ipc": _ARROW,
}
