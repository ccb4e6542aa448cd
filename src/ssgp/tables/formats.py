"""Formats of table files: the types of their columns, and how they are read and written."""

import codecs
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import pyarrow as pa

from ssgp.tables.arrow_columns import compute
from ssgp.tables.csv_text import CsvText, found_text, peeked

__all__ = [
    "FORMATS",
    "Csv",
    "ReadableAs",
    "TableFormat",
    "Types",
    "cast_columns",
    "consecutive_groups",
    "without_compression",
]

Types = Mapping[str, pa.DataType]
# Whether all values of a column can be read as a type, from the number of the file, the name and the type.
ReadableAs = Callable[[int, str, pa.DataType], bool]

COMPRESSIONS = (".gz", ".bz2", ".zst", ".lz4")
# What text begins with that spreadsheets save as "Unicode".
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Text that is parsed at once: a hundred thousand rows or more of few columns.
CSV_BLOCK_BYTES = 1 << 24
ARROW_MAGIC = b"ARROW1"
TEXT_TYPES = (pa.string(), pa.binary())
# Types that a column may have in several CSV files: those of one line, read as the last of them. All others are text.
COMPATIBLE_TYPES = (
    (pa.int64(), pa.bool_()),
    (pa.int64(), pa.float64()),
    (pa.date32(), pa.timestamp("s"), pa.timestamp("ns")),
    (pa.timestamp("s", "UTC"), pa.timestamp("ns", "UTC")),
)
# Types that hold not all values of the others in their line: 2 is no truth value; nanoseconds end in 2262.
NARROW_TYPES = (pa.bool_(), pa.timestamp("ns"), pa.timestamp("ns", "UTC"))


def without_compression(name: str) -> str:
    """The name of a file without the suffix of its compression.

    Examples
    --------
    >>> without_compression("rows.csv.gz")
    'rows.csv'
    """
    return next((name.removesuffix(end) for end in COMPRESSIONS if name.endswith(end)), name)


