"""Boosted trees as plain arrays, against the booster they come from."""

import pickle
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from ssgp.engine.threads import FastestThreads
from ssgp.engine.tree_size import TreeSize
from ssgp.forest import boosted_trees
from ssgp.forest.boosted_trees import BinnedRows, BoostedTrees, Growth, grow
from ssgp.forest.sklearn_trees import LEAF
from ssgp.saving.contents import ContentsError
from ssgp.saving.kinds import kind_of


@pytest.fixture(scope="module")
def grown():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4)).astype(np.float32)
    y = np.sin(3 * X[:, 0]) + (X[:, 1] > 0.3) + 0.1 * rng.normal(size=3000)
    settings = {"max_leaf_nodes": 40, "max_iter": 12, "learning_rate": 0.3, "early_stopping": False}
    booster = HistGradientBoostingRegressor(**settings, random_state=0).fit(X, y)
    return booster, BoostedTrees.of(booster), X


def test_predictions_are_those_of_scikit_learn_to_the_last_bit(grown):
    booster, trees, X = grown
    new = np.random.default_rng(1).normal(size=(5000, 4))
    thresholds = X[:100]
    for rows in (new, new.astype(np.float32), thresholds, 1e30 * new, new[:0]):
        expected = booster.predict(rows) if len(rows) else np.zeros(0)
        np.testing.assert_array_equal(trees.predict(rows), expected)


def test_a_few_rows_are_predicted_as_among_many_to_the_last_bit(grown):
    _, trees, _ = grown
    new = np.random.default_rng(2).normal(size=(200, 4)).astype(np.float32)
    expected = trees.predict(new)
    np.testing.assert_array_equal(np.concatenate([trees.predict(new[k : k + 8]) for k in range(0, 200, 8)]), expected)
    np.testing.assert_array_equal([trees.predict(row[None])[0] for row in new[:20]], expected[:20])


def test_predictions_are_those_of_a_walk_down_the_nodes(grown):
    _, trees, X = grown

    def walk(row):
        total = trees.baseline
        for first in trees.bounds[:-1]:
            node = first
            while trees.feature[node] != LEAF:
                right = float(row[trees.feature[node]]) > trees.number[node]
                node = first + int(trees.children[node, int(right)])
            total += trees.number[node]
        return total

    np.testing.assert_array_equal(trees.predict(X[:50]), [walk(row) for row in X[:50]])


def test_a_pickle_holds_the_arrays_alone(grown):
    booster, trees, X = grown
    trees.predict(X)
    data = pickle.dumps(trees)
    assert b"sklearn" not in data
    np.testing.assert_array_equal(pickle.loads(data).predict(X), booster.predict(X))


def test_less_memory_than_the_booster_has(grown):
    booster, trees, _ = grown
    assert trees.nbytes < 0.5 * sum(tree.nodes.nbytes for (tree,) in booster._predictors)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda trees: {"children": np.full_like(trees.children, 10**6)}, "children must come after"),
        (lambda trees: {"children": np.zeros_like(trees.children)}, "children must come after"),
        (lambda trees: {"children": trees.children.astype(float)}, "children: must be an array of uint32"),
        (lambda trees: {"feature": np.full_like(trees.feature, 4)}, "by inputs that there are"),
        (lambda trees: {"feature": np.full_like(trees.feature, -2)}, "from -1"),
        (lambda trees: {"bounds": np.append(trees.bounds, trees.bounds[-1])}, "bounds must rise"),
        (lambda trees: {"bounds": trees.bounds + 1}, "bounds must rise"),
        (lambda trees: {"bounds": np.array([0, 2**62, -(2**62), len(trees.feature)])}, "from 0"),
        (lambda trees: {"bounds": np.array([0])}, "bounds must rise"),
        (lambda trees: {"number": np.full_like(trees.number, np.nan)}, "finite"),
        (lambda trees: {"n_inputs": 0}, "n_inputs"),
    ],
    ids="outside|circle|halves|input|negative input|empty tree|shifted|wrapping|no tree|nan|no input".split("|"),
)
def test_a_file_s_nodes_that_lead_nowhere_are_refused(grown, damage, said):
    kind = kind_of(BoostedTrees)
    assert kind is not None
    parts = dict(kind.parts(grown[1]))
    kind.check(parts)
    with pytest.raises(ContentsError, match=said):
        kind.check({**parts, **damage(grown[1])})


