"""A card as what fits a forest and predicts."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from ssgp._utils.arrays import Array
from ssgp.engine.on_card.cards import Card
from ssgp.engine.on_card.given import rows_given_on
from ssgp.engine.workers import ProcessWorkers, Workers
from ssgp.forest.boosted_trees import BinnedRows, TreeRows
from ssgp.forest.calibrating import Density, Likelihood, LikelihoodPart
from ssgp.forest.calibration import Components
from ssgp.forest.card_boosting import CardTreeRows
from ssgp.forest.card_calibrating import density_on_card
from ssgp.forest.card_forest import all_components
from ssgp.forest.card_nodes import fit_tree
from ssgp.forest.card_predictor import CardPredictor
from ssgp.forest.fitted import FittedForest
from ssgp.forest.nodes import LeaveOneOut
from ssgp.forest.tree import SpectralTree, TreeSkeleton
from ssgp.rows.bisecting_tree import Partitioner
from ssgp.rows.card_partitioner import CardPartitioner
from ssgp.rows.card_tables import rows_on_card
from ssgp.rows.row_tables import RowTable
from ssgp.spectrum.card_objective import CardObjective
from ssgp.spectrum.objectives import LocalObjective, Objective

__all__ = ["CardMachine"]

T = TypeVar("T")

# Boosted trees of fewer rows are grown sooner by the processor.
LEAST_BOOSTED_ROWS = 100_000


@dataclass(frozen=True)
class CardMachine:
    """A card, by PyTorch: see `ssgp.forest.machines.Machine`."""

    card: Card
    has_threads: bool = False

    @property
    def partitioner(self) -> Partitioner:
        """What grows trees."""
        return CardPartitioner(self.card)

    def run(self, work: Callable[[], T]) -> T:
        """What a function returns that fits; where the card is full, nothing that it held stays there."""
        return self.card.run(work)

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

    def components(self, trees: tuple[SpectralTree, ...], X: Array, n_jobs: int | None) -> Components:
        """Predictions of all levels of trees for standardised rows X (n, d), shape (T levels, n)."""
        return all_components(self.card, trees, X)

    def bin_rows(self, X: Array) -> TreeRows:
        """Rows X (n, d) in bins, on the card if they are many."""
        return CardTreeRows(self.card, X) if len(X) >= LEAST_BOOSTED_ROWS else BinnedRows.of(X)

    def density(self, likelihood: Likelihood, parts: Sequence[LikelihoodPart]) -> Density:
        """The mean log density of some held-out rows, as a function of a calibration's free numbers."""
        return density_on_card(self.card, likelihood, parts)

    def predictor(self, fitted: FittedForest, n_jobs: int | None) -> CardPredictor:
        """What predicts by a fitted forest."""
        return CardPredictor(self.card, fitted, n_jobs)

    def own_rows(self, X: Any, n_inputs: int) -> Any:  # noqa: ANN401
        """Rows of so many inputs that a user has on the card, which are not copied; None for others."""
        return rows_given_on(self.card, X, n_inputs)
