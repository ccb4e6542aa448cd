"""Sums of regression trees on a card, against scikit-learn's compiled descent."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from devices import CARD
from ssgp.engine.on_card.regression_trees import CardTreeSums
from ssgp.forest.boosted_trees import BoostedTrees

pytestmark = pytest.mark.card


def on_card(trees):
    return CardTreeSums(CARD, trees.bounds, trees.feature, trees.number, trees.children, trees.baseline)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_trees", [1, pytest.param(70, marks=pytest.mark.slow)])
def test_sums_are_those_of_the_compiled_descent(dtype, n_trees, rng, monkeypatch):
    monkeypatch.setattr("ssgp.engine.on_card.regression_trees.PAIRS_AT_ONCE", 3000)
    X = rng.normal(size=(3000, 4)).astype(dtype)
    # Steep in one input, so that some branches are deep and others are not.
    y = np.exp(3 * X[:, 0]) + np.sin(5 * X[:, 1])
    booster = HistGradientBoostingRegressor(max_iter=n_trees, max_leaf_nodes=60, min_samples_leaf=3).fit(X, y)
    rows = rng.normal(size=(2000, 4)).astype(dtype)
    found = CARD.fetch(on_card(BoostedTrees.of(booster))(CARD.send(rows)))
    np.testing.assert_allclose(found, booster.predict(rows), rtol=1e-12, atol=1e-12)


def test_rows_at_a_threshold_go_left_as_they_do_there():
    """In single precision too, where the threshold itself, a double, may lie between two numbers."""
    threshold = 0.1
    trees = BoostedTrees(
        bounds=np.array([0, 3, 4]),
        feature=np.array([0, -1, -1, -1], np.int32),
        number=np.array([threshold, 1.0, 2.0, 10.0]),
        children=np.array([[1, 2], [0, 0], [0, 0], [0, 0]], np.uint32),
        baseline=0.5,
        n_inputs=1,
    )
    beside = np.float32(threshold)
    for rows in (
        np.array([[threshold], [np.nextafter(threshold, 1)], [-1e300]]),
        np.array([[beside], [np.nextafter(beside, np.float32(0))], [np.nextafter(beside, np.float32(1))]]),
    ):
        np.testing.assert_array_equal(CARD.fetch(on_card(trees)(CARD.send(rows))), trees.predict(rows))
