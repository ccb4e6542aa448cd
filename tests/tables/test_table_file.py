"""Damaged files are errors that name the file and the column; nothing that Arrow would trust blindly gets through."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ssgp.tables.files import TableFileError, open_table


def stored(table, path):
    """The bytes of a table in a file, without compression or hidden copies of its values."""
    file = io.BytesIO()
    if path.suffix == ".parquet":
        pq.write_table(table, file, compression="none", use_dictionary=False, write_statistics=False)
    else:
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return file.getvalue()


def damage(path, table, old, new):
    data = stored(table, path)
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, new))


def check_refused(path, message):
    source = open_table(path)
    for read in (source.read, lambda: list(source.batches()), lambda: list(source.batches(["x"]))):
        with pytest.raises(TableFileError, match=message) as refusal:
            read()
        assert repr(str(path)) in str(refusal.value)


@pytest.mark.parametrize("name", ["a.arrow", "a.parquet"])
def test_text_that_is_not_utf8(name, tmp_path):
    path = tmp_path / name
    damage(path, pa.table({"x": ["caf\u00e9 au lait"], "y": [1]}), "caf\u00e9".encode(), b"caf\xff\xff")
    check_refused(path, r"column 'x': .*UTF8")
    assert open_table(path).read(["y"]).to_pydict() == {"y": [1]}


def test_text_beyond_the_end_of_the_file(tmp_path):
    path = tmp_path / "a.arrow"
    offsets = [(0).to_bytes(4, "little"), (7).to_bytes(4, "little"), (1003).to_bytes(4, "little")]
    table = pa.table({"x": ["a" * 7, "b" * 996]})
    damage(path, table, b"".join(offsets), b"".join([*offsets[:2], (1 << 30).to_bytes(4, "little")]))
    check_refused(path, "column 'x': ")


def test_categories_that_do_not_exist(tmp_path):
    path = tmp_path / "a.arrow"
    codes = pa.array([0, 1, 0, 1, 1, 1, 0, 1], pa.int8())
    table = pa.table({"x": pa.DictionaryArray.from_arrays(codes, pa.array(["red", "blue"]))})
    damage(path, table, bytes(codes.to_pylist()), bytes([0, 1, 0, 1, 1, 1, 0, 99]))
    check_refused(path, "column 'x': ")


def test_a_size_that_no_machine_has_memory_for(tmp_path):
    """The length of a compressed buffer is what it says in its first eight bytes."""
    path, file = tmp_path / "a.arrow", io.BytesIO()
    table = pa.table({"x": [1.5] * 3000})
    with pa.ipc.new_file(file, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    data, length = file.getvalue(), (24_000).to_bytes(8, "little")
    assert length in data
    path.write_bytes(data.replace(length, (1 << 55).to_bytes(8, "little")))
    check_refused(path, r"cannot be read as Arrow: .*; it is damaged, or larger than the memory")


@pytest.mark.parametrize("name", ["a.arrow", "a.parquet"])
def test_names_that_are_not_utf8(name, tmp_path):
    path = tmp_path / name
    data = stored(pa.table({"x": [1], "h\u00f6he": [2]}), path)
    path.write_bytes(data.replace("h\u00f6he".encode(), b"h\xff\xffhe"))
    with pytest.raises(TableFileError, match="cannot be read") as refusal:
        open_table(path).read()
    assert repr(str(path)) in str(refusal.value)


def test_missing_values_where_the_file_says_there_are_none(tmp_path):
    path = tmp_path / "a.arrow"
    fields = [pa.field("x", pa.int64(), nullable=False)]
    with pa.ipc.new_file(path, pa.schema(fields)) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays([pa.array([1, None])], schema=pa.schema(fields)))
    check_refused(path, "column 'x': values are missing, and the file says that none are")


@pytest.mark.parametrize("coded", [False, True], ids=["times", "categories"])
def test_time_zones_that_are_not_utf8(coded, tmp_path):
    path = tmp_path / "a.arrow"
    times = pa.array([0]).cast(pa.timestamp("s", "Europe/Berlin"))
    data = stored(pa.table({"x": times.dictionary_encode() if coded else times}), path)
    path.write_bytes(data.replace(b"Europe/", b"\xff\xffrope/"))
    check_refused(path, "column 'x': the name of its time zone is not UTF-8")
