"""Balanced trees of hyperplanes."""

import numpy as np
import pytest

from ssgp.rows.bisecting_tree import grow_tree, grow_trees


def build(X, n_blocks, seed=0, metric=None):
    metric = np.ones(X.shape[1], np.float32) if metric is None else metric
    return grow_tree(X, n_blocks, np.random.default_rng(seed), metric)


@pytest.mark.parametrize("p", [2, 3, 8, 13, 64])
def test_a_tree_sends_its_own_rows_to_their_blocks(p, rng):
    X = rng.normal(size=(2000, 4)).astype(np.float32)
    tree, labels = build(X, p)
    # A row at a threshold may fall either way by rounding: at most one per hyperplane.
    assert np.sum(tree.assign(X) != labels) <= p - 1


class TestTreesThatLookAtTheTarget:
    """A step in the input that varies least, where the rows' own spread cuts along the other."""

    def step(self, rng, n=1000):
        X = (rng.normal(size=(n, 2)) * [3.0, 0.5]).astype(np.float32)
        right = X[:, 1] >= np.median(X[:, 1])
        return X, (np.where(right, 2.0, -2.0) + 0.1 * rng.normal(size=n)).astype(np.float32), right

    def agreement(self, labels, right):
        share = np.mean(labels == right)
        return max(share, 1 - share)

    def test_the_step_is_where_they_cut(self, rng):
        X, y, right = self.step(rng)
        _, labels = grow_tree(X, 2, np.random.default_rng(0), np.ones(2, np.float32), target=y)
        assert self.agreement(labels, right) > 0.99
        _, blind = grow_tree(X, 2, np.random.default_rng(0), np.ones(2, np.float32))
        # Blind to it, half of the rows agree by chance: 500 +- 16, and the four deviations allowed are 6 %.
        assert self.agreement(blind, right) < 0.57

    @pytest.mark.parametrize(("n", "p"), [(1000, 8), (1001, 7), (500, 64), (37, 5), (3, 2)])
    def test_blocks_stay_even(self, n, p, rng):
        X, y, _ = self.step(rng, n)
        tree, labels = grow_tree(X, p, np.random.default_rng(0), np.ones(2, np.float32), 0.3, y)
        counts = np.bincount(labels, minlength=p)
        assert len(counts) == tree.n_blocks == p
        assert counts.max() - counts.min() <= 1
        assert np.sum(tree.assign(X) != labels) <= p - 1

    def test_the_target_is_left_as_it_was(self, rng):
        X, y, _ = self.step(rng)
        before_X, before_y = X.copy(), y.copy()
        grow_tree(X, 8, np.random.default_rng(0), np.ones(2, np.float32), 0.3, y)
        np.testing.assert_array_equal(X, before_X)
        np.testing.assert_array_equal(y, before_y)

    @pytest.mark.parametrize(
        "y", [np.zeros(300, np.float32), np.arange(300, dtype=np.float32)], ids=["constant", "any"]
    )
    def test_identical_rows_are_shared_out_all_the_same(self, y):
        X = np.ones((300, 2), np.float32)
        tree, labels = grow_tree(X, 4, np.random.default_rng(0), np.ones(2, np.float32), 0.3, y)
        assert np.ptp(np.bincount(labels, minlength=4)) <= 1
        assert set(tree.assign(X)) <= set(range(4))

    def test_inputs_of_few_values_do_not_break_it(self, rng):
        X = rng.integers(0, 2, size=(1000, 3)).astype(np.float32)
        tree, labels = grow_tree(X, 16, np.random.default_rng(0), np.ones(3, np.float32), 0.3, X[:, 2])
        assert np.ptp(np.bincount(labels, minlength=16)) <= 1
        assert np.isfinite(tree.thresholds).all()


@pytest.mark.parametrize("p", [8, 13])
def test_nodes_are_cut_across_their_widest_direction(p, rng, monkeypatch):
    """Whether a level's nodes are cut together or one by one: against the singular vectors of each node's rows."""
    X = (rng.normal(size=(500, 3)) * [4.0, 2.0, 1.0]).astype(np.float32)
    tree, labels = build(X, p)
    monkeypatch.setattr("ssgp.rows.bisecting_tree.STACKED_ROWS", 1)
    np.testing.assert_array_equal(build(X, p)[1], labels)

    def below(child):
        return {-1 - child} if child < 0 else below(tree.children[child, 0]) | below(tree.children[child, 1])

    for node, direction in enumerate(tree.directions):
        rows = X[np.isin(labels, list(below(node)))]
        widest = np.linalg.svd(rows - rows.mean(axis=0))[2][0]
        assert abs(widest @ direction) == pytest.approx(1.0, abs=1e-4)


