"""Blocks of a large table: some of them, each with all of its rows."""

import numpy as np
import pytest

from ssgp.rows.blocking import Blocking, SampledBlocking, choose_n_blocks
from ssgp.rows.blocks import Rows


def within(rows):
    """Mean squared distance of rows from their block's centre."""
    parts = [rows.block(k).X for k in range(rows.n_blocks)]
    return sum(((X - X.mean(axis=0)) ** 2).sum() for X in parts) / sum(len(X) for X in parts)


def test_sampled_blocks_are_whole_and_as_local_as_all_of_them(rng):
    X = rng.uniform(size=(8000, 2)).astype(np.float32)
    rows = Rows(X, np.arange(8000, dtype=np.float32), None, np.array([0, 8000]))
    some = SampledBlocking(n_blocks=64, n_kept=16, seed=0).sort(rows, np.ones(2))
    assert some.n_blocks == 16
    np.testing.assert_array_equal(X[some.y.astype(int)], some.X)
    assert len(np.unique(some.y)) == len(some.y)
    # 125 rows a block, up to the sampling error of the medians of some hundred rows at six cuts.
    sizes = np.diff(some.bounds)
    assert sizes.min() > 80
    assert sizes.max() < 180
    everything = Blocking("tree", 64, None, 0).sort(rows, np.ones(2))
    thinned = Blocking("tree", 16, None, 0).sort(rows.reorder(np.arange(2000), np.array([0, 2000])), np.ones(2))
    assert within(some) < 1.5 * within(everything)
    assert within(thinned) > 2.5 * within(some)


@pytest.mark.parametrize("share", [0.03, 0.5, 1.0])
def test_rows_that_are_alike_leave_no_sampled_block_empty(share, rng):
    X = rng.uniform(size=(8000, 2)).astype(np.float32)
    X[: int(share * 8000)] = X[0]
    X = X[rng.permutation(8000)]
    rows = Rows(X, np.arange(8000, dtype=np.float32), None, np.array([0, 8000]))
    some = SampledBlocking(n_blocks=64, n_kept=48, seed=0).sort(rows, np.ones(2))
    sizes = np.diff(some.bounds)
    assert sizes.min() > 0
    # At most eight times the 125 rows of an even block.
    assert sizes.max() <= 1000
    np.testing.assert_array_equal(X[some.y.astype(int)], some.X)
    assert some.n_blocks >= (1 if share == 1.0 else 30)


@pytest.mark.parametrize(("kind", "expected"), [("tree", "BisectingTree"), ("kmeans", "NearestCentre")])
def test_blocking_sorts_the_rows_by_block(kind, expected, rng):
    X = rng.normal(size=(200, 2)).astype(np.float32)
    rows = Rows(X, np.arange(200, dtype=np.float32), None, np.array([0, 200]))
    partition, blocked = Blocking(kind, 9, None, 0)(rows, np.ones(2))
    assert type(partition).__name__ == expected
    assert blocked.n_blocks == 9
    assert sorted(blocked.y.tolist()) == list(range(200))
    np.testing.assert_array_equal(blocked.X[:, 0], X[blocked.y.astype(int), 0])


@pytest.mark.parametrize("unit", [2.0**-400, 2.0**-60, 2.0**60, 2.0**400])
@pytest.mark.parametrize("kind", ["tree", "kmeans", "labels", "sampled"])
def test_units_that_all_inputs_share_change_no_block(kind, unit, rng):
    """Squares of these, and the largest of them alone, are beyond float32."""
    X = rng.normal(size=(200, 3)).astype(np.float32)
    rows = Rows(X, np.arange(200, dtype=np.float32), None, np.array([0, 200]))
    metric = np.array([3.0, 0.5, 0.7])
    blocking = Blocking(kind, 4, None, 0) if kind in ("tree", "kmeans") else SampledBlocking(4, 3, 0)
    if kind == "labels":
        blocking = Blocking("auto", 4, np.arange(200) % 4, 0)
        new = rng.normal(size=(50, 3)).astype(np.float32)
        expected, found = (blocking(rows, metric * factor)[0].assign(new) for factor in (1.0, unit))
    else:
        expected, found = (blocking.sort(rows, metric * factor).y for factor in (1.0, unit))
    np.testing.assert_array_equal(found, expected)


def test_few_rows_are_one_block():
    assert choose_n_blocks(3, 20) == 1
    assert choose_n_blocks(2_000_000, 20) == 2000
