"""What a forest is fitted by: the processor's threads and processes, or a card. All that differs is asked of these."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Literal, Protocol

from ssgp.engine.on_card.cards import find_card
from ssgp.engine.workers import ProcessWorkers, Workers
from ssgp.forest.nodes import LeaveOneOut, fit_tree, fit_trees
from ssgp.forest.tree import SpectralTree, TreeSkeleton
from ssgp.rows.bisecting_tree import HOST, Partitioner
from ssgp.rows.row_tables import MemoryTable, RowTable
from ssgp.spectrum.objectives import LocalObjective, Objective

__all__ = ["Machine", "Processor", "find_machine"]


class Machine(Protocol):
    """Does what takes long in a fit.

    Attributes
    ----------
    has_threads : bool
        Whether its work is shared out to threads and processes.
    partitioner : Partitioner
        What grows trees.
    """

    @property
    def has_threads(self) -> bool: ...  # noqa: D102

    @property
    def partitioner(self) -> Partitioner: ...  # noqa: D102

    def at_work(self) -> AbstractContextManager[None]:
        """Context of a fit."""
        ...

    def objective(self, local: LocalObjective, n_frequencies: int, n_inputs: int) -> Objective:
        """The same objective, computed by the machine, for so many frequencies and inputs."""
        ...

    def holding(self, table: RowTable, processes: ProcessWorkers | None) -> AbstractContextManager[RowTable]:
        """Context with the same table where the machine, or the processes, find it."""
        ...

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
        """Trees of these skeletons, and errors of rows left out of them: see `ssgp.forest.nodes`."""
        ...


@dataclass(frozen=True)
class Processor:
    """The processor, by NumPy."""

    has_threads: bool = True
    partitioner: Partitioner = HOST

    def at_work(self) -> AbstractContextManager[None]:
        """Context of a fit."""
        return nullcontext()

    def objective(self, local: LocalObjective, n_frequencies: int, n_inputs: int) -> Objective:
        """The objective itself."""
        return local

    @contextmanager
    def holding(self, table: RowTable, processes: ProcessWorkers | None) -> Iterator[RowTable]:
        """Context with the same table where the processes find it."""
        if processes is None or not isinstance(table, MemoryTable):
            yield table
            return
        with table.shared() as shared:
            yield shared

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
        """Trees of these skeletons, together if there are several, which are of a table in memory."""
        if len(skeletons) > 1:
            assert isinstance(table, MemoryTable)
            return fit_trees(table, skeletons, ridge, n_sketches, shrink, leave_out)
        return [
            fit_tree(table, skeleton, ridge, n_sketches, shrink, own, workers)
            for skeleton, own in zip(skeletons, leave_out, strict=True)
        ]


@cache
def find_machine(device: str) -> Machine:
    """The machine that the setting `device` names; PyTorch is imported where that is a card."""
    card = find_card(device)
    if card is None:
        return Processor()
    from ssgp.forest.card_machine import CardMachine

    return CardMachine(card)
