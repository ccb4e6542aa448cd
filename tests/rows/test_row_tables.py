"""Rows in memory and in files: the same to whoever plants trees with them."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from ssgp._utils.sampling import random_rows
from ssgp.engine.workers import ThreadWorkers
from ssgp.rows.bisecting_tree import grow_tree
from ssgp.rows.blocks import Rows
from ssgp.rows.leaf_runs import SortedRows
from ssgp.rows.row_files import RowFile
from ssgp.rows.row_tables import FileTable, MemoryTable
from ssgp.rows.standardizer import Standardizer
from ssgp.rows.training_rows import TrainingRows

N_ROWS, N_INPUTS, N_LEAVES = 5000, 3, 32


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def raw(request, rng):
    """Inputs, targets and weights in units of their own."""
    X = rng.normal(size=(N_ROWS, N_INPUTS)) * [1.0, 1e6, 1e-6] + [0.0, 1e9, 0.0]
    return X, 7.0 + rng.normal(size=N_ROWS), rng.uniform(1, 2, N_ROWS) if request.param else None


@pytest.fixture
def units(raw):
    return Standardizer.fit(*raw, centre_target=True)


@pytest.fixture
def in_memory(raw, units):
    return MemoryTable(units.rows(*raw, np.arange(N_ROWS), np.array([0, N_ROWS])))


@pytest.fixture
def in_file(raw, units, monkeypatch):
    """In a file, written and read in uneven parts."""
    monkeypatch.setattr("ssgp.rows.row_tables.CHUNK", 700)
    monkeypatch.setattr("ssgp.rows.row_files.CHUNK_BYTES", 10_000)
    X, y, weight = raw
    file = RowFile(N_INPUTS, weight is not None, None)
    for start in range(0, N_ROWS, 1234):
        part = slice(start, start + 1234)
        file.append(X[part], y[part], None if weight is None else weight[part])
    yield FileTable(file, units, part_bytes=40_000)
    file.close()


@pytest.fixture
def partition(in_memory):
    return grow_tree(in_memory.rows.X, N_LEAVES, np.random.default_rng(0), np.ones(N_INPUTS, np.float32))[0]


def loaded(table, partition, workers=None) -> list[SortedRows]:
    """Rows of all leaves, in parts of whole branches of four leaves."""
    return [part.load() for part in table.by_leaf(partition, 4, workers or ThreadWorkers())]


def joined(parts) -> tuple[Rows, np.ndarray]:
    """All parts as one, which must come in the order of the leaves and leave none out."""
    ends = [0]
    for part in parts:
        assert part.first_leaf == ends[-1]
        ends.append(part.first_leaf + part.rows.n_blocks)
    assert ends[-1] == N_LEAVES
    rows = parts[0].rows
    for part in parts[1:]:
        bounds = np.concatenate([rows.bounds, rows.bounds[-1] + part.rows.bounds[1:]])
        rows = Rows(*vars(rows.append(part.rows)).values())
        rows = Rows(rows.X, rows.y, rows.weight, bounds)
    return rows, np.concatenate([part.index for part in parts])


def assert_same(rows: Rows, other: Rows):
    for name in ("X", "y", "weight", "bounds"):
        np.testing.assert_array_equal(getattr(rows, name), getattr(other, name))


def test_a_file_gives_the_same_leaves_in_parts(in_memory, in_file, partition):
    whole, order = joined(loaded(in_memory, partition))
    parts = loaded(in_file, partition)
    assert 4 <= len(parts) <= 8
    assert all(part.rows.n_blocks % 4 == 0 for part in parts)
    rows, index = joined(parts)
    assert_same(rows, whole)
    np.testing.assert_array_equal(index, order)


@pytest.mark.parametrize("chunk", [1, 700, 1500, N_ROWS])
def test_memory_gives_the_same_leaves_some_at_a_time(in_memory, partition, chunk, monkeypatch):
    leaf = partition.assign(in_memory.rows.X)
    expected = in_memory.rows.sort_by(leaf, N_LEAVES)
    monkeypatch.setattr("ssgp.rows.row_tables.PART_ROWS", chunk)
    parts = loaded(in_memory, partition)
    for part in parts:
        assert part.rows.n_blocks == 4 or len(part.index) <= chunk
    rows, index = joined(parts)
    assert_same(rows, expected)
    np.testing.assert_array_equal(index, np.argsort(leaf, kind="stable"))


def test_rows_that_are_shared_are_the_same_and_gone_afterwards(in_memory, partition):
    whole, order = joined(loaded(in_memory, partition))
    with in_memory.shared() as shared:
        folder = shared.shared_rows.folder
        rows, index = joined(loaded(pickle.loads(pickle.dumps(shared)), partition, ThreadWorkers(2)))
        assert len(pickle.dumps(shared.shared_rows)) < 1000
    assert_same(rows, whole)
    np.testing.assert_array_equal(index, order)
    assert not Path(folder).exists()


def test_every_row_is_in_its_leaf_once_in_the_order_of_the_table(in_memory, partition):
    (whole,) = loaded(in_memory, partition)
    np.testing.assert_array_equal(np.sort(whole.index), np.arange(N_ROWS))
    np.testing.assert_array_equal(partition.assign(in_memory.rows.X)[whole.index], whole.rows.labels)
    for first, end in zip(whole.rows.bounds[:-1], whole.rows.bounds[1:], strict=True):
        assert (np.diff(whole.index[first:end]) > 0).all()


def test_rows_held_out_are_not_there(in_memory, in_file, partition, rng):
    held_out = rng.choice(N_ROWS, 700, replace=False)
    for table in (in_memory, in_file):
        _, index = joined(loaded(table.without(held_out), partition))
        np.testing.assert_array_equal(np.sort(index), np.setdiff1d(np.arange(N_ROWS), held_out))


def test_both_take_the_same_rows(in_memory, in_file, rng):
    some = rng.integers(N_ROWS, size=300)
    assert_same(in_memory.take(some), in_file.take(some))
    np.testing.assert_array_equal(in_memory.take(some).X, in_memory.rows.X[some])
    assert in_file.n_rows == in_memory.n_rows
    assert in_file.total == pytest.approx(in_memory.total)
    assert in_file.checksums() == in_memory.checksums()


def test_what_is_held_out_is_not_in_the_table(in_memory):
    places = random_rows(N_ROWS, 100, 0)
    training = TrainingRows(in_memory.take(places), in_memory, places)
    held_out, rest, table = training.hold_out(np.arange(90, 100))
    np.testing.assert_array_equal(held_out.X, in_memory.rows.X[places[90:]])
    np.testing.assert_array_equal(rest.X, in_memory.rows.X[places[:90]])
    assert isinstance(table, MemoryTable)
    np.testing.assert_array_equal(table.held_out, places[90:])
