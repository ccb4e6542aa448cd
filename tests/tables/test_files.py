"""Tables read from files: every format, one or many, in order and in batches."""

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from ssgp.tables.files import TableFileError, open_table
from ssgp.tables.table_file import gathered
from stored_tables import SUFFIXES, TABLE, strings, write


@pytest.fixture(params=SUFFIXES, ids=str)
def stored(request, tmp_path):
    return write(tmp_path / f"table{request.param}")


def test_reads_every_format(stored):
    source = strings(open_table(stored))
    assert source.column_names == TABLE.column_names
    assert source.read().equals(TABLE)
    assert source.n_rows == (None if stored.suffix in (".csv", ".tsv") else 100)


def test_batches_are_the_table_in_order(stored):
    batches = list(strings(open_table(stored)).batches(["count", "key"], rows=7))
    assert max(batch.num_rows for batch in batches) == 7
    assert pa.concat_tables(batches).combine_chunks().equals(TABLE.select(["count", "key"]))


def test_packed_text(tmp_path):
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(write(tmp_path / "table.csv").read_bytes()))
    assert strings(open_table(path)).read().equals(TABLE)
    assert sum(batch.num_rows for batch in open_table(path).batches(rows=30)) == 100


def test_types_follow_all_values_of_a_file_and_of_all_files(tmp_path):
    (tmp_path / "a.csv").write_text("x\n" + "1\n" * 50)
    (tmp_path / "b.csv").write_text("x\n1.5\n")
    assert open_table(tmp_path).read()["x"].type == pa.float64()


def rows_of(*values):
    """Text of a CSV file with one column; a number beside it tells lines apart that would be empty."""
    return "\n".join(["x,row", *(f"{value},{i}" for i, value in enumerate(values))]) + "\n"


CODES = {
    "numbers, text": (["10", "007", "NA"], ["A0", ""]),
    "nothing, text": (["", "NA"], ["A0"]),
    "nothing, numbers": (["", "NA"], ["3"]),
    "integers, fractions": (["1", str(2**60 + 1)], ["0.5"]),
    "0 and 1, true and false": (["0", "1"], ["true", "false", ""]),
    "integers, true and false": (["0", "2"], ["true", "false"]),
    "0 and 1 in other words, true and false": (["00", "1"], ["true", "false"]),
    "fractions, true and false": (["0.5", "1"], ["true", "false"]),
    "dates, times": (["2024-01-01", "9999-12-31"], ["2024-01-02 10:00"]),
    "times, fractions of a second": (["2024-01-01 10:00"], ["2024-01-01 10:00:00.5"]),
    "dates beyond nanoseconds": (["2024-01-01", "9999-12-31"], ["2024-01-01 10:00:00.5"]),
    "dates, times with a zone": (["2024-01-01"], ["2024-01-02T10:00Z"]),
    "dates, numbers": (["2024-01-01"], ["7"]),
    "dates, times of day": (["2024-01-01"], ["10:00"]),
    "text, bytes": (["caf\xe9"], ["7"]),
}


@pytest.mark.parametrize("order", [1, -1], ids=["", "turned"])
@pytest.mark.parametrize("values", CODES.values(), ids=CODES)
def test_several_files_of_text_are_read_as_one(values, order, tmp_path):
    first, second = values[::order]
    for name, values in {"a.csv": first, "b.csv": second}.items():
        (tmp_path / name).write_text(rows_of(*values), encoding="latin-1")
    one = csv.read_csv(io.BytesIO(rows_of(*first, *second).encode("latin-1")))["x"]
    source = open_table(tmp_path)
    whole, parts = source.read(["x"]), pa.concat_tables(source.batches(["x"], rows=2))
    assert source.schema().field("x").type == one.type
    for found in (whole, parts):
        assert found["x"].type == one.type
        assert found["x"].to_pylist() == one.to_pylist()


