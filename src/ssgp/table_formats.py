"""The formats that tables are stored in: what a file of each holds, and how it is read and written."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import pyarrow as pa

__all__ = ["FORMATS", "TableFormat", "Types", "without_compression"]

Types = Mapping[str, pa.DataType]

COMPRESSIONS = (".gz", ".bz2", ".zst", ".lz4")
# Bytes of text that are parsed at once: some hundred thousand rows of few columns.
CSV_BLOCK = 1 << 24
ARROW_MAGIC = b"ARROW1"


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
    def batches(self, data: BinaryIO, columns: Sequence[str], rows: int, types: Types) -> Iterator[Any]:
        """Rows in order, about so many at a time."""

    @abstractmethod
    def read(self, data: BinaryIO, columns: Sequence[str], types: Types) -> pa.Table:
        """All rows."""

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

    def batches(self, data: BinaryIO, columns: Sequence[str], rows: int, types: Types) -> Iterator[Any]:
        """A group of rows at a time: Arrow would fetch all groups that it is asked for beforehand."""
        file = self._file(data)
        for group in range(file.num_row_groups):
            yield from file.iter_batches(batch_size=rows, row_groups=[group], columns=list(columns))

    def read(self, data: BinaryIO, columns: Sequence[str], types: Types) -> pa.Table:
        """All rows."""
        return self._file(data).read(columns=list(columns))

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

    def batches(self, data: BinaryIO, columns: Sequence[str], rows: int, types: Types) -> Iterator[Any]:
        """As they are stored."""
        reader = self._reader(data)
        stored = (
            (reader.get_batch(i) for i in range(reader.num_record_batches))
            if isinstance(reader, pa.ipc.RecordBatchFileReader)
            else reader
        )
        return (batch.select(list(columns)) for batch in stored)

    def read(self, data: BinaryIO, columns: Sequence[str], types: Types) -> pa.Table:
        """All rows."""
        return self._reader(data).read_all().select(list(columns))

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

    def batches(self, data: BinaryIO, columns: Sequence[str], rows: int, types: Types) -> Iterator[Any]:
        """A block of text at a time."""
        return iter(self._open(data, columns, types))

    def read(self, data: BinaryIO, columns: Sequence[str], types: Types) -> pa.Table:
        """All rows; a column whose values are integers at first and fractions later holds floats."""
        import pyarrow.csv as csv

        return csv.read_csv(data, **self._options(columns, types))

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


_ARROW, _CSV = Arrow(), Csv(",")
FORMATS: dict[str, TableFormat] = {
    ".parquet": Parquet(),
    ".csv": _CSV,
    ".tsv": Csv("\t"),
    ".arrow": _ARROW,
    ".feather": _ARROW,
    ".ipc": _ARROW,
}
