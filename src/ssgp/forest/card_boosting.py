"""Boosted trees of many rows, grown on a card."""

from collections.abc import Sequence

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.engine.on_card.boosting import CardBooster
from ssgp.engine.on_card.cards import Card
from ssgp.engine.threads import FastestThreads
from ssgp.forest.boosted_trees import BoostedTrees, Growth, bin_edges, with_edges

__all__ = ["CardTreeRows"]


class CardTreeRows:
    """Rows X (n, d) that trees are grown on by a card: see `ssgp.forest.boosted_trees.TreeRows`."""

    def __init__(self, card: Card, X: Array) -> None:
        self._card, self._X, self._edges = card, X, bin_edges(X)

    def grower(
        self, y: Array, weight: Array, growth: Growth, seed: int, threads: FastestThreads, n_inputs: int | None = None
    ) -> "CardGrower":
        """What grows trees on the card; nothing of it is random."""
        edges = self._edges[:n_inputs]
        booster = CardBooster(self._card, self._X[:, :n_inputs], edges, y, weight, growth.rate)
        return CardGrower(booster, growth, edges)


class CardGrower:
    """Grows trees on a card, see `ssgp.forest.boosted_trees.TreeGrower`."""

    def __init__(self, booster: CardBooster, growth: Growth, edges: Sequence[Array]) -> None:
        self._booster, self._growth, self._edges = booster, growth, edges

    def grow(self, n_trees: int) -> BoostedTrees:
        """So many trees, with those that were grown before."""
        for last, size in self._growth.sizes(len(self._booster.trees), n_trees):
            self._booster.grow(last, size)
        trees = self._booster.trees
        by_bin = BoostedTrees(
            bounds=np.cumsum([0, *(len(tree.feature) for tree in trees)]),
            feature=np.concatenate([tree.feature for tree in trees]),
            number=np.concatenate([tree.number for tree in trees]),
            children=np.concatenate([tree.children for tree in trees]),
            baseline=self._booster.baseline,
            n_inputs=len(self._edges),
        )
        return with_edges(by_bin, self._edges)
