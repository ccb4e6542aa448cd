"""Rows in several trees at once, against the same rows in each."""

import numpy as np
import pytest

from ssgp.engine.descent import descend
from ssgp.rows.bisecting_tree import grow_tree


@pytest.fixture(params=[1, 2, 3, 32, 50, 64])
def trees(request, rng):
    X = rng.normal(size=(300, 3)).astype(np.float32)
    return [grow_tree(X, request.param, np.random.default_rng(k), np.ones(3, np.float32), 0.5)[0] for k in range(5)]


def descend_all(X, trees):
    directions, thresholds = (
        np.stack([getattr(tree, name) for tree in trees]) for name in ("directions", "thresholds")
    )
    return descend(X, directions, thresholds, trees[0].children)


@pytest.mark.parametrize("n", [0, 1, 65, 500])
def test_rows_find_the_leaves_that_they_find_in_each_tree(n, trees, rng):
    X = rng.normal(size=(n, 3)).astype(np.float32)
    np.testing.assert_array_equal(descend_all(X, trees), np.reshape([tree.assign(X) for tree in trees], (5, n)))


@pytest.mark.parametrize("numbers", [1, 64 * 31, 1000])
def test_leaves_do_not_depend_on_how_many_rows_and_trees_go_down_together(numbers, trees, rng, monkeypatch):
    X = rng.normal(size=(500, 3)).astype(np.float32)
    together = descend_all(X, trees)
    monkeypatch.setattr("ssgp.engine.descent.ROWS_AT_ONCE", 64)
    monkeypatch.setattr("ssgp.engine.descent.NUMBERS_AT_ONCE", numbers)
    np.testing.assert_array_equal(descend_all(X, trees), together)
