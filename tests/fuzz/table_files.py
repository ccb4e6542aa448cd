"""Table files of all formats and types, whole and damaged, read as the command line reads them.

A file that is whole reads as pyarrow and pandas read it. One that is not is an error that names it, or a table that is
sound: whatever is done with it afterwards may be refused, and goes wrong in no other way.
"""

import base64
import io
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from ssgp import TableEncoder
from ssgp._utils.column_errors import InfiniteValuesError, UnusableTypeError
from ssgp.cli.columns import ColumnRoles
from ssgp.cli.errors import CommandError
from ssgp.cli.targets import numeric_values
from ssgp.cli.training_tables import StreamedTable, WholeTable
from ssgp.distributions.table_regressor import TableRegressor
from ssgp.distributions.training_batches import encoded_batches
from ssgp.table_files import TableFileError, TableSource, open_table
from ssgp.tables.usual_types import with_usual_types
from ssgp.tables.writing import write_table
from tests.fuzz.arrow_tables import COLUMNS, PLAIN_COLUMNS, random_table
from tests.fuzz.damage import damaged

CASES = 700
SECONDS = 20

PARQUET, ARROW, TEXT = (".parquet",), (".arrow", ".feather", ".ipc"), (".csv", ".tsv")
COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
SUFFIXES = (*PARQUET * 5, *ARROW * 2, *TEXT, *(f".csv{end}" for end in COMPRESSED))
SILENT: Any = lambda *_: None  # noqa: E731  in the place of a display of progress
# What the encoder and the command line raise on purpose; subclasses, such as those of Arrow, are none of it.
REFUSALS = (ValueError, InfiniteValuesError, UnusableTypeError, CommandError)


def case(seed: int) -> None:
    """Write a random table, damage it or not, and read it."""
    replay(explicit(seed))


def explicit(seed: int) -> dict[str, Any]:
    """Names and bytes of the files, and whether they are whole."""
    rng = np.random.default_rng(seed)
    suffix = SUFFIXES[rng.integers(len(SUFFIXES))]
    makers = PLAIN_COLUMNS if rng.random() < 0.5 else COLUMNS
    tables = [random_table(rng, makers)]
    if rng.random() < 0.15:
        tables.append(_other_types(tables[0], random_table(rng, makers), bool(rng.random() < 0.5)))
    files = [_written(table, suffix, rng) for table in tables]
    whole = bool(rng.random() < 0.25)
    if not whole:
        files[0] = damaged(files[0], rng)
    names = [f"{letter}{suffix}" for letter in "ab"]
    return {
        "whole": whole,
        "files": {name: base64.b64encode(data).decode() for name, data in zip(names, files, strict=False)},
    }


