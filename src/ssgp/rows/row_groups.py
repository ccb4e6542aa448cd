"""Rows that belong together, and which of them are held out: a group is on one side of every hold-out."""

from math import ceil

import numpy as np
from numpy.typing import NDArray

from ssgp._utils.arrays import Indices

__all__ = ["folds_of_groups", "folds_of_rows"]

# How far errors vary between groups is told by so many of them, unless these are a tenth of the rows.
LEAST_GROUPS = 20
LEAST_SHARE = 0.1
# No fold leaves trees with less than half of the rows.
MOST_SHARE = 0.5
# Of a table of at most so many rows, groups are held out until there are so many, in so many folds at most.
FEW_ROWS = 50_000
ENOUGH_GROUPS = 500
MOST_FOLDS = 3


def folds_of_rows(n_rows: int, n_folds: int, n_held_out: int) -> list[Indices]:
    """Numbers of the rows of each fold of rows in random order: the last rows, then those before them."""
    ends = [n_rows - number * n_held_out for number in range(n_folds)]
    return [np.arange(end - n_held_out, end) for end in ends]


def folds_of_groups(groups: NDArray[np.integer], n_folds: int, n_held_out: int) -> list[Indices]:
    """Numbers of the rows of each fold, of whole groups.

    Parameters
    ----------
    groups : int array of shape (n,)
        Groups of rows in random order.
    n_folds, n_held_out : int
        Folds, and rows in each, as they would be of rows that do not belong together. There may be more of both.
    """
    # By their first appearance, so that it does not matter what they are called.
    _, first, which, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    which, sizes = np.argsort(order)[which], sizes[order]
    # A random order that does not depend on the sizes: that of the first rows would have large groups early.
    order = np.random.default_rng(len(sizes)).permutation(len(sizes))
    folds = [_next_fold(order, sizes, 0, n_held_out)]
    if len(groups) <= FEW_ROWS:
        n_folds = max(n_folds, min(MOST_FOLDS, ceil(ENOUGH_GROUPS / max(1, len(folds[0][0])))))
    while len(folds) < n_folds and folds[-1][1] < len(order):
        folds.append(_next_fold(order, sizes, folds[-1][1], n_held_out))
    if not len(folds[0][0]):
        raise ValueError("all rows to learn from are of one group: rows of others are needed to hold out")
    return [np.flatnonzero(np.isin(which, members)) for members, _ in folds if len(members)]


def _next_fold(order: Indices, sizes: Indices, start: int, n_held_out: int) -> tuple[Indices, int]:
    """Groups of a fold, from a place in the order on, and the place after them; none of more than half the rows."""
    n_rows, members, place, total = int(sizes.sum()), list[int](), start, 0
    while place < len(order) and not (
        total >= n_held_out and (len(members) >= LEAST_GROUPS or total >= LEAST_SHARE * n_rows)
    ):
        group = int(order[place])
        if total + sizes[group] <= MOST_SHARE * n_rows:
            members.append(group)
            total += int(sizes[group])
        place += 1
    return np.array(members, np.int64), place
