"""Models of a tree's nodes and their errors on rows left out, against one regression after the other."""

import numpy as np
import pytest

from ssgp.forest import branches, nodes
from ssgp.forest.leaf_features import LeafFeatures
from ssgp.forest.nodes import NodeSolver, fit_tree, fit_trees, sketch_signs
from ssgp.forest.tree import TreeShape, TreeSkeleton
from ssgp.forest.tree_stack import TreeStack
from ssgp.rows.bisecting_tree import grow_tree
from ssgp.rows.blocks import Rows
from ssgp.rows.leaf_runs import SortedRows
from ssgp.rows.row_tables import MemoryTable

RIDGE = 0.7
SHAPE = TreeShape(8, (4, 2, 1))
# Leaves of many rows, of few, and of none, in two branches.
SIZES = np.array([60, 3, 0, 41, 5, 6, 5, 4])
N_ROWS = int(SIZES.sum())


@pytest.fixture(params=[False, True], ids=["unweighted", "weighted"])
def rows(request, rng):
    X = rng.normal(size=(N_ROWS, 2)).astype(np.float32)
    y = (np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=N_ROWS)).astype(np.float32)
    weight = rng.uniform(0.3, 3.0, size=N_ROWS).astype(np.float32) if request.param else None
    return Rows(X, y, weight, np.concatenate([[0], np.cumsum(SIZES)]))


@pytest.fixture
def features(rng):
    return LeafFeatures.of(0.3 * rng.normal(size=(4, 2)), np.ones(2))


def solve(rows, features, shrink=True, leave_out=(), signs=None, ridge=RIDGE):
    signs = np.eye(features.n_features) if signs is None else signs
    solver = NodeSolver(features, SHAPE, ridge, signs, shrink)
    return solver, solver.add(SortedRows(0, rows, np.arange(len(rows.y))), leave_out)