def test_jitter_gives_another_tree_for_every_seed(rng):
    X = rng.normal(size=(800, 4)).astype(np.float32)

    def labels(seed, jitter):
        return grow_tree(X, 8, np.random.default_rng(seed), np.ones(4, np.float32), jitter)[1]

    np.testing.assert_array_equal(labels(1, 0.3), labels(1, 0.3))
    for seed in range(2, 6):
        # Of random blocks one in eight rows would agree, of the same blocks all.
        assert np.mean(labels(1, 0.3) == labels(seed, 0.3)) < 0.9


@pytest.mark.parametrize("p", [1, 2, 3, 13, 32, 33, 100])
def test_rows_find_their_block_as_by_walking_the_tree(p, rng):
    X = rng.normal(size=(2000, 3))
    tree, _ = grow_tree(X, p, np.random.default_rng(0), np.array([1.0, 0.5, 2.0]), 0.3, X[:, 0])
    new = rng.normal(size=(300, 3))

    def walk(row):
        node = 0 if p > 1 else -1
        while node >= 0:
            reaches = sum(row[j] * tree.directions[node, j] for j in range(3)) >= tree.thresholds[node]
            node = tree.children[node, 1 if reaches else 0]
        return -1 - node

    np.testing.assert_array_equal(tree.assign(new), [walk(row) for row in new])


@pytest.mark.parametrize("p", [1, 2, 8, 16])
def test_a_coarser_tree_joins_neighbouring_blocks(p, rng):
    X = rng.normal(size=(400, 3)).astype(np.float32)
    tree, _ = build(X, 16)
    assert tree.coarser(p).n_blocks == p
    np.testing.assert_array_equal(tree.coarser(p).assign(X), tree.assign(X) // (16 // p))


def test_many_rows_find_the_blocks_that_few_do(rng):
    """More rows than are assigned at a time, and none."""
    tree, _ = build(rng.normal(size=(500, 2)).astype(np.float32), 50)
    X = rng.normal(size=(40_000, 2)).astype(np.float32)
    together = tree.assign(X)
    np.testing.assert_array_equal(together[::1000], np.concatenate([tree.assign(row[None]) for row in X[::1000]]))
    assert tree.assign(X[:0]).shape == (0,)


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 8, 60])
def test_a_row_that_many_are_like_finds_its_leaf_alone_and_among_others(d, rng):
    X = rng.normal(size=(2000, d)).astype(np.float32)
    X[:1200] = X[0]
    X = X[rng.permutation(2000)]
    for seed in range(10):
        tree, _ = grow_tree(X, 64, np.random.default_rng(seed), np.linspace(0.3, 2.0, d).astype(np.float32), 0.3)
        together = tree.assign(X)
        for n in (1, 2, 7, 100):
            apart = np.concatenate([tree.assign(X[start : start + n]) for start in range(0, 300, n)])
            np.testing.assert_array_equal(apart[:300], together[: len(apart)][:300])


class TestTreesGrownTogether:
    def grown(self, n_trees, rng, n_rows=700, n_blocks=32, seed=0):
        X, metric = rng.normal(size=(n_rows, 3)).astype(np.float32), np.array([1.0, 0.5, 2.0], np.float32)
        y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=n_rows)
        return X, y, metric, grow_trees(X, n_blocks, n_trees, np.random.default_rng(seed), metric, 0.3, y)

    def test_one_tree_is_that_which_is_grown_alone(self, rng):
        X, y, metric, (tree,) = self.grown(1, rng)
        alone, _ = grow_tree(X, 32, np.random.default_rng(0), metric, 0.3, y)
        for name, values in vars(alone).items():
            np.testing.assert_array_equal(getattr(tree, name), values)

    def test_blocks_of_all_trees_are_even(self, rng):
        X, _, _, trees = self.grown(7, rng)
        for tree in trees:
            counts = np.bincount(tree.assign(X), minlength=32)
            assert np.ptp(counts) <= 2

    def test_trees_differ_as_those_grown_alone_do(self, rng):
        X, _, _, trees = self.grown(5, rng)
        together = [tree.assign(X)[:, None] == tree.assign(X) for tree in trees]
        shared = [np.mean(a & b) / np.mean(a) for i, a in enumerate(together) for b in together[:i]]
        assert 0.05 < np.mean(shared) < 0.8
        assert max(shared) < 0.95

    def test_trees_share_no_array(self, rng):
        """A file does not hold one array for many parts."""
        _, _, _, trees = self.grown(3, rng)
        for name in ("directions", "thresholds", "children"):
            assert not np.shares_memory(getattr(trees[0], name), getattr(trees[1], name))