TYPED = {
    "nothing, text": (pa.nulls(2), pa.array(["a", "b"]), pa.string()),
    "integers, fractions": (pa.array([1, 2**53 + 2]), pa.array([0.5]), pa.float64()),
    "dictionary, text": (pa.array(["a"]).dictionary_encode(), pa.array(["b"]), pa.string()),
    "dictionary, nothing": (pa.array(["a"]).dictionary_encode(), pa.nulls(1), pa.string()),
}


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("order", [1, -1], ids=["", "turned"])
@pytest.mark.parametrize("case", TYPED.values(), ids=TYPED)
def test_several_files_have_types_that_hold_all_values(case, order, suffix, tmp_path):
    *columns, kind = case
    first, second = columns[::order]
    write(tmp_path / f"a{suffix}", pa.table({"x": first}))
    write(tmp_path / f"b{suffix}", pa.table({"x": second}))
    source = open_table(tmp_path)
    for found in (source.read(), pa.concat_tables(source.batches())):
        assert found.schema == pa.schema([("x", kind)])
        assert found["x"].to_pylist() == first.to_pylist() + second.to_pylist()


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_types_that_do_not_fit_together_are_told_where_the_column_is_read(suffix, tmp_path):
    write(tmp_path / f"a{suffix}", pa.table({"x": [1], "y": [1]}))
    write(tmp_path / f"b{suffix}", pa.table({"x": ["red"], "y": [2]}))
    source = open_table(tmp_path)
    for read in (source.read, lambda: list(source.batches())):
        with pytest.raises(TableFileError, match=r"do not fit together: .*x has incompatible types: int64 vs string"):
            read()
    assert pa.concat_tables(source.batches(["y"]))["y"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.csv": "x,y\n1,2\n", "b.csv": "x,z\n1,2\n"}, r"b.csv' has no column 'y' as there is in the first file"),
        ({"a.csv": ""}, r"a.csv' cannot be read as CSV: Empty CSV file"),
        ({"a.csv": "x,y\n1,2\n1,2,3\n"}, r"Expected 2 columns, got 3"),
        ({"a.csv": "x,x\n1,2\n"}, r"has 2 columns called 'x'"),
        ({"a.parquet": "x,y\n"}, r"a.parquet' cannot be read as Parquet"),
        ({"a.arrow": "x,y\n"}, r"a.arrow' cannot be read as Arrow"),
        ({"a.txt": "x"}, r"there is no table in .*no file that ends in .parquet, .csv"),
        ({"a.csv": "x\n", "b.parquet": ""}, r"several formats \(CSV, Parquet\)"),
    ],
)
def test_what_cannot_be_read_is_named(files, message, tmp_path):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(TableFileError, match=message):
        open_table(tmp_path).read()


