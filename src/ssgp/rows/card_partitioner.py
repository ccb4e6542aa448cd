"""Trees of hyperplanes grown on a card."""

from dataclasses import dataclass

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.on_card.cards import Card
from ssgp.engine.on_card.cuts import CardCutter
from ssgp.rows.bisecting_tree import HOST, BisectingTree, Cutter
from ssgp.rows.card_tables import leaves_of_rows

__all__ = ["CardPartitioner"]

# Inputs beyond which a node's widest direction is found sooner by the processor.
MOST_INPUTS = 32


@dataclass(frozen=True)
class CardPartitioner:
    """Grows trees on a card: see `ssgp.rows.bisecting_tree.Partitioner`."""

    card: Card

    def cutter(self, X: Array, y: Array | None, n_trees: int, jitter: float) -> Cutter:
        """What cuts nodes of trees of rows X (n, d), scaled by the metric, with targets (n,)."""
        if X.shape[1] > MOST_INPUTS:
            return HOST.cutter(X, y, n_trees, jitter)
        return CardCutter(self.card, X, y, n_trees, jitter)

    def leaves(self, tree: BisectingTree, X: Array) -> Indices:
        """Leaf of each of rows X (n, d), shape (n,)."""
        return self.card.fetch(leaves_of_rows(self.card, tree, self.card.send(X)))
