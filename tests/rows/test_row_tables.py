"""Rows in memory and in files: the same to whoever plants trees with them."""

import errno

import numpy as np
import pytest

from ssgp._utils.sampling import random_rows
from ssgp.forest.estimator import SpectralForestRegressor
from ssgp.rows.partition import grow_tree
from ssgp.rows.row_files import RecordFile, RowFile, gathered
from ssgp.rows.row_tables import FileTable, MemoryTable, TrainingRows
from ssgp.rows.standardized import Rows, Standardizer
from ssgp.saving.flattening import flatten, rebuild
from ssgp.saving.storable import KINDS

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
    whole, order = joined(list(in_memory.by_leaf(partition, 4)))
    parts = list(in_file.by_leaf(partition, 4))
    assert 4 <= len(parts) <= 8
    assert all(part.rows.n_blocks % 4 == 0 for part in parts)
    rows, index = joined(parts)
    assert_same(rows, whole)
    np.testing.assert_array_equal(index, order)


@pytest.mark.parametrize("chunk", [1, 700, 1500, N_ROWS])
def test_memory_gives_the_same_leaves_some_at_a_time(in_memory, partition, chunk, monkeypatch):
    leaf = partition.assign(in_memory.rows.X)
    expected = in_memory.rows.sort_by(leaf, N_LEAVES)
    monkeypatch.setattr("ssgp.rows.row_tables.CHUNK", chunk)
    parts = list(in_memory.by_leaf(partition, 4))
    for part in parts:
        assert part.rows.n_blocks == 4 or len(part.index) <= chunk
    rows, index = joined(parts)
    assert_same(rows, expected)
    np.testing.assert_array_equal(index, np.argsort(leaf, kind="stable"))


def test_every_row_is_in_its_leaf_once_in_the_order_of_the_table(in_memory, partition):
    (whole,) = in_memory.by_leaf(partition, 4)
    np.testing.assert_array_equal(np.sort(whole.index), np.arange(N_ROWS))
    np.testing.assert_array_equal(partition.assign(in_memory.rows.X)[whole.index], whole.rows.labels)
    for first, end in zip(whole.rows.bounds[:-1], whole.rows.bounds[1:], strict=True):
        assert (np.diff(whole.index[first:end]) > 0).all()


def test_hidden_rows_are_not_there(in_memory, in_file, partition, rng):
    hidden = rng.choice(N_ROWS, 700, replace=False)
    for table in (in_memory, in_file):
        _, index = joined(list(table.without(hidden).by_leaf(partition, 4)))
        np.testing.assert_array_equal(np.sort(index), np.setdiff1d(np.arange(N_ROWS), hidden))


def test_both_take_the_same_rows(in_memory, in_file, rng):
    some = rng.integers(N_ROWS, size=300)
    assert_same(in_memory.take(some), in_file.take(some))
    np.testing.assert_array_equal(in_memory.take(some).X, in_memory.rows.X[some])
    assert in_file.n_rows == in_memory.n_rows
    assert in_file.total == pytest.approx(in_memory.total)
    assert in_file.checksums() == in_memory.checksums()


def test_what_is_held_out_is_hidden_from_the_table(in_memory):
    places = random_rows(N_ROWS, 100, 0)
    training = TrainingRows(in_memory.take(places), in_memory, places)
    unseen, rest, table = training.held_out(np.arange(90, 100))
    np.testing.assert_array_equal(unseen.X, in_memory.rows.X[places[90:]])
    np.testing.assert_array_equal(rest.X, in_memory.rows.X[places[:90]])
    assert isinstance(table, MemoryTable)
    np.testing.assert_array_equal(table.hidden, places[90:])


@pytest.mark.parametrize(("n_rows", "n_wanted"), [(10, 10), (50, 10), (100, 30), (10**8, 3), (10**7, 24_999), (0, 0)])
def test_random_rows_are_different_and_from_everywhere(n_rows, n_wanted):
    found = random_rows(n_rows, n_wanted, 3)
    assert len(np.unique(found)) == len(found) == n_wanted
    np.testing.assert_array_equal(found, random_rows(n_rows, n_wanted, 3))
    if n_wanted >= 50:
        # The mean of a uniform sample, within five standard errors; and its order tells nothing.
        assert abs(found.mean() / n_rows - 0.5) < 5 / np.sqrt(12 * n_wanted)
        half = n_wanted // 2
        assert abs(found[:half].mean() - found[half:].mean()) / n_rows < 5 / np.sqrt(12 * n_wanted / 4)