def test_a_parquet_file_whose_groups_lack_rows_is_refused(tmp_path):
    """Arrow would read other rows at once than in batches."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": range(2000)}), path, row_group_size=1000)
    data = path.read_bytes()
    # The file's own number of rows, 2000 and then 2001, as Thrift writes a number of 64 bits.
    n_rows, other = b"\x16\xa0\x1f", b"\x16\xa2\x1f"
    assert data.count(n_rows) == 1
    path.write_bytes(data.replace(n_rows, other))
    asks = [lambda table: table.read(), lambda table: table.n_rows, lambda table: list(table.batches(rows=7))]
    for ask in asks:
        with pytest.raises(TableFileError, match=r"a.parquet' cannot be read as Parquet: .* 2000 rows, .* have 2001"):
            ask(open_table(path))


def test_names_that_are_close_are_suggested(tmp_path):
    source = open_table(write(tmp_path / "table.parquet"))
    with pytest.raises(TableFileError, match=r"no column 'sise' \(is 'size' meant\?\). Its columns: key, size, count"):
        list(source.batches(["sise"]))
    with pytest.raises(TableFileError, match=r"there is no file .*tabel.parquet' \(is 'table.parquet' meant\?\)"):
        open_table(tmp_path / "tabel.parquet")
    with pytest.raises(TableFileError, match=r"does not end as a table does: .xlsx"):
        open_table(write(tmp_path / "table.csv").rename(tmp_path / "table.xlsx"))


@pytest.fixture
def arrow_threads():
    """A setter of the number of threads that Arrow has, which is what it was again afterwards."""
    usual = pa.cpu_count()
    yield pa.set_cpu_count
    pa.set_cpu_count(usual)


@pytest.mark.parametrize(("n_threads", "row"), [(1, "Row #3: "), (2, "")])
def test_a_value_of_another_type_is_told_with_its_column(n_threads, row, arrow_threads, tmp_path):
    """Arrow adds the line of the file where it reads with one thread."""
    arrow_threads(n_threads)
    (tmp_path / "a.csv").write_text("name,size\nant,1\nbee,big\n")
    source = open_table(tmp_path / "a.csv", {"size": pa.float64()})
    message = f"column 'size': {row}CSV conversion error to double: invalid value 'big'"
    for read in (source.read, lambda: list(source.batches(["size"]))):
        with pytest.raises(TableFileError, match=f": {message}$"):
            read()


def test_a_table_without_rows_has_no_batches(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n")
    source = open_table(tmp_path / "a.csv")
    assert source.column_names == ["x", "y"]
    assert list(source.batches()) == []


def test_no_more_groups_of_rows_are_fetched_than_a_batch_takes(tmp_path):
    """All of a file at once would be as large as the file."""
    numbers = np.random.default_rng(0).normal(size=200_000)
    pq.write_table(pa.table({"number": numbers}), tmp_path / "groups.parquet", row_group_size=10_000)
    before, most = pa.total_allocated_bytes(), 0
    for batch in open_table(tmp_path / "groups.parquet").batches(rows=10_000):
        assert batch.num_rows == 10_000
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < numbers.nbytes / 2


class TestTinyParts:
    """Tables stored a few rows at a time are read in batches as large as those of others."""

    TABLE = pa.table(
        {
            "number": pa.array([None, *range(1, 100)], pa.int64()),
            "name": pa.array([f"n{i % 13}" for i in range(100)]).dictionary_encode(),
            "text": [f"t{i}" for i in range(100)],
        }
    )

    def write(self, path, kind):
        if kind == "groups":
            pq.write_table(self.TABLE, path / "t.parquet", row_group_size=3)
        elif kind == "files":
            for start in range(0, 100, 9):
                pq.write_table(self.TABLE.slice(start, 9), path / f"{start:02d}.parquet")
        else:
            # Every batch has a dictionary of its own.
            parts = [self.TABLE.slice(start, 3) for start in range(0, 100, 3)]
            parts = [part.set_column(1, "name", part["name"].cast(pa.string()).dictionary_encode()) for part in parts]
            with pa.ipc.new_stream(path / "t.arrow", self.TABLE.schema) as writer:
                for part in parts:
                    writer.write_table(part)

    @pytest.mark.parametrize("kind", ["groups", "files", "stream"])
    def test_batches_are_gathered(self, kind, tmp_path):
        self.write(tmp_path, kind)
        batches = list(open_table(tmp_path).batches(rows=40))
        assert all(30 < batch.num_rows <= 40 for batch in batches[:-1])
        assert len({batch.schema for batch in batches}) == 1
        assert pa.concat_tables(batches).to_pylist() == self.TABLE.to_pylist()

    @pytest.mark.parametrize("suffix", [".parquet", ".feather"])
    def test_categories_of_all_files_are_more_than_the_codes_of_each_can_tell(self, suffix, tmp_path):
        """As pandas stores 60 of them, in codes of one byte."""
        values = [[f"v{60 * file + i}" for i in range(60)] for file in range(3)]
        for file, names in enumerate(values):
            column = pa.DictionaryArray.from_arrays(pa.array(range(60), pa.int8()), names)
            write(tmp_path / f"{file}{suffix}", pa.table({"name": column}))
        source = open_table(tmp_path)
        (batch,) = source.batches()
        for table in (batch, source.read()):
            assert table["name"].to_pylist() == [name for names in values for name in names]
            assert table.schema == source.schema()

    def test_files_that_cannot_be_joined_are_named(self, tmp_path, monkeypatch):
        def fail(tables):
            if len(tables) > 1:
                raise pa.ArrowInvalid("too much")
            return tables[0]

        self.write(tmp_path, "files")
        source = open_table(tmp_path)
        source.schema()
        monkeypatch.setattr("ssgp.tables.table_file._joined", fail)
        with pytest.raises(TableFileError, match=rf"rows of the files of {str(tmp_path)!r} cannot be joined: too much"):
            list(source.batches())

    def test_no_more_is_read_than_fills_a_batch(self):
        read = []
        tables = (read.append(i) or self.TABLE.slice(5 * i, 5) for i in range(4))
        assert next(gathered(tables, 10)).num_rows == 10
        assert read == [0, 1]

    def test_an_error_names_the_file_that_it_is_in(self, tmp_path):
        self.write(tmp_path, "files")
        (tmp_path / "45.parquet").write_bytes((tmp_path / "45.parquet").read_bytes()[:-8])
        with pytest.raises(TableFileError, match=r"45\.parquet"):
            list(open_table(tmp_path).batches())


def test_rows_are_counted_where_arrow_cannot_tell(tmp_path, monkeypatch):
    """As older versions cannot."""

    class Reader(pa.ipc.RecordBatchFileReader):
        @property
        def count_rows(self):
            raise AttributeError

    with pa.ipc.new_file(tmp_path / "t.arrow", TestTinyParts.TABLE.schema) as writer:
        writer.write_table(TestTinyParts.TABLE, max_chunksize=30)
    monkeypatch.setattr(pa.ipc, "open_file", Reader)
    assert open_table(tmp_path / "t.arrow").n_rows == 100