def naive(rows, features, shrink, without=None):
    """Weights, penalised residual sums of squares and covariances of all nodes of all levels."""
    phi, y = features(rows.X).astype(float), rows.y.astype(float)
    weight = np.ones(len(y)) if rows.weight is None else rows.weight.astype(float)
    if without is not None:
        weight = np.where(np.arange(len(y)) == without, 0.0, weight)
    levels, size = [], phi.shape[1]
    for leaves in SHAPE.leaves_per_node:
        level = []
        for node in range(8 // leaves):
            part = slice(rows.bounds[node * leaves], rows.bounds[(node + 1) * leaves])
            F, W = phi[part], np.diag(weight[part])
            prior = levels[-1][node // 2][0] if shrink and levels else np.zeros(size)
            A = F.T @ W @ F + RIDGE * np.eye(size)
            w = prior + np.linalg.solve(A, F.T @ W @ (y[part] - F @ prior))
            residual = y[part] - F @ w
            level.append((w, residual @ W @ residual + RIDGE * np.sum((w - prior) ** 2), np.linalg.inv(A)))
        levels.append(level)
    return levels


@pytest.mark.parametrize("shrink", [True, False])
@pytest.mark.parametrize("small", [0.0, 0.6, 10.0])
def test_models_are_regressions_shrunk_towards_their_parents(shrink, small, rows, features, monkeypatch):
    """Solved from sums, in the space of their rows where leaves are small enough, and there wherever it can be."""
    monkeypatch.setattr(nodes, "MOST_ROWS_PER_FEATURE", small)
    solver, _ = solve(rows, features, shrink)
    counts = (
        SIZES if rows.weight is None else np.add.reduceat(np.append(rows.weight, 0), rows.bounds[:-1]) * (SIZES > 0)
    )
    for arrays, expected, leaves in zip(
        solver.arrays, naive(rows, features, shrink), SHAPE.leaves_per_node, strict=True
    ):
        np.testing.assert_allclose(arrays.count, counts.reshape(-1, leaves).sum(axis=1), rtol=1e-6)
        for node, (weights, rss, covariance) in enumerate(expected):
            np.testing.assert_allclose(arrays.weights[node], weights, atol=1e-4)
            assert arrays.rss[node] == pytest.approx(rss, rel=1e-3, abs=1e-4)
            sketch = arrays.sketch[node].astype(float)
            np.testing.assert_allclose(sketch.T @ sketch, covariance, atol=1e-4)


@pytest.mark.parametrize("shrink", [True, False])
@pytest.mark.parametrize("small", [0.0, 10.0], ids=["from sums", "from rows"])
def test_errors_of_rows_left_out_are_those_of_trees_without_them(shrink, small, rows, features, monkeypatch):
    monkeypatch.setattr(nodes, "MOST_ROWS_PER_FEATURE", small)
    _, (numbers, leaves, errors) = solve(rows, features, shrink, leave_out=range(2))
    np.testing.assert_array_equal(np.sort(numbers), np.arange(N_ROWS))
    np.testing.assert_array_equal(leaves, rows.labels[numbers])
    phi = features(rows.X).astype(float)
    for row in range(0, N_ROWS, 7):
        levels = naive(rows, features, shrink, without=row)
        for level, per_node in enumerate(SHAPE.leaves_per_node):
            expected = rows.y[row] - phi[row] @ levels[level][rows.labels[row] // per_node][0]
            assert errors[level, numbers == row][0] == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_only_the_branches_asked_for_are_left_out(rows, features):
    _, (numbers, leaves, errors) = solve(rows, features, leave_out=[1])
    np.testing.assert_array_equal(np.sort(numbers), np.flatnonzero(rows.labels >= 4))
    assert leaves.min() >= 4
    assert errors.shape == (3, len(numbers))
    assert solve(rows, features)[1][2].shape == (3, 0)


def assert_same(one, other, **tolerance):
    for own, others in zip(one.arrays, other.arrays, strict=True):
        for name in ("weights", "sketch", "count", "rss"):
            np.testing.assert_allclose(getattr(own, name), getattr(others, name), err_msg=name, **tolerance)


@pytest.mark.parametrize("at_once", [1, 97, 400])
def test_leaves_of_more_rows_than_memory_allows_are_summed_in_pieces(at_once, rows, features, monkeypatch):
    monkeypatch.setattr(nodes, "MOST_ROWS_PER_FEATURE", 0.0)
    whole, (_, _, errors) = solve(rows, features, leave_out=range(2))
    for module in (branches, nodes):
        monkeypatch.setattr(module, "FEATURES_AT_ONCE", at_once * features.n_features)
    in_pieces, (_, _, errors_too) = solve(rows, features, leave_out=range(2))
    assert_same(in_pieces, whole, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(errors_too, errors, rtol=1e-3, atol=1e-4)


def test_a_leaf_is_the_same_to_the_last_bit_whatever_leaves_come_with_it(rows, features, monkeypatch):
    together, (_, _, errors) = solve(rows, features, leave_out=range(2))
    monkeypatch.setattr(nodes, "SUMS_AT_ONCE", 1)
    apart, (_, _, errors_too) = solve(rows, features, leave_out=range(2))
    by_branch = NodeSolver(features, SHAPE, RIDGE, np.eye(features.n_features), True)
    for branch in range(2):
        bounds = rows.bounds[4 * branch : 4 * branch + 5]
        inside = np.arange(bounds[0], bounds[-1])
        by_branch.add(SortedRows(4 * branch, rows.reorder(inside, bounds - bounds[0]), inside), ())
    assert_same(together, apart, rtol=0)
    assert_same(together, by_branch, rtol=0)
    np.testing.assert_array_equal(errors, errors_too)


@pytest.mark.parametrize("noise", [0.01, 1e-3, 1e-4])
def test_low_noise_keeps_its_digits(noise, rng):
    """Errors in deviations of the noise, in single precision features and against double precision throughout."""
    features = LeafFeatures.of(rng.normal(size=(20, 2)), np.ones(2))
    X = rng.uniform(-1, 1, size=(600, 2)).astype(np.float32)
    y = (np.sin(3 * X[:, 0]) + noise * rng.normal(size=600)).astype(np.float32)
    ridge = 20 * noise**2
    solver = NodeSolver(features, TreeShape(1, (1,)), ridge, np.eye(43)[:1], True)
    _, _, errors = solver.add(SortedRows(0, Rows(X, y, None, np.array([0, 600])), np.arange(600)), [0])
    phi = features(X).astype(float)
    hat = phi @ np.linalg.solve(phi.T @ phi + ridge * np.eye(phi.shape[1]), phi.T)
    assert np.abs(errors[0] - (y - hat @ y) / (1 - np.diag(hat))).max() < 0.05 * noise


def test_signs_have_the_identity_as_their_mean_square(rng):
    assert sketch_signs("exact", 5, 0).tolist() == np.eye(5).tolist()
    assert sketch_signs(9, 5, 0).tolist() == np.eye(5).tolist()
    squares = [signs.T @ signs for signs in (sketch_signs(2, 5, seed) for seed in range(4000))]
    np.testing.assert_allclose(np.mean(squares, axis=0), np.eye(5), atol=4 / np.sqrt(4000))


@pytest.fixture
def skeleton(rows, features):
    partition, _ = grow_tree(rows.X, 8, np.random.default_rng(0), np.ones(2, np.float32))
    return TreeSkeleton(partition, features, 0, SHAPE.leaves_per_node)


@pytest.mark.slow
def test_the_order_of_the_rows_does_not_matter(rows, skeleton, rng):
    order = rng.permutation(N_ROWS)
    one, left_out = fit_tree(MemoryTable(rows), skeleton, RIDGE, "exact", True, range(2))
    shuffled = MemoryTable(rows.reorder(order, rows.bounds))
    other, left_out_too = fit_tree(shuffled, skeleton, RIDGE, "exact", True, range(2))
    for level, again in zip(one.levels, other.levels, strict=True):
        np.testing.assert_allclose(level.rss, again.rss, rtol=1e-4)
        np.testing.assert_allclose(level.noise_variance, again.noise_variance, rtol=1e-4)
    assert left_out is not None
    assert left_out_too is not None
    by_row, again = np.empty((3, N_ROWS)), np.empty((3, N_ROWS))
    by_row[:, left_out.rows], again[:, order[left_out_too.rows]] = left_out.error, left_out_too.error
    np.testing.assert_allclose(by_row, again, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_noise_of_rows_left_out_is_that_of_their_nodes(rows, skeleton):
    tree, left_out = fit_tree(MemoryTable(rows), skeleton, RIDGE, 1, True, [0])
    assert left_out is not None
    leaf = skeleton.partition.assign(rows.X[left_out.rows])
    for level, noise in zip(tree.levels, left_out.noise_variance, strict=True):
        np.testing.assert_allclose(noise, level.noise_variance[leaf // level.leaves_per_node], rtol=1e-6)
    assert fit_tree(MemoryTable(rows), skeleton, RIDGE, 1, True)[1] is None


def test_trees_fitted_together_are_those_fitted_alone(rows, rng):
    """To the last bit, but for the noise prior, whose sums are taken in another order."""
    skeletons = [
        TreeSkeleton(
            grow_tree(rows.X, 8, np.random.default_rng(seed), np.ones(2, np.float32), 0.3)[0],
            LeafFeatures.of(0.3 * rng.normal(size=(4, 2)), np.ones(2)),
            seed,
            SHAPE.leaves_per_node,
        )
        for seed in range(3)
    ]
    table = MemoryTable(rows, held_out=np.array([3, 50, 51]))
    leave_out = [range(2), (), range(1, 2)]
    together = fit_trees(table, skeletons, RIDGE, 1, True, leave_out)
    for skeleton, own, (tree, left_out) in zip(skeletons, leave_out, together, strict=True):
        alone, left_out_alone = fit_tree(table, skeleton, RIDGE, 1, True, own)
        assert (left_out is None) == (left_out_alone is None) == (len(own) == 0)
        for level, level_alone in zip(tree.levels, alone.levels, strict=True):
            for name in ("weights", "sketch"):
                np.testing.assert_array_equal(getattr(level, name).values, getattr(level_alone, name).values)
            np.testing.assert_array_equal(level.rss, level_alone.rss)
            np.testing.assert_allclose(level.noise_variance, level_alone.noise_variance, rtol=1e-6)
        if left_out is not None and left_out_alone is not None:
            np.testing.assert_array_equal(left_out.rows, left_out_alone.rows)
            np.testing.assert_array_equal(left_out.error, left_out_alone.error)


@pytest.mark.slow
def test_a_sketch_is_unbiased(rows, skeleton):
    """Mean leverage of all rows over 60 seeds, within 4 standard errors of the exact one."""

    def leverage(n_sketches, seed):
        own = TreeSkeleton(skeleton.partition, skeleton.features, seed, skeleton.leaves_per_node)
        tree, _ = fit_tree(MemoryTable(rows), own, RIDGE, n_sketches, True)
        return TreeStack.of([tree.only(-1)]).components(rows.X).leverage.mean()

    found = [leverage(1, seed) for seed in range(60)]
    assert abs(np.mean(found) - leverage("exact", 0)) < 4 * np.std(found) / np.sqrt(60)
    assert np.std(found) > 0
