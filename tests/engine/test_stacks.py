"""Leaves of unequal numbers of rows, stacked: every row once, in the place of its leaf."""

import numpy as np
import pytest

from ssgp.engine.stacks import padded_size, stack_leaves

SIZES = np.array([3, 0, 7, 7, 100, 1, 0, 0, 98, 7, 33, 34])
STOPS = np.cumsum(SIZES)
STARTS = STOPS - SIZES


def stacks(leaves_per_family=1, kinds=None, most_rows=1000):
    kinds = np.zeros(len(SIZES) // leaves_per_family, np.int64) if kinds is None else kinds
    return list(stack_leaves(STARTS, STOPS, leaves_per_family, kinds, most_rows))


@pytest.mark.parametrize("leaves_per_family", [1, 2, 4])
@pytest.mark.parametrize("most_rows", [1, 10, 150, 10_000])
def test_every_row_is_in_its_leaf_once(leaves_per_family, most_rows):
    rows_of = {leaf: [] for leaf in range(len(SIZES))}
    for stack in stacks(leaves_per_family, most_rows=most_rows):
        assert len(set(stack.families)) == len(stack.families)
        for family, rows, inside in zip(stack.families, stack.rows, stack.inside, strict=True):
            for neighbour in range(leaves_per_family):
                rows_of[family * leaves_per_family + neighbour] += rows[neighbour][inside[neighbour]].tolist()
    for leaf, rows in rows_of.items():
        assert sorted(rows) == list(range(STARTS[leaf], STOPS[leaf]))


def test_stacks_are_no_larger_than_allowed():
    assert all(stack.rows.size <= 150 for stack in stacks(most_rows=150))


def test_leaves_of_several_kinds_are_kept_apart():
    kinds = np.arange(len(SIZES)) % 2
    for stack in stacks(kinds=kinds):
        assert len(set(kinds[stack.families])) == 1


def test_leaves_of_one_size_come_together():
    (sevens,) = (stack for stack in stacks() if stack.rows.shape[2] == 7)
    assert sorted(sevens.families) == [2, 3, 9]


def test_values_are_taken_with_zeros_for_fillers():
    values = np.arange(1.0, STOPS[-1] + 1)
    for stack in stacks(leaves_per_family=4):
        taken = stack.take(np.column_stack([values, -values]))
        np.testing.assert_array_equal(taken[stack.inside], np.column_stack([values, -values])[stack.rows[stack.inside]])
        assert (taken[~stack.inside] == 0).all()


def test_few_rows_are_fillers():
    sizes = np.arange(1, 100_000)
    padded = padded_size(sizes)
    assert (padded >= sizes).all()
    assert (padded <= np.maximum(sizes * (1 + 1 / 16), sizes + 3)).all()
    assert (padded[:15] == sizes[:15]).all()
    assert len(np.unique(padded)) < 250
