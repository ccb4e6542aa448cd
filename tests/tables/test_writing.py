"""Tables written to files: what is written is read, and a failure leaves the old file."""

import pyarrow as pa
import pytest

from ssgp.tables.files import TableFileError, open_table
from ssgp.tables.writing import check_output, write_table
from stored_tables import SUFFIXES, TABLE, strings


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_is_read(suffix, tmp_path):
    path = tmp_path / f"out{suffix}"
    assert write_table((TABLE.slice(start, 30) for start in range(0, 100, 30)), path) == 100
    assert strings(open_table(path)).read().equals(TABLE)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_categories_may_differ_from_table_to_table(suffix, tmp_path):
    tables = [
        pa.table({"x": pa.array(categories).dictionary_encode()}) for categories in (["a", "b"], ["c"], ["b", "d"])
    ]
    write_table(tables, tmp_path / f"out{suffix}")
    assert open_table(tmp_path / f"out{suffix}").read()["x"].to_pylist() == ["a", "b", "c", "b", "d"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_gap_where_a_file_says_there_is_none_is_written(suffix, tmp_path):
    schema = pa.schema([pa.field("x", pa.float64(), nullable=False), pa.field("y", pa.int64())])
    columns = [pa.array([1.5, None]), pa.array([1, 2])]
    write_table([pa.Table.from_arrays(columns, schema=schema)], tmp_path / f"out{suffix}")
    assert open_table(tmp_path / f"out{suffix}").read()["x"].to_pylist() == [1.5, None]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_that_fails_half_way_leaves_the_old_file(suffix, tmp_path):
    path = tmp_path / f"out{suffix}"
    path.write_text("old")

    def failing():
        yield TABLE
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_table(failing(), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_places_that_cannot_be_written_to(tmp_path):
    for name, message in {
        tmp_path: "it is a folder",
        tmp_path / "no" / "a.csv": "cannot save the table to .*: there is no such folder",
        tmp_path / "a.xlsx": r"must end in .parquet, .csv",
        "s3://bucket/a.csv": "give a path",
    }.items():
        with pytest.raises(TableFileError, match=message):
            check_output(name)


def test_a_place_that_takes_no_files_is_refused(monkeypatch):
    def full(path, what):
        raise OSError(f"cannot save {what} to {path!r}: no space left")

    monkeypatch.setattr("ssgp.tables.writing.check_place", full)
    with pytest.raises(TableFileError, match=r"cannot save the table to 'a.csv': no space left"):
        check_output("a.csv")


@pytest.mark.parametrize(
    ("suffix", "column"),
    [
        (".csv", pa.array([[1], [2]])),
        (".parquet", pa.array([(1, 2, 3), None], pa.month_day_nano_interval())),
        (".parquet", pa.array([b"", None], pa.binary(0))),
    ],
    ids=["lists in CSV", "intervals in Parquet", "bytes of no width in Parquet"],
)
def test_a_column_that_the_format_cannot_hold_is_named(suffix, column, tmp_path):
    path = tmp_path / f"out{suffix}"
    table = pa.table({"fine": [1, 2], "odd": column})
    with pytest.raises(TableFileError, match=rf"cannot write column 'odd' to .*out{suffix}' as (CSV|Parquet): "):
        write_table([table], path)
    assert not list(tmp_path.iterdir())
