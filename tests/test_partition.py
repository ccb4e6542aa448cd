import numpy as np
import pytest

from ssgp.blocking import Blocking, choose_n_blocks
from ssgp.partition import NearestRow, even_kmeans, grow_tree
from ssgp.rows import Rows, even_bounds

BUILDERS = [grow_tree, even_kmeans]


def build(builder, X, n_blocks, seed=0, metric=None):
    metric = np.ones(X.shape[1], np.float32) if metric is None else metric
    return builder(X, n_blocks, np.random.default_rng(seed), metric)


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize(("n", "p"), [(1000, 7), (100, 100), (37, 5), (50, 1), (3, 2), (1, 1)])
def test_blocks_are_even_to_within_one_row(builder, n, p, rng):
    X = rng.normal(size=(n, 3)).astype(np.float32)
    partition, labels = build(builder, X, p)
    counts = np.bincount(labels, minlength=p)
    assert partition.n_blocks == len(counts) == p
    assert counts.max() - counts.min() <= 1
    assert set(partition.assign(rng.normal(size=(500, 3)).astype(np.float32))) <= set(range(p))


@pytest.mark.parametrize("p", [2, 3, 8, 13, 64])
def test_a_tree_sends_its_own_rows_to_their_blocks(p, rng):
    X = rng.normal(size=(2000, 4)).astype(np.float32)
    tree, labels = build(grow_tree, X, p)
    # A row at a threshold may fall either way by rounding: at most one a hyperplane.
    assert np.sum(tree.assign(X) != labels) <= p - 1


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


@pytest.mark.parametrize(("kind", "expected"), [("tree", "BisectingTree"), ("kmeans", "NearestCentre")])
def test_blocking_sorts_the_rows_by_block(kind, expected, rng):
    X = rng.normal(size=(200, 2)).astype(np.float32)
    rows = Rows(X, np.arange(200, dtype=np.float32), None, np.array([0, 200]))
    partition, blocked = Blocking(kind, 9, None, 0)(rows, np.ones(2))
    assert type(partition).__name__ == expected
    assert blocked.n_blocks == 9
    assert sorted(blocked.y.tolist()) == list(range(200))
    np.testing.assert_array_equal(blocked.X[:, 0], X[blocked.y.astype(int), 0])


@pytest.mark.parametrize(("n", "size"), [(10, 3), (1000, 1000), (5, 100), (1, 1)])
def test_even_bounds(n, size):
    bounds = even_bounds(n, size)
    sizes = np.diff(bounds)
    assert bounds[0] == 0
    assert bounds[-1] == n
    assert sizes.max() <= size
    assert sizes.max() - sizes.min() <= 1


def test_few_rows_are_one_block():
    assert choose_n_blocks(3, 20) == 1
    assert choose_n_blocks(2_000_000, 20) == 2000