def test_another_number_of_columns_is_refused(grown):
    with pytest.raises(ValueError, match=r"3 columns.*grown on 4"):
        grown[1].predict(np.zeros((2, 3)))


def unstopped(n_trees):
    return HistGradientBoostingRegressor(max_iter=n_trees, early_stopping=cast(Any, False), random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize("n_values", [7, None])
def test_trees_on_bins_are_those_that_scikit_learn_grows(rng, n_values):
    X = rng.normal(size=(3000, 3))
    if n_values is not None:
        X[:, 1] = rng.integers(0, n_values, size=3000)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + 0.1 * rng.normal(size=3000)
    theirs, ours = unstopped(8).fit(X, y), grow(unstopped(8), BinnedRows.of(X), y, np.ones(3000))
    unseen = rng.normal(size=(1000, 3))
    np.testing.assert_allclose(ours.predict(unseen), theirs.predict(unseen), atol=1e-10)


def test_trees_beyond_the_first_are_larger(rng, monkeypatch):
    monkeypatch.setattr(boosted_trees, "FIRST_TREES", 3)
    growth = Growth(0.3, TreeSize(4, 100), TreeSize(16, 10))
    X = rng.normal(size=(2000, 2))
    y = np.sin(5 * X[:, 0]) * np.cos(5 * X[:, 1])
    rows, weight = BinnedRows.of(X), np.ones(2000)
    at_once = rows.grower(y, weight, growth, 0, FastestThreads(1)).grow(6)
    assert [(at_once.feature[a:b] == LEAF).sum() for a, b in pairwise(at_once.bounds)] == [4, 4, 4, 16, 16, 16]
    # Whatever the steps in which they are asked for, and those of the first size are those alone.
    gradual, first = (rows.grower(y, weight, growth, 0, FastestThreads(1)) for _ in range(2))
    for n_trees in (1, 3, 5, 6):
        one_by_one = gradual.grow(n_trees)
    np.testing.assert_array_equal(one_by_one.number, at_once.number)
    np.testing.assert_array_equal(first.grow(3).number, at_once.number[: at_once.bounds[3]])


@pytest.mark.slow
def test_trees_on_bins_know_weights(rng):
    X, y, weight = rng.normal(size=(1000, 1)), rng.normal(size=1000), np.ones(1000)
    weight[::2] = 1e-9
    trees = grow(
        unstopped(30),
        BinnedRows.of(np.vstack([X, X])),
        np.concatenate([y, -y]),
        np.concatenate([weight, 1e-9 * weight]),
    )
    odd = weight == 1.0
    assert np.corrcoef(trees.predict(X[odd]), y[odd])[0, 1] > 0.3


@pytest.mark.slow
def test_a_constant_input_and_one_that_is_not(rng):
    X = np.column_stack([np.full(500, 3.0), rng.normal(size=500)])
    trees = grow(unstopped(5), BinnedRows.of(X), X[:, 1], np.ones(500))
    assert set(trees.feature.tolist()) == {-1, 1}


@pytest.mark.slow
def test_trees_among_many_inputs_predict_what_they_do_alone(grown):
    _, trees, X = grown
    inputs = np.array([3, 100, 250, 399])
    many = np.random.default_rng(2).normal(size=(len(X), 400)).astype(np.float32)
    many[:, inputs] = X
    wide = trees.among(inputs, 400)
    np.testing.assert_array_equal(wide.predict(many), trees.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(wide)).predict(many), trees.predict(X))
    with pytest.raises(ValueError, match="X has 4 columns, the trees were grown on 400"):
        wide.predict(X)


def test_trees_do_not_depend_on_the_threads_that_are_tried(rng):
    X = rng.normal(size=(3000, 3))
    y, weight = np.sin(3 * X[:, 0]) * X[:, 1], rng.uniform(0.5, 2.0, size=3000)
    rows, growth = BinnedRows.of(X), Growth(0.3, TreeSize(31, 20), TreeSize(31, 20))
    one, tried = (rows.grower(y, weight, growth, 0, FastestThreads(number)).grow(9) for number in (1, 4))
    np.testing.assert_array_equal(one.number, tried.number)
    np.testing.assert_array_equal(one.feature, tried.feature)
