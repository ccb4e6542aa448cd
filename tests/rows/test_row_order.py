"""The last parts of the rows in time."""

import numpy as np
import pytest

from ssgp.rows.blocks import Rows
from ssgp.rows.row_order import parts_in_time
from ssgp.rows.row_tables import MemoryTable
from ssgp.rows.training_rows import TrainingRows


def test_three_last_tenths(rng):
    times = rng.permutation(1000).astype(float)
    np.testing.assert_array_equal(parts_in_time(times), [700, 800, 900])


def test_rows_of_one_time_are_of_one_part(rng):
    years = np.repeat(np.arange(2003.0, 2010), 100)
    # A seventh of the rows each: the nearest years to seven, eight and nine tenths.
    np.testing.assert_array_equal(parts_in_time(rng.permutation(years)), [2008, 2009])
    np.testing.assert_array_equal(parts_in_time(np.array([1.0, 1.0, 1.0, 5.0])), [5])


def test_there_have_to_be_two_times():
    with pytest.raises(ValueError, match="time is the same in all rows"):
        parts_in_time(np.full(30, 7.0))


def test_nothing_later_than_a_part_is_left_to_its_trees(rng):
    times = rng.normal(size=500)
    X, y = times[:, None].astype(np.float32), times.astype(np.float32)
    rows = TrainingRows.in_random_order(Rows(X, y, None, np.array([0, 500])))
    rows = rows.in_time(times, lambda: [times])
    folds = rows.folds(1, 50)
    assert [len(fold) for fold in folds] == [50, 50, 50]
    for fold in folds:
        held_out, left, table = rows.hold_out(fold)
        assert isinstance(table, MemoryTable)
        assert left.y.max() < held_out.y.min()
        np.testing.assert_array_equal(np.sort(np.delete(y, table.held_out)), np.sort(left.y))
