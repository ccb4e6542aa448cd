"""A card as what a forest is fitted by."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Literal

from ssgp.engine.on_card.cards import Card
from ssgp.engine.workers import ProcessWorkers, Workers
from ssgp.forest.card_nodes import fit_tree
from ssgp.forest.nodes import LeaveOneOut
from ssgp.forest.tree import SpectralTree, TreeSkeleton
from ssgp.rows.bisecting_tree import Partitioner
from ssgp.rows.card_partitioner import CardPartitioner
from ssgp.rows.card_tables import rows_on_card
from ssgp.rows.row_tables import RowTable
from ssgp.spectrum.card_objective import CardObjective
from ssgp.spectrum.objectives import LocalObjective, Objective

__all__ = ["CardMachine"]


@dataclass(frozen=True)
class CardMachine:
    """A card, by PyTorch: see `ssgp.forest.machines.Machine`."""

    card: Card
    has_threads: bool = False

    @property
    def partitioner(self) -> Partitioner:
        """What grows trees."""
        return CardPartitioner(self.card)

    def at_work(self) -> AbstractContextManager[None]:
        """Context of a fit."""
        return self.card.at_work()

    def objective(self, local: LocalObjective, n_frequencies: int, n_inputs: int) -> Objective:
        """The same objective, on the card."""
        return CardObjective(self.card, local, n_frequencies, n_inputs)

    @contextmanager
    def holding(self, table: RowTable, processes: ProcessWorkers | None) -> Iterator[RowTable]:
        """Context with the same table, its rows on the card where they leave room there; nothing of it stays."""
        try:
            yield rows_on_card(self.card, table)
        finally:
            self.card.free()

    def fit_trees(
        self,
        table: RowTable,
        skeletons: Sequence[TreeSkeleton],
        ridge: float,
        n_sketches: int | Literal["exact"],
        shrink: bool,
        leave_out: Sequence[Collection[int]],
        workers: Workers,
    ) -> list[tuple[SpectralTree, LeaveOneOut | None]]:
        """Trees of these skeletons, one after the other."""
        return [
            fit_tree(self.card, table, skeleton, ridge, n_sketches, shrink, own)
            for skeleton, own in zip(skeletons, leave_out, strict=True)
        ]
