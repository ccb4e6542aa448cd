"""Columns of Arrow's newer types, as polars writes them, are read, filtered, encoded and written as all others are."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from ssgp import TableEncoder
from ssgp.tables.files import open_table
from ssgp.tables.usual_types import usual_schema, with_usual_types
from ssgp.tables.writing import write_table
from stored_tables import write

WORDS = ["red", None, "a word of more than twelve letters", "red", ""]


def views(values):
    return pa.array(values, pa.string_view())


def runs(values):
    return pa.RunEndEncodedArray.from_arrays(np.arange(1, len(values) + 1, dtype=np.int32), pa.array(values))


COLUMNS = {
    "views of text": (views(WORDS), WORDS, pa.large_string()),
    "views of bytes": (pa.array([b"a", None], pa.binary_view()), [b"a", None], pa.large_binary()),
    "categories that are views": (
        pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 0], pa.uint8()), views(WORDS), ordered=True),
        ["red", WORDS[2], None, "red"],
        pa.dictionary(pa.int32(), pa.large_string(), ordered=True),
    ),
    "categories one of which is missing": (
        pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 1], pa.uint8()), pa.array(["b", None, "a"])),
        ["b", "a", None, None],
        pa.dictionary(pa.int32(), pa.string()),
    ),
    "categories of half precision": (
        pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 1]), pa.array(np.array([0.5, np.inf], np.float16))),
        [np.inf, 0.5, None, np.inf],
        pa.dictionary(pa.int64(), pa.float32()),
    ),
    "categories of short codes": (
        pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int8()), pa.array(["b", "a"])),
        ["a", None, "b"],
        pa.dictionary(pa.int32(), pa.string()),
    ),
    "categories of long codes": (
        pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.uint32()), pa.array(["b", "a"])),
        ["a", None, "b"],
        pa.dictionary(pa.uint32(), pa.string()),
    ),
    "runs": (runs([1, 1, None]), [1, 1, None], pa.int64()),
    "runs of views": (runs(views(WORDS)), WORDS, pa.large_string()),
    "lists of views": (
        pa.array([["a"], None], pa.list_(pa.string_view())),
        [["a"], None],
        pa.list_(pa.large_string()),
    ),
    "views in parts": (
        pa.array([{"a": "b"}, None], pa.struct([("a", pa.string_view())])),
        [{"a": "b"}, None],
        pa.struct([("a", pa.large_string())]),
    ),
}


@pytest.mark.parametrize(("column", "values", "kind"), COLUMNS.values(), ids=COLUMNS)
class TestEveryType:
    def test_values_stay(self, column, values, kind):
        table = pa.table({"x": pa.chunked_array([column, column.slice(1)]), "y": range(2 * len(values) - 1)})
        found = with_usual_types(table)
        found.validate(full=True)
        assert found["x"].to_pylist() == values + values[1:]
        assert found["x"].type == kind
        assert found.schema == usual_schema(table.schema)

    def test_files_have_columns_that_can_be_filtered(self, column, values, kind, tmp_path):
        source = open_table(write(tmp_path / "a.arrow", pa.table({"x": column})))
        for table in (source.read(), pa.concat_tables(source.batches(rows=2))):
            assert table.schema == source.schema() == pa.schema([("x", kind)])
            chosen = np.arange(len(values)) % 2 == 0
            assert table.filter(pa.array(chosen))["x"].to_pylist() == values[::2]


def test_tables_without_such_columns_are_the_same_object():
    table = pa.table({"x": ["a"], "y": [1.0]})
    assert with_usual_types(table) is table


def test_a_table_without_rows():
    table = pa.table({"x": views([])}).slice(0, 0)
    assert with_usual_types(table).schema == pa.schema([("x", pa.large_string())])


@pytest.fixture
def frame():
    colours = ["red", "green", "blue", "green", None, "red"] * 5
    return pl.DataFrame({"text": colours, "category": pl.Series(colours, dtype=pl.Categorical), "y": range(30)})


def test_polars_writes_what_is_read(frame, tmp_path):
    frame.write_ipc(tmp_path / "a.arrow")
    table = open_table(tmp_path / "a.arrow").read()
    assert table.to_pydict() == frame.to_dict(as_series=False)
    write_table([table], tmp_path / "b.parquet")
    assert open_table(tmp_path / "b.parquet").read().to_pydict() == frame.to_dict(as_series=False)


def test_such_tables_are_encoded_as_others_are(frame):
    new = pa.table({"x": views(frame["text"].to_list())})
    new = new.append_column("z", pa.DictionaryArray.from_arrays(pa.array([0, 1, 2] * 10), views(["a", "b", "c"])))
    plain = pa.table({"x": frame["text"].to_list(), "z": ["a", "b", "c"] * 10})
    y = np.arange(30.0)
    # More rows than are sampled: rows are taken from the table.
    for max_rows in (500, 20):
        expected = TableEncoder(max_rows=max_rows).fit_transform(plain, y)
        np.testing.assert_array_equal(TableEncoder(max_rows=max_rows).fit_transform(new, y), expected)


def test_categories_of_parts_are_joined_though_one_is_missing():
    """Arrow refuses to join dictionaries with nulls, as it has to where rows of several parts are taken."""
    parts = [pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array([word, None])) for word in "ab"]
    table = with_usual_types(pa.table({"x": pa.chunked_array(parts)}))
    assert table.take([0, 1, 5])["x"].to_pylist() == ["a", None, "b"]
