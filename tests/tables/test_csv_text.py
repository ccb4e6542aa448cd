"""CSV files as people write them: other separators, decimal commas, other words for missing values."""

import gzip
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from ssgp.table_files import TableFileError, open_table
from ssgp.tables.csv_text import CsvText, found_text

FRAME = pd.DataFrame(
    {
        "size": [0.5, 1.25, None, -3.0],
        "count": [1, 2, 3, 4],
        "name": ["a, b", "c", 'said "d"', None],
        "day": ["3.4.2025", "28.4.2025", "1.5.2025", "2.5.2025"],
    }
)


def write(path, **settings):
    path.write_text(FRAME.to_csv(index=False, **settings), encoding="utf-8")
    return path


def numbers(table, name):
    return table[name].to_numpy(zero_copy_only=False) if isinstance(table, pa.Table) else table[name].to_numpy()


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("decimal", [",", "."])
def test_what_separates_is_found(separator, decimal, tmp_path):
    path = write(tmp_path / "t.csv", sep=separator, decimal=decimal)
    source = open_table(path)
    assert source.text == CsvText(separator, "," if decimal == "," else None)
    for table in (source.read(), pa.concat_tables(source.batches(rows=2))):
        assert table.column_names == list(FRAME)
        np.testing.assert_array_equal(numbers(table, "size"), FRAME["size"])
        assert table["count"].type == pa.int64()
        assert table["name"].to_pylist()[:3] == FRAME["name"].to_list()[:3]
        assert table["day"].to_pylist() == FRAME["day"].to_list()


def test_in_packed_files_too(tmp_path):
    text = write(tmp_path / "t.csv", sep=";", decimal=",").read_text(encoding="utf-8")
    head, *rows = text.splitlines()
    long = "\n".join([head, *rows * 30_000])
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(long.encode()))
    table = open_table(tmp_path / "t.csv.gz").read(["size", "name"])
    expected = pd.read_csv(io.StringIO(long), sep=";", decimal=",")
    np.testing.assert_array_equal(numbers(table, "size"), expected["size"])


def test_files_of_a_folder_may_differ(tmp_path):
    write(tmp_path / "1.csv", sep=";", decimal=",")
    write(tmp_path / "2.csv")
    np.testing.assert_array_equal(numbers(open_table(tmp_path).read(), "size"), [*FRAME["size"]] * 2)


AS_BEFORE = {
    "a,b\n1;2,3\n4;5,6\n": "semicolons in values",
    'a,b\n"1;2",3\n"4;5",6\n': "semicolons in quotes",
    "note\nfirst; then\nnow; again\n": "semicolons in a single column",
    "a;b\n": "no rows",
    "a;b\n1;2\n3\n": "rows of different length",
    "a;b|c\n1;2|3\n4;5|6\n": "two candidates",
    'a,b\n"1,5",2\n"2,5",3\n': "decimal commas between commas",
    "\n": "an empty line",
    "a\n1\n2\n": "a single column",
}


@pytest.mark.parametrize("text", AS_BEFORE, ids=AS_BEFORE.values())
def test_files_that_are_read_otherwise_are_not_touched(text, tmp_path):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    try:
        expected = csv.read_csv(io.BytesIO(text.encode()))
    except pa.ArrowInvalid:
        with pytest.raises(TableFileError):
            open_table(tmp_path / "t.csv").read()
        return
    assert open_table(tmp_path / "t.csv").read().equals(expected)


def test_tabs_of_tsv_files_and_their_text_are_as_before(tmp_path):
    (tmp_path / "t.tsv").write_text("a\tb\n0,5\t1\n1,5\t2\n", encoding="utf-8")
    assert open_table(tmp_path / "t.tsv").text == CsvText()
    assert open_table(tmp_path / "t.tsv").read()["a"].to_pylist() == ["0,5", "1,5"]
    assert open_table(tmp_path / "t.tsv", decimal=",").read()["a"].to_pylist() == [0.5, 1.5]


@pytest.mark.parametrize(
    ("values", "decimal"),
    [
        (["1,234", "12,345"], "."),
        (["1,234", "0,5"], ","),
        (["1,234,567", "2,5"], ","),
        (["0,5", "2.5"], "."),
        (["a, b", "c"], "."),
        (["-,5", "1,5e3"], ","),
    ],
    ids=str,
)
def test_decimal_commas_are_found_where_nothing_speaks_against_them(values, decimal):
    text = "".join(f"{value};{i}\n" for i, value in enumerate(values))
    assert found_text(f"x;row\n{text}".encode(), CsvText(), ",").decimal == decimal


@pytest.mark.parametrize("read", [lambda source: source.read(), lambda source: next(source.batches())])
def test_what_is_missing_is_said(read, tmp_path):
    text = "size,colour\n1,red\n-999,?\n2.5,-999\n?,NA\n,\n"
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    table = read(open_table(tmp_path / "t.csv", missing=["-999", "?"]))
    expected = pd.read_csv(io.StringIO(text), na_values=["-999", "?"], keep_default_na=False)
    assert table["size"].to_pylist() == [1.0, None, 2.5, None, None]
    # Text that is NA, or nothing, is what it always was.
    assert table["colour"].to_pylist() == [None if pd.isna(v) else v for v in expected["colour"]]


def test_other_formats_say_such_things_themselves(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "t.parquet")
    with pytest.raises(TableFileError, match=r"t\.parquet' is Parquet, which says itself"):
        open_table(tmp_path / "t.parquet", missing=["?"])
    assert open_table(tmp_path / "t.parquet").text is None
