"""Boosted trees grown on a card, against scikit-learn's."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from devices import CARD
from ssgp.engine.on_card import boosting
from ssgp.engine.on_card.boosting import CardBooster
from ssgp.engine.threads import FastestThreads
from ssgp.engine.tree_size import TreeSize
from ssgp.forest.boosted_trees import BinnedRows, Growth, bin_edges
from ssgp.forest.card_boosting import CardTreeRows
from ssgp.forest.correcting import LARGE_TREES

pytestmark = pytest.mark.card


@pytest.fixture
def rows(rng):
    """Inputs of many values, of few and of one, a target of sharp and of smooth effects, and weights."""
    X = rng.normal(size=(6000, 4))
    X[:, 2], X[:, 3] = rng.integers(0, 7, 6000), 2.0
    y = np.sin(3 * X[:, 0]) * np.exp(X[:, 1]) + (X[:, 2] == 3) + 0.3 * rng.normal(size=6000)
    return X, y, rng.uniform(0.5, 2.0, size=6000)


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param([(2, 20)], id="one cut"),
        pytest.param([(31, 20)], id="some", marks=pytest.mark.slow),
        pytest.param([(255, 5)], id="fine", marks=pytest.mark.slow),
        pytest.param([(255, 400)], id="coarse"),
        pytest.param([(8, 50), (64, 10)], id="later ones larger", marks=pytest.mark.slow),
        pytest.param([(255, 5, 6)], id="not deep", marks=pytest.mark.slow),
    ],
)
def test_trees_are_scikit_learns(sizes, rows, monkeypatch):
    X, y, weight = rows
    monkeypatch.setattr("ssgp.forest.boosted_trees.FIRST_TREES", 3)
    growth = Growth(0.2, TreeSize(*sizes[0]), TreeSize(*sizes[-1]))
    theirs = BinnedRows.of(X).grower(y, weight, growth, 0, FastestThreads(1)).grow(6)
    ours = CardTreeRows(CARD, X).grower(y, weight, growth, 0, FastestThreads(1)).grow(6)
    np.testing.assert_array_equal(ours.bounds, theirs.bounds)
    # Scikit-learn sums in single precision.
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=2e-6)


@pytest.mark.slow
def test_more_trees_go_on_from_those_there_are(rows):
    X, y, weight = rows
    gradually, at_once = (CardTreeRows(CARD, X).grower(y, weight, LARGE_TREES, 0, FastestThreads(1)) for _ in range(2))
    gradually.grow(3)
    one, other = gradually.grow(7), at_once.grow(7)
    for name in ("bounds", "feature", "number", "children"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.slow
def test_nothing_depends_on_how_many_rows_are_summed_at_once(rows, monkeypatch):
    X, y, weight = rows
    whole = CardTreeRows(CARD, X).grower(y, weight, LARGE_TREES, 0, FastestThreads(1)).grow(3)
    monkeypatch.setattr(type(CARD), "numbers_at_once", property(lambda card: 1000))
    parts = CardTreeRows(CARD, X).grower(y, weight, LARGE_TREES, 0, FastestThreads(1)).grow(3)
    np.testing.assert_array_equal(parts.number, whole.number)


def test_values_of_leaves_are_means_of_their_rows(rows):
    X, y, weight = rows
    bins = np.stack([np.searchsorted(edges, X[:, j]) for j, edges in enumerate(bin_edges(X))], axis=1)
    sent_bins, sent_y, sent_weight = map(CARD.send, (bins.astype(np.uint8), y, weight))
    growth = boosting._Growth(CARD, sent_bins, sent_y, sent_weight, 1.0, TreeSize(16, 20))
    values = CARD.fetch(growth.tree_and_values()[1])
    assert len(np.unique(values)) == 16
    for value in np.unique(values):
        inside = values == value
        assert inside.sum() >= 20
        assert value == pytest.approx(np.average(y[inside], weights=weight[inside]))


def test_a_constant_target_has_one_leaf(rng):
    X = rng.normal(size=(300, 2))
    booster = CardBooster(CARD, X, bin_edges(X), np.full(300, 4.0), np.ones(300), 0.3)
    booster.grow(1, TreeSize(31, 20))
    (tree,) = booster.trees
    assert booster.baseline == pytest.approx(4.0)
    assert tree.feature.tolist() == [-1]
    assert tree.number[0] == pytest.approx(0.0, abs=1e-12)


def test_few_distinct_targets_are_learned_exactly():
    X = np.repeat(np.arange(4.0), 50)[:, None]
    y = np.array([1.0, -3.0, 2.5, 0.0])[X[:, 0].astype(int)]
    trees = CardTreeRows(CARD, X).grower(y, np.ones(200), replace(LARGE_TREES, rate=1.0), 0, FastestThreads(1)).grow(1)
    np.testing.assert_allclose(trees.predict(X), y, atol=1e-12)
    peer = HistGradientBoostingRegressor(max_iter=1, learning_rate=1.0, min_samples_leaf=20).fit(X, y)
    np.testing.assert_allclose(trees.predict(X), peer.predict(X), atol=1e-6)