def replay(kept: dict[str, Any]) -> None:
    """Read the files as the command line does."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in kept["files"]]
        for path, data in zip(paths, kept["files"].values(), strict=True):
            path.write_bytes(base64.b64decode(data))
        table = _read(paths[0] if len(paths) == 1 else Path(folder), kept["whole"])
        if kept["whole"] and len(paths) == 1:
            _check_against_arrow(table, paths[0])
        if table is not None:
            _use(table)
            _check_training(paths[0] if len(paths) == 1 else Path(folder), table)


def _other_types(table: pa.Table, other: pa.Table, same: bool) -> pa.Table:
    """A table with the same names, and the same columns or those of another table."""
    columns = [other.column(i % other.num_columns) for i in range(table.num_columns)]
    return pa.Table.from_arrays(table.columns if same else columns, names=table.column_names)


def _written(table: pa.Table, suffix: str, rng: np.random.Generator) -> bytes:
    """A file with those columns of a table that the format can hold."""
    write = _write_parquet if suffix in PARQUET else _write_arrow if suffix in ARROW else _write_text(suffix)
    writable = [i for i in range(table.num_columns) if _can(lambda i=i: write(table.select([i]), rng))]
    chosen = table.select(writable) if writable else pa.table({"x": np.arange(table.num_rows)})
    return write(chosen, rng)


def _can(write: Callable[[], bytes]) -> bool:
    try:
        write()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True


def _write_parquet(table: pa.Table, rng: np.random.Generator) -> bytes:
    file = io.BytesIO()
    pq.write_table(
        table,
        file,
        row_group_size=int(rng.integers(1, 100)),
        compression=str(rng.choice(["none", "snappy", "gzip", "zstd", "lz4", "brotli"])),
        use_dictionary=bool(rng.random() < 0.5),
        data_page_version=str(rng.choice(["1.0", "2.0"])),
        write_statistics=bool(rng.random() < 0.5),
        use_byte_stream_split=False,
        store_schema=bool(rng.random() < 0.8),
    )
    return file.getvalue()


def _write_arrow(table: pa.Table, rng: np.random.Generator) -> bytes:
    file = io.BytesIO()
    compression = (None, None, "lz4", "zstd")[rng.integers(4)]
    options = pa.ipc.IpcWriteOptions(compression=compression, emit_dictionary_deltas=bool(rng.random() < 0.3))
    new = pa.ipc.new_file if rng.random() < 0.6 else pa.ipc.new_stream
    with new(file, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=int(rng.integers(1, 100)))
    return file.getvalue()


def _write_text(suffix: str) -> Callable[[pa.Table, np.random.Generator], bytes]:
    delimiter = "\t" if suffix == ".tsv" else ","
    codec = next((codec for end, codec in COMPRESSED.items() if suffix.endswith(end)), None)

    def write(table: pa.Table, rng: np.random.Generator) -> bytes:
        file = io.BytesIO()
        csv.write_csv(table, file, csv.WriteOptions(delimiter=delimiter))
        text = file.getvalue()
        if codec is None:
            return text
        packed = pa.BufferOutputStream()
        with pa.CompressedOutputStream(packed, codec) as out:
            out.write(text)
        return packed.getvalue().to_pybytes()

    return write


def _read(path: Path, whole: bool) -> pa.Table | None:
    """The table that is in the files, as all ways to read them agree; None where one of them refuses it."""
    source = open_table(path)
    asks: list[Callable[[TableSource], Any]] = [
        lambda source: source.schema(),
        lambda source: source.n_rows,
        lambda source: source.column_names,
        lambda source: source.read(),
        lambda source: _joined(source.batches(rows=7), source),
        lambda source: _joined(source.batches(source.column_names[-1:]), source),
    ]
    answers = [_answer(ask, open_table(path), path) for ask in asks]
    table, batches = answers[3], answers[4]
    if table is None or batches is None:
        assert not whole or (table is None) == (batches is None), "read and batches differ in what they refuse"
        return None
    assert table.column_names == source.column_names
    for part in answers[3:]:
        if part is not None:
            part.validate(full=True)
    assert same_columns(table, batches), "read and batches differ in what they find"
    return table


def _answer(ask: Callable[[TableSource], Any], source: TableSource, path: Path) -> Any:
    try:
        return ask(source)
    except TableFileError as error:
        message = str(error)
        assert str(path) in message, f"the message does not name the file: {message}"
        message.encode()
        return None


def _joined(batches: Iterator[pa.Table], source: TableSource) -> pa.Table:
    parts = list(batches)
    assert all(part.num_rows for part in parts)
    return pa.concat_tables(parts) if parts else _without_rows(source.schema())


def _without_rows(schema: pa.Schema) -> pa.Table:
    """A table of no rows; Arrow's own function knows no unions."""
    return pa.Table.from_arrays([pa.chunked_array([], field.type) for field in schema], schema=schema)


