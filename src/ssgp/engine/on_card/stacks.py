"""Leaves of unequal numbers of rows as stacks of equal shape, on a card, where only their ends are sent."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ssgp._utils.arrays import Indices
from ssgp.engine.on_card.backend import Tensor, torch
from ssgp.engine.on_card.cards import Card
from ssgp.engine.stacks import stacks_alike

__all__ = ["CardStack", "stack_leaves"]

# Sizes that leaves are padded to, between two powers of two: few stacks take less time than fillers do.
SIZES_PER_OCTAVE = 4


@dataclass(frozen=True)
class CardStack:
    """f leaves, all padded to n rows.

    Attributes
    ----------
    leaves : int tensor of shape (f,)
        Numbers of the leaves, each at most once.
    rows : int tensor of shape (f, n)
        Numbers of their rows; fillers repeat row 0.
    inside : bool tensor of shape (f, n)
        Which of them are rows and not fillers.
    """

    leaves: Tensor
    rows: Tensor
    inside: Tensor

    def take(self, values: Tensor) -> Tensor:
        """Values of all rows (N, ...), as a stack of shape (f, n, ...), zero for fillers."""
        stacked = values[self.rows]
        return torch.where(self.inside.reshape(*self.inside.shape, *[1] * (values.ndim - 1)), stacked, 0.0)


def stack_leaves(card: Card, starts: Indices, stops: Indices, most_rows: int) -> Iterator[CardStack]:
    """Stack leaves of about equal size, whose rows start and stop there (p,); leaves without rows are left out.

    A leaf of more than `most_rows` rows is cut into several stacks.
    """
    alike = np.zeros(len(starts), np.int64)
    for leaves, first, last, size in stacks_alike(starts, stops, 1, alike, most_rows, SIZES_PER_OCTAVE):
        ends = card.send(np.concatenate([first, last], axis=1))
        rows = ends[:, :1] + torch.arange(size, device=ends.device)
        inside = rows < ends[:, 1:]
        yield CardStack(card.send(leaves), torch.where(inside, rows, 0), inside)