def test_a_full_disk_is_told_with_the_folder(tmp_path, monkeypatch):
    file = RecordFile(np.dtype(np.float64), tmp_path)

    class Full:
        def seek(self, _):
            pass

        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self):
            pass

    file.close()
    monkeypatch.setattr(file, "_file", Full())
    with pytest.raises(OSError, match=rf"no room for 0.0 GB of rows in the folder '{tmp_path}'.*TMPDIR"):
        file.append(np.zeros(3))


class TestGathering:
    def test_rows_of_no_weight_are_left_out(self, rng):
        X, y = rng.normal(size=(6, 2)), np.arange(6.0)
        batches = [(X[:2], y[:2], [0, 0]), (X[2:5], y[2:5], [1, 0, 2]), (X[5:5], y[5:5], [])]
        with gathered(SpectralForestRegressor(), batches, None) as file:
            found, target, weight = file.read(0, 10)
        np.testing.assert_array_equal(found, X[[2, 4]])
        np.testing.assert_array_equal(target, [2.0, 4.0])
        np.testing.assert_array_equal(weight, [1.0, 2.0])

    @pytest.mark.parametrize(
        ("batches", "message"),
        [
            ([], "batches has no rows"),
            ([(np.ones((2, 2)), np.ones(2), np.zeros(2))], "none with a weight"),
            ([np.ones((2, 2))], "batch 0 must be .X, y. or .X, y, sample_weight., got a ndarray"),
            ([(np.ones((2, 2)),)], "batch 0 must be .* got 1 parts"),
            ([(np.ones((2, 2)), [1, 2]), (np.ones((2, 3)), [1, 2])], "batch 1: X has 3 features, .* expecting 2"),
            ([(np.ones((2, 2)), [1, 2]), (np.full((2, 2), np.nan), [1, 2])], "batch 1: Input X contains NaN in column"),
            ([(np.ones((2, 2)), [1, 2]), (np.ones((2, 2)), [1, np.nan])], "batch 1: Input y contains NaN"),
            ([(np.ones((2, 2)), [])], "batch 0: .*inconsistent numbers of samples"),
            ([(np.ones((2, 2)), [1, 2, 3], [0, 0])], "batch 0: .*inconsistent numbers of samples"),
            ([(np.ones((2, 2)), 3.0)], "batch 0: "),
            ([(np.ones((2, 2)), [1, 2]), (np.ones((2, 2)), [1, 2], [1, 1])], "batch 1 has weights, unlike"),
            ([(np.ones((2, 2)), [1, 2], [1, 1]), (np.ones((2, 2)), [1, 2])], "batch 1 has no weights, unlike"),
        ],
    )
    def test_what_is_wrong_is_told_with_the_batch(self, batches, message):
        with pytest.raises((ValueError, TypeError), match=message):
            SpectralForestRegressor().fit_batches(batches)

    def test_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(NotADirectoryError, match="folder must be one that is there"):
            SpectralForestRegressor().fit_batches([(np.ones((2, 2)), [1, 2])], folder=tmp_path / "nowhere")


def test_how_large_weights_are_does_not_matter(raw):
    X, y, weight = raw
    weight = np.ones(N_ROWS) if weight is None else weight
    usual, large = (Standardizer.fit(X, y, size * weight, centre_target=True) for size in (1.0, 1e16))
    for name in ("x_mean", "x_scale", "y_mean", "y_scale"):
        np.testing.assert_allclose(getattr(large, name), getattr(usual, name), rtol=1e-9, atol=1e-9)


class TestVarianceOfTheTarget:
    @pytest.mark.parametrize("offset", [0.0, 3.0, -40.0])
    def test_it_is_relative_to_the_scale(self, offset, rng):
        X, y, weight = rng.normal(size=(50, 2)), offset + rng.gamma(2.0, size=50), rng.uniform(0.1, 3.0, 50)
        units = Standardizer.fit(X, y, weight, centre_target=False)
        spread = np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
        assert units.y_variance * units.y_scale**2 == pytest.approx(spread)
        assert units.y_scale**2 == pytest.approx(np.average(y**2, weights=weight))
        assert Standardizer.fit(X, y, weight, centre_target=True).y_variance == 1.0

    def test_the_least_noise_is_a_share_of_it_until_that_is_rounding(self):
        least = [Standardizer(np.zeros(1), np.ones(1), 0.0, 1.0, v).least_noise(1e-6) for v in (1.0, 0.1, 1e-9)]
        assert least == [1e-6, pytest.approx(1e-7), 1e-8]

    def test_a_file_that_does_not_have_it_is_of_a_centred_target(self):
        flat = flatten(Standardizer(np.zeros(2), np.ones(2), 3.0, 4.0), KINDS)
        del flat.objects[0]["parts"]["y_variance"]
        assert rebuild(flat, KINDS).y_variance == 1.0
