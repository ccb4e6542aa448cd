"""Partitions of rows into even blocks, by trees and by k-means."""

import numpy as np
import pytest

from ssgp.rows.bisecting_tree import grow_tree
from ssgp.rows.kmeans import even_kmeans
from ssgp.rows.partition import NearestRow

BUILDERS = [grow_tree, even_kmeans]


def build(builder, X, n_blocks, seed=0, metric=None):
    metric = np.ones(X.shape[1], np.float32) if metric is None else metric
    return builder(X, n_blocks, np.random.default_rng(seed), metric)


@pytest.mark.slow
@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize(("n", "p"), [(1000, 7), (100, 100), (37, 5), (50, 1), (3, 2), (1, 1)])
def test_blocks_are_even_to_within_one_row(builder, n, p, rng):
    X = rng.normal(size=(n, 3)).astype(np.float32)
    partition, labels = build(builder, X, p)
    counts = np.bincount(labels, minlength=p)
    assert partition.n_blocks == len(counts) == p
    assert counts.max() - counts.min() <= 1
    assert set(partition.assign(rng.normal(size=(500, 3)).astype(np.float32))) <= set(range(p))


@pytest.mark.parametrize("builder", BUILDERS)
def test_blocks_are_local(builder, rng):
    X = rng.uniform(size=(4000, 2)).astype(np.float32)
    _, labels = build(builder, X, 40)
    within = np.mean([X[labels == k].var(axis=0).sum() for k in range(40)])
    # Forty square cells of a square hold 1/40 of its variance each; oblong or ragged ones more.
    assert within < 2.5 * X.var(axis=0).sum() / 40


@pytest.mark.parametrize("builder", BUILDERS)
def test_same_seed_same_blocks(builder, rng):
    X = rng.normal(size=(500, 3)).astype(np.float32)
    np.testing.assert_array_equal(build(builder, X, 6, seed=3)[1], build(builder, X, 6, seed=3)[1])


@pytest.mark.parametrize("builder", BUILDERS)
def test_an_input_of_no_weight_in_the_metric_cuts_nothing(builder, rng):
    X = rng.uniform(size=(1200, 2)).astype(np.float32)
    partition, _ = build(builder, X, 8, metric=np.array([1.0, 1e-6], np.float32))
    grid = np.repeat(np.linspace(0, 1, 50), 2)
    ends = np.stack([grid, np.tile([0.0, 1.0], 50)], axis=1).astype(np.float32)
    at = partition.assign(ends).reshape(-1, 2)
    assert np.mean(at[:, 0] == at[:, 1]) > 0.9


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("builder", BUILDERS)
def test_identical_rows_are_shared_out_all_the_same(builder):
    X = np.ones((90, 2), np.float32)
    partition, labels = build(builder, X, 4)
    assert np.ptp(np.bincount(labels, minlength=4)) <= 1
    assert partition.assign(X[:1])[0] in range(4)


def test_given_blocks_may_have_any_shape(rng):
    """A ring around a disc: the same centre, and still new rows find their block."""
    angle, radius = rng.uniform(0, 2 * np.pi, size=2000), np.repeat([0.5, 2.0], 1000) * rng.uniform(0.8, 1.2, size=2000)
    X = (radius * np.array([np.cos(angle), np.sin(angle)])).T.astype(np.float32)
    labels = np.repeat([0, 1], 1000)
    partition = NearestRow.fit(X[::2], labels[::2], np.ones(2, np.float32))
    assert partition.n_blocks == 2
    np.testing.assert_array_equal(partition.assign(X[1::2]), labels[1::2])
