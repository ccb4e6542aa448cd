"""Blocks of inputs and target, and of the inputs of training rows."""

from typing import Any

import numpy as np
import pytest

from experiments.protocols import (
    BlockLabels,
    _divided,
    block_means,
    given_blocks,
    input_blocks,
    joint_blocks,
    raw_input_blocks,
)
from experiments.tables import Table


@pytest.fixture
def noise(rng) -> tuple[Table, Any]:
    """A target that has nothing to do with the inputs: blocks tell of it only if they were made of it."""
    X, y = rng.normal(size=(600, 2)), rng.normal(size=600)
    return Table(X, y, ("a", "b")), np.arange(600) % 20 == 0


def block_error(table, test, blocks):
    return np.sqrt(np.mean((table.y[test] - block_means(table.y[~test], blocks)) ** 2)) / table.y[test].std()


@pytest.mark.slow
def test_joint_blocks_tell_of_test_targets_and_blocks_of_inputs_do_not(noise):
    table, test = noise
    assert block_error(table, test, joint_blocks(table, test, 20, 0)) < 0.7
    for make in (input_blocks, raw_input_blocks):
        assert block_error(table, test, make(table, test, 20, 0)) > 0.95


@pytest.mark.parametrize("make", [joint_blocks, input_blocks, raw_input_blocks])
def test_blocks_are_even(noise, make):
    table, test = noise
    blocks = make(table, test, 20, 0)
    rows = np.concatenate([blocks.train, blocks.test]) if make is joint_blocks else blocks.train
    assert np.ptp(np.bincount(rows, minlength=20)) <= 1


def test_blocks_of_inputs_know_neither_test_rows_nor_targets(noise, rng):
    table, test = noise
    other = Table(np.where(test[:, None], 9.0, table.X), rng.normal(size=600), table.feature_names)
    np.testing.assert_array_equal(
        raw_input_blocks(table, test, 20, 0).train, raw_input_blocks(other, test, 20, 0).train
    )


def test_blocks_that_come_with_a_table(noise):
    table, test = noise
    blocks = given_blocks(Table(table.X, table.y, table.feature_names, blocks=np.arange(600)), test, 20, 0)
    np.testing.assert_array_equal(blocks.test, np.flatnonzero(test))
    with pytest.raises(ValueError, match="without blocks"):
        given_blocks(table, test, 20, 0)


def test_blocks_are_divided_evenly(noise, rng):
    rows = noise[0].X.astype(np.float32)
    labels = np.arange(600) // 60
    divided = _divided(rows, labels, 3, rng)
    np.testing.assert_array_equal(divided // 3, labels)
    assert set(np.bincount(divided)) == {20}


def test_means_of_blocks():
    blocks = BlockLabels(np.array([3, 3, 7]), np.array([7, 3]))
    np.testing.assert_allclose(block_means(np.array([1.0, 3.0, 9.0]), blocks), [9.0, 2.0])
