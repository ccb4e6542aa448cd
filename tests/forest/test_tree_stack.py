"""Trees side by side, against each alone and against rows predicted in other steps."""

import numpy as np
import pytest

from ssgp.forest.growing import grow_skeleton
from ssgp.forest.leaf_features import LeafFeatures
from ssgp.forest.nodes import fit_tree
from ssgp.forest.tree import TreeShape
from ssgp.forest.tree_stack import TreeStack, stack_trees
from ssgp.rows.blocks import Rows
from ssgp.rows.row_tables import MemoryTable

N_FEATURES = 2 * 4 + 1 + 2


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(300, 2)).astype(np.float32)
    y = (np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=300)).astype(np.float32)
    return Rows(X, y, None, np.array([0, 300]))


def fit_trees(rows, features, n_sketches=1):
    grown = [
        grow_skeleton(rows, np.ones(2), each, TreeShape(8, (4, 1)), (seed, seed)) for seed, each in enumerate(features)
    ]
    return tuple(fit_tree(MemoryTable(rows), skeleton, 0.8, n_sketches, True)[0] for skeleton in grown)


@pytest.fixture(params=["shared", "partly shared", "apart"])
def features(request, rng):
    """Features of five trees."""
    draws = [LeafFeatures.of(0.3 * rng.normal(size=(4, 2)), np.ones(2)) for _ in range(5)]
    which = {"shared": [0] * 5, "partly shared": [0, 0, 1, 1, 1], "apart": range(5)}[request.param]
    return [draws[k] for k in which]


@pytest.fixture(params=[1, 3])
def trees(rows, features, request):
    return fit_trees(rows, features, request.param)


def assert_same(found, expected):
    for name in ("mean", "leverage", "shape", "scale"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_components_are_those_of_each_tree(rows, trees):
    (stack,) = stack_trees(trees)
    found = stack.components(rows.X)
    for k, tree in enumerate(trees):
        alone = TreeStack.of([tree]).components(rows.X)
        np.testing.assert_array_equal(found.mean[2 * k : 2 * k + 2], alone.mean)
        np.testing.assert_array_equal(found.leverage[2 * k : 2 * k + 2], alone.leverage)
        np.testing.assert_array_equal(found.shape[2 * k : 2 * k + 2], alone.shape)
        np.testing.assert_array_equal(found.scale[2 * k : 2 * k + 2], alone.scale)


@pytest.mark.parametrize("level", [0, -1])
def test_means_and_noise_are_those_of_the_components(rows, trees, level):
    stack = TreeStack.of([tree.only(level) for tree in trees])
    means, noise = stack.means_and_noise(rows.X)
    components = stack.components(rows.X)
    np.testing.assert_array_equal(means, components.mean)
    np.testing.assert_array_equal(noise, components.noise_variance)


# Rows at a time, and so trees: all of both, two trees, one tree, rows in the order of their leaves, one row.
@pytest.mark.parametrize("rows_at_once", [1500, 700, 300, 299, 64, 1])
def test_predictions_do_not_depend_on_the_steps_they_are_made_in(rows_at_once, rows, trees, monkeypatch):
    stack = TreeStack.of(trees)
    whole = stack.components(rows.X)
    monkeypatch.setattr("ssgp.forest.tree_stack.FEATURES_AT_ONCE", rows_at_once * N_FEATURES)
    assert_same(stack.components(rows.X), whole)


@pytest.mark.parametrize("n", [1, 2, 63, 65])
def test_few_rows_are_predicted_as_among_many(n, rows, trees):
    stack = TreeStack.of(trees)
    assert_same(stack.components(rows.X[7 : 7 + n]), stack.components(rows.X).rows(slice(7, 7 + n)))


def test_large_trees_are_not_copied(rows, trees, monkeypatch):
    together = stack_trees(trees)[0].components(rows.X)
    monkeypatch.setattr("ssgp.forest.tree_stack.STACKED_BYTES", 1)
    stacks = stack_trees(trees)
    assert [stack.trees for stack in stacks] == [(tree,) for tree in trees]
    assert all(np.shares_memory(stack.directions, stack.trees[0].partition.directions) for stack in stacks)
    np.testing.assert_array_equal(np.concatenate([stack.components(rows.X).mean for stack in stacks]), together.mean)


def test_trees_with_trends_of_some_inputs_stand_alone(rows, rng):
    features = [LeafFeatures.of(0.3 * rng.normal(size=(4, 2)), np.ones(2), np.array([k])) for k in (0, 1)]
    trees = fit_trees(rows, features)
    assert [stack.trees for stack in stack_trees(trees)] == [(tree,) for tree in trees]


def test_more_leaves_than_16_bits_count_are_sorted_as_well(rows, trees, monkeypatch):
    stack = TreeStack.of(trees)
    whole = stack.components(rows.X)
    monkeypatch.setattr("ssgp.forest.tree_stack.FEATURES_AT_ONCE", 64 * N_FEATURES)
    monkeypatch.setattr("ssgp.forest.tree_stack.MOST_SHORT", 3)
    assert_same(stack.components(rows.X), whole)