def same_columns(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables have the same names, types and values; NaN equals itself."""
    if one.schema.remove_metadata() != other.schema.remove_metadata() or one.num_rows != other.num_rows:
        return False
    columns = range(one.num_columns) if one.num_rows else ()
    return all(_same_values(_decoded(one[i]), _decoded(other[i])) for i in columns)


def _decoded(column: Any) -> Any:
    """A column as one array, without its dictionaries, which Arrow joins wrongly where they hold half floats."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    return plain.combine_chunks()


def _same_values(one: Any, other: Any) -> bool:
    if pa.types.is_floating(one.type):
        values = [column.cast(pa.float64()).to_numpy(zero_copy_only=False) for column in (one, other)]
        return one.is_null().equals(other.is_null()) and np.array_equal(*values, equal_nan=True)
    return one.equals(other)


def _check_against_arrow(table: pa.Table | None, path: Path) -> None:
    """The table is what pyarrow finds in a file that is whole, and its numbers are what pandas finds in a text."""
    expected = _by_arrow(path)
    if expected is None:
        assert table is None, "a table was found where Arrow finds none"
        return
    if len(set(expected.column_names)) < expected.num_columns:
        assert table is None, "columns of one name are not refused"
        return
    assert table is not None, "a whole file is refused"
    assert same_columns(table, with_usual_types(expected)), (
        f"{table.schema} instead of {expected.schema}, or other values"
    )
    if path.suffix in TEXT and table.num_rows:
        _check_against_pandas(table, path)


def _by_arrow(path: Path) -> pa.Table | None:
    suffix = path.name.removeprefix("a")
    if suffix in PARQUET:
        return pq.read_table(io.BytesIO(path.read_bytes()))
    if suffix in ARROW:
        data = path.read_bytes()
        reader = pa.ipc.open_file(data) if data.startswith(b"ARROW1") else pa.ipc.open_stream(data)
        return reader.read_all()
    options = csv.ParseOptions(delimiter="\t" if suffix == ".tsv" else ",", newlines_in_values=True)
    try:
        return csv.read_csv(path, parse_options=options)
    except pa.ArrowInvalid:
        return None


def _check_against_pandas(table: pa.Table, path: Path) -> None:
    delimiter = "\t" if path.suffix == ".tsv" else ","
    frame = pd.read_csv(path, sep=delimiter, float_precision="round_trip")
    for i, name in enumerate(table.column_names):
        column = table[name]
        if pa.types.is_floating(column.type) and pd.api.types.is_float_dtype(frame.iloc[:, i]):
            theirs = frame.iloc[:, i].to_numpy()
            assert np.array_equal(column.to_numpy(), theirs, equal_nan=True), f"column {name!r} differs from pandas"


def _use(table: pa.Table) -> None:
    """Do with a table what the commands do with it: learn from it, take targets from it, write it."""
    y = np.arange(table.num_rows, dtype=float)
    odd = y % 2 == 1
    assert table.filter(pa.array(odd)).num_rows == table.take(np.flatnonzero(odd)).num_rows == odd.sum()
    encoder = TableEncoder(max_one_hot=3)
    encoded = _allowed(lambda: encoder.fit_transform(table, y))
    if encoded is not None:
        assert np.isfinite(encoded).all(), "encoded rows are not finite"
        again = encoder.transform(table)
        assert again.shape == encoded.shape
        assert np.isfinite(again).all()
        assert encoder.get_feature_names_out().shape == (encoded.shape[1],)
        assert isinstance(encoder.describe(), str)
        if table.num_rows:
            assert np.array_equal(encoder.transform(table.slice(0, 1)), again[:1]), "a row alone is encoded otherwise"
    for name in table.column_names:
        single = TableEncoder(kinds={name: "category"})
        _allowed(lambda name=name, single=single: single.fit(table.select([name]), y))
        _allowed(lambda name=name: numeric_values(table[name], name))
        _allowed(lambda name=name: TableEncoder().fit(table.select([name]), y))
    for suffix in (".parquet", ".arrow", ".csv"):
        with tempfile.TemporaryDirectory() as folder:
            _check_written(table, Path(folder) / f"written{suffix}")


class Recorder(TableRegressor):
    """In the place of a regressor: keeps what it is given, encoded."""

    def __init__(self, encoder: TableEncoder) -> None:
        self.encoder = encoder

    def fit(self, X: Any, y: np.ndarray) -> "Recorder":
        """Keep a table."""
        X, y, _, _ = self._training_rows(X, y, None)
        self.rows_ = np.column_stack([X, y])
        return self

    def fit_batches(self, batches: Callable[[], Iterator[tuple[Any, ...]]], n_rows: int) -> "Recorder":
        """Keep the parts of a table."""
        _, numeric = encoded_batches(batches, self.encoder, n_rows)
        self.rows_ = np.concatenate([np.column_stack([X, y]) for X, y, *_ in numeric])
        return self

    def predict_distribution(self, X: Any) -> Any:
        """Nothing is predicted."""
        raise AssertionError

    _means = predict_distribution


def _check_training(path: Path, table: pa.Table) -> None:
    """What `ssgp fit` learns from is the same where a table is read at once and where it is read in parts."""
    names = table.column_names
    targets = [name for name in names if _allowed(lambda name=name: numeric_values(table[name], name)) is not None]
    if not targets or len(names) < 2:
        return
    roles = ColumnRoles(targets[0], [name for name in names if name != targets[0]], [], None)
    at_once = _allowed(lambda: _encoded(WholeTable(open_table(path), roles, 0.0, 0)))
    in_parts = _allowed(lambda: _encoded(StreamedTable(open_table(path), roles, 0.0, 0, SILENT)))
    assert (at_once is None) == (in_parts is None), "read in parts a table is refused, or read at once"
    assert at_once is None or np.array_equal(at_once, in_parts), "read in parts a table is encoded otherwise"


def _encoded(training: Any) -> np.ndarray:
    """Encoded rows and targets, as a regressor gets them."""
    recorder = Recorder(TableEncoder(max_one_hot=3))
    training.fit(recorder, SILENT, {})
    return recorder.rows_


def _allowed(use: Callable[[], Any]) -> Any:
    """What a use gives; None where it is refused on purpose."""
    try:
        return use()
    except REFUSALS as error:
        if type(error) not in REFUSALS:
            raise
        str(error).encode()
        return None


def _check_written(table: pa.Table, path: Path) -> None:
    """A table is written and is read as it was, or is refused; without columns there is nothing to read."""
    if not table.num_columns:
        return
    try:
        write_table([table], path)
    except TableFileError as error:
        if path.exists() or " column " not in str(error):
            raise
        return
    again = open_table(path).read()
    assert again.column_names == table.column_names
    # A line of one missing value is empty, and no row.
    assert again.num_rows == table.num_rows or (path.suffix == ".csv" and table.num_columns == 1)