class TableFormat(ABC):
    """Reads and writes files of a format; `data` is an open file at its beginning."""

    name: str

    @abstractmethod
    def schema(self, data: BinaryIO, types: Types) -> pa.Schema:
        """Names and types of the columns."""

    @abstractmethod
    def n_rows(self, data: BinaryIO) -> int | None:
        """Number of rows; None where the whole file would have to be read for it."""

    @abstractmethod
    def unified(self, schemas: Sequence[pa.Schema], readable_as: ReadableAs) -> pa.Schema:
        """One schema for several files, from the schemas of each."""

    @abstractmethod
    def batches(self, data: BinaryIO, schema: pa.Schema, rows: int) -> Iterator[Any]:
        """Rows in order, in batches of about `rows`; text is read as the types of the schema."""

    @abstractmethod
    def read(self, data: BinaryIO, columns: Sequence[str], types: Types) -> pa.Table:
        """All rows of these columns."""

    @abstractmethod
    def retyped(self, data: BinaryIO, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """All rows, which were read before, in the types of the schema."""

    @abstractmethod
    def writable(self, schema: pa.Schema) -> pa.Schema:
        """Schema that tables of a schema are written with."""

    @abstractmethod
    def writer(self, path: str, schema: pa.Schema) -> Any:  # noqa: ANN401  Arrow's writers have no common class
        """Context with a method `write_table`, which writes to a file."""


class Parquet(TableFormat):
    """Parquet: columns in groups of rows."""

    name = "Parquet"

    def schema(self, data: BinaryIO, types: Types) -> pa.Schema:
        """Schema at the end of the file."""
        return self.opened(data).schema_arrow.remove_metadata()

    def n_rows(self, data: BinaryIO) -> int:
        """Number of rows at the end of the file."""
        return self.opened(data).metadata.num_rows

    def unified(self, schemas: Sequence[pa.Schema], readable_as: ReadableAs) -> pa.Schema:
        """Schema that the schemas of all files can be cast to."""
        return _promoted(schemas)

    def batches(self, data: BinaryIO, schema: pa.Schema, rows: int) -> Iterator[Any]:
        """Batches of a few groups of rows at a time: Arrow fetches all groups that it is given beforehand."""
        file = self.opened(data)
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        for groups in consecutive_groups(sizes, rows):
            yield from file.iter_batches(batch_size=rows, row_groups=list(groups), columns=schema.names)

    def read(self, data: BinaryIO, columns: Sequence[str], types: Types) -> pa.Table:
        """All rows of these columns."""
        return self.opened(data).read(columns=list(columns))

    def retyped(self, data: BinaryIO, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """The table, with columns of other types cast."""
        return cast_columns(table, schema)

    def writable(self, schema: pa.Schema) -> pa.Schema:
        """The same schema."""
        return schema

    def writer(self, path: str, schema: pa.Schema) -> Any:  # noqa: ANN401
        """Writer of one group of rows per table."""
        import pyarrow.parquet as pq

        return pq.ParquetWriter(path, schema)

    @staticmethod
    def opened(data: BinaryIO) -> Any:  # noqa: ANN401
        """The file, of which what is at its end has been read."""
        import pyarrow.parquet as pq

        file = pq.ParquetFile(data)
        _check_rows_of_groups(file.metadata)
        return file


def _check_rows_of_groups(metadata: Any) -> None:  # noqa: ANN401
    """Refuse a Parquet file whose groups have other rows than the file: Arrow reads them in several ways."""
    rows = sum(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
    if rows != metadata.num_rows:
        raise pa.ArrowInvalid(f"its groups of rows have {rows} rows, and the file is said to have {metadata.num_rows}")


class Arrow(TableFormat):
    """Arrow: files (Feather) and streams."""

    name = "Arrow"

    def schema(self, data: BinaryIO, types: Types) -> pa.Schema:
        """Schema at the beginning of the file."""
        return self._reader(data).schema.remove_metadata()

    def n_rows(self, data: BinaryIO) -> int | None:
        """Number of rows of a file; None for a stream."""
        reader = self._reader(data)
        if not isinstance(reader, pa.ipc.RecordBatchFileReader):
            return None
        if hasattr(reader, "count_rows"):
            return reader.count_rows()
        # Older versions of Arrow cannot tell without reading.
        return sum(reader.get_batch(i).num_rows for i in range(reader.num_record_batches))

    def unified(self, schemas: Sequence[pa.Schema], readable_as: ReadableAs) -> pa.Schema:
        """Schema that the schemas of all files can be cast to."""
        return _promoted(schemas)

    def batches(self, data: BinaryIO, schema: pa.Schema, rows: int) -> Iterator[Any]:
        """Batches as they are stored."""
        reader = self._reader(data)
        stored = (
            (reader.get_batch(i) for i in range(reader.num_record_batches))
            if isinstance(reader, pa.ipc.RecordBatchFileReader)
            else reader
        )
        return (batch.select(schema.names) for batch in stored)

    def read(self, data: BinaryIO, columns: Sequence[str], types: Types) -> pa.Table:
        """All rows of these columns."""
        return self._reader(data).read_all().select(list(columns))

    def retyped(self, data: BinaryIO, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """The table, with columns of other types cast."""
        return cast_columns(table, schema)

    def writable(self, schema: pa.Schema) -> pa.Schema:
        """Schema without dictionaries: a file has one per column, and the next rows may have another."""
        return _decoded(schema, schema.names)

    def writer(self, path: str, schema: pa.Schema) -> Any:  # noqa: ANN401
        """Writer of a file, not of a stream."""
        return pa.ipc.new_file(path, schema)

    def _reader(self, data: BinaryIO) -> Any:  # noqa: ANN401
        is_file = data.read(len(ARROW_MAGIC)) == ARROW_MAGIC
        data.seek(0)
        return pa.ipc.open_file(data) if is_file else pa.ipc.open_stream(data)


class Csv(TableFormat):
    """Text with a line of names; values that look like numbers, times or truth values are taken for them."""

    name = "CSV"

    def __init__(self, delimiter: str, text: CsvText | None = None) -> None:
        self.delimiter, self.text = delimiter, text or CsvText()

    def with_text(self, text: CsvText) -> "Csv":
        """The same format, of files that are written so."""
        return Csv(self.delimiter, text)

    def found(self, data: BinaryIO) -> CsvText:
        """How a file is written."""
        return found_text(peeked(data)[0], self.text, self.delimiter)

    def schema(self, data: BinaryIO, types: Types) -> pa.Schema:
        """Schema inferred from the first block."""
        return self._open(data, None, types).schema

    def n_rows(self, data: BinaryIO) -> None:
        """None: the whole file would have to be read."""
        return None

    def unified(self, schemas: Sequence[pa.Schema], readable_as: ReadableAs) -> pa.Schema:
        """Schema that the values would have if they were in one file."""
        types = {name: [schema.field(name).type for schema in schemas] for name in schemas[0].names}
        return pa.schema([(name, _common_type(name, types[name], readable_as)) for name in types])

    def batches(self, data: BinaryIO, schema: pa.Schema, rows: int) -> Iterator[Any]:
        """Batches of one block of text each."""
        stored = self._open(data, schema.names, _types(schema, schema.names))
        return (pa.RecordBatch.from_arrays(self._known(batch), schema=batch.schema) for batch in stored)

    def read(self, data: BinaryIO, columns: Sequence[str], types: Types) -> pa.Table:
        """All rows of these columns; one whose values are integers at first and fractions later holds floats."""
        import pyarrow.csv as csv

        data, options = self._options(data, columns, types)
        table = csv.read_csv(data, **options)
        return pa.table(self._known(table), schema=table.schema)

    def retyped(self, data: BinaryIO, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """The table, with columns cast, or read again where they are text after all: 7 may have been 007."""
        texts = [name for name in _differing([table.schema, schema]) if schema.field(name).type in TEXT_TYPES]
        if texts:
            as_text = self.read(data, texts, _types(schema, texts))
            columns = {name: table[name] for name in table.column_names}
            table = pa.table(columns | {name: as_text[name] for name in texts})
        return cast_columns(table, schema)

    def writable(self, schema: pa.Schema) -> pa.Schema:
        """The same schema."""
        return schema

    def writer(self, path: str, schema: pa.Schema) -> Any:  # noqa: ANN401
        """Writer of numbers with as many digits as it takes to read the same numbers back."""
        import pyarrow.csv as csv

        return csv.CSVWriter(path, schema, write_options=csv.WriteOptions(delimiter=self.delimiter))

    def _open(self, data: BinaryIO, columns: Sequence[str] | None, types: Types) -> Any:  # noqa: ANN401
        import pyarrow.csv as csv

        data, options = self._options(data, columns, types)
        return csv.open_csv(data, **options)

    def _options(self, data: BinaryIO, columns: Sequence[str] | None, types: Types) -> tuple[Any, dict[str, Any]]:
        """The file, still at its beginning, and how Arrow is to read it."""
        import pyarrow.csv as csv

        start, data = peeked(data)
        if start.startswith(UTF_16):
            raise pa.ArrowInvalid("the text is UTF-16; save the file as UTF-8")
        text = found_text(start, self.text, self.delimiter)
        conversion = csv.ConvertOptions(
            column_types=dict(types),
            include_columns=None if columns is None else list(columns),
            decimal_point=text.decimal,
        )
        conversion.null_values = [*conversion.null_values, *text.missing_numbers]
        return data, {
            "read_options": csv.ReadOptions(block_size=CSV_BLOCK_BYTES),
            "parse_options": csv.ParseOptions(delimiter=text.separator, newlines_in_values=True),
            "convert_options": conversion,
        }

    def _known(self, table: Any) -> list[Any]:  # noqa: ANN401  a table or a batch
        """Columns, in which text that stands for a missing value is none: Arrow sees to that in numbers alone."""
        return [_without(column, self.text.missing) for column in table.columns]


def consecutive_groups(sizes: Sequence[int], most: int) -> Iterator[range]:
    """Numbers of neighbouring groups that are together of at most this size, or of a single one that is larger.

    Examples
    --------
    >>> list(consecutive_groups([3, 4, 9, 1, 0, 5], 8))
    [range(0, 2), range(2, 3), range(3, 6)]
    """
    start = total = 0
    for group, size in enumerate(sizes):
        if group > start and total + size > most:
            yield range(start, group)
            start, total = group, 0
        total += size
    if start < len(sizes):
        yield range(start, len(sizes))


def cast_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table with the columns and types of a schema."""
    return pa.Table.from_arrays([_cast(table[field.name], field.type) for field in schema], schema=schema)


def _without(column: Any, missing: Sequence[str]) -> Any:  # noqa: ANN401  an array or a ChunkedArray
    """A column without text that stands for missing values."""
    if not missing or column.type != pa.string():
        return column
    stands_for_it = compute.is_in(column, value_set=pa.array(missing, pa.string()))
    return compute.if_else(stands_for_it, pa.scalar(None, pa.string()), column)


def _cast(column: Any, to: pa.DataType) -> Any:  # noqa: ANN401  pyarrow.ChunkedArray, which has no annotations
    import pyarrow.compute as compute

    if pa.types.is_null(column.type) and column.type != to:
        # Arrow casts nothing to some types.
        return pa.chunked_array([pa.nulls(len(column), to)])
    # Integers beyond 2^53 are rounded, as every float is.
    options = compute.CastOptions(to, allow_float_truncate=True)
    return column if column.type == to else column.cast(options=options)


def _promoted(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Schema that holds the values of all schemas; where one has a dictionary and another none, there is none."""
    differing = _differing(schemas)
    return pa.unify_schemas([_decoded(schema, differing) for schema in schemas], promote_options="permissive")


def _differing(schemas: Sequence[pa.Schema]) -> list[str]:
    """Names of the columns whose types are not the same in all schemas."""
    return [name for name in schemas[0].names if len({schema.field(name).type for schema in schemas}) > 1]


def _decoded(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """Schema with the types of values in the place of dictionaries, for the columns of these names."""
    return pa.schema([_decoded_field(field) if field.name in names else field for field in schema])


def _decoded_field(field: pa.Field) -> pa.Field:
    return field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field


def _common_type(name: str, types: Sequence[pa.DataType], readable_as: ReadableAs) -> pa.DataType:
    """Type that the values of a column would have in one file, from the types they have in each file."""
    widest = _widest_type(set(types))
    doubtful = [i for i, kind in enumerate(types) if widest in NARROW_TYPES and kind not in (widest, pa.null())]
    return widest if all(readable_as(i, name, widest) for i in doubtful) else pa.string()


def _widest_type(types: set[pa.DataType]) -> pa.DataType:
    """Type that values of all these types can be read as, where it is not one of `NARROW_TYPES`."""
    present = types - {pa.null()}
    if len(present) < 2:
        return next(iter(present), pa.null())
    compatible = next((line for line in COMPATIBLE_TYPES if present <= set(line)), None)
    if compatible is not None:
        return max(present, key=compatible.index)
    return pa.binary() if pa.binary() in present else pa.string()


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
