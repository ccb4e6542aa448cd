"""Leaves of unequal numbers of rows as stacks of equal shape, which arithmetic works on at once."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ssgp._utils.arrays import Array, Indices, Mask

__all__ = ["LeafStack", "padded_size", "stack_leaves", "stacks_alike"]

# Sizes between two powers of two that leaves are padded to: at most a sixteenth of the rows are fillers. Small leaves
# are padded to multiples of four, since there the number of stacks counts and not that of rows; unless there are
# many in a family, whose rows count together.
SIZES_PER_OCTAVE = 16
LEAST_STEP, LEAST_STEP_FROM = 4, 16
LARGE_FAMILY = 16


@dataclass(frozen=True)
class LeafStack:
    """Leaves in f families of l neighbours, all padded to n rows.

    Attributes
    ----------
    families : int array of shape (f,)
        Numbers of the families, each at most once.
    rows : int array of shape (f, l, n)
        Numbers of the leaves' rows; fillers repeat row 0.
    inside : bool array of shape (f, l, n)
        Which of them are rows and not fillers.
    """

    families: Indices
    rows: Indices
    inside: Mask

    def take(self, values: Array) -> Array:
        """Values of all rows, shape (N, ...), as a stack of shape (f, l, n, ...), zero for fillers."""
        stacked = values[self.rows]
        stacked[~self.inside] = 0.0
        return stacked


def padded_size(n_rows: Indices, least_step: int = LEAST_STEP, per_octave: int = SIZES_PER_OCTAVE) -> Indices:
    """Number of rows that each leaf is padded to, small ones to multiples of `least_step`.

    It depends on the leaf alone, and so does the rounding of what is computed from its rows: it is the same whatever
    leaves are stacked with it.

    Examples
    --------
    >>> import numpy as np
    >>> padded_size(np.array([0, 1, 20, 31, 33, 100, 1000])).tolist()
    [0, 1, 20, 32, 36, 100, 1024]
    """
    octave = np.frexp(n_rows.astype(float))[1] - 1
    step = 2 ** np.maximum(octave - per_octave.bit_length() + 1, 0)
    step = np.where(n_rows < LEAST_STEP_FROM, step, np.maximum(step, least_step))
    return -(-n_rows // step) * step


def stack_leaves(
    starts: Indices, stops: Indices, leaves_per_family: int, kinds: Indices, most_rows: int
) -> Iterator[LeafStack]:
    """Stack leaves of about equal size; leaves without rows are left out.

    Parameters
    ----------
    starts, stops : int arrays of shape (p,)
        Rows at which the leaves begin and end.
    leaves_per_family : int
        l: neighbours that are padded to the largest of them and stay together.
    kinds : int array of shape (p / l,)
        Only families of one kind share a stack.
    most_rows : int
        Rows of a stack, fillers included. A leaf of more rows, in a family of its own, is cut into several stacks.
    """
    for families, begin, end, size in stacks_alike(starts, stops, leaves_per_family, kinds, most_rows):
        rows = begin[:, :, None] + np.arange(size)
        inside = rows < end[:, :, None]
        yield LeafStack(families, np.where(inside, rows, 0), inside)


def stacks_alike(
    starts: Indices,
    stops: Indices,
    leaves_per_family: int,
    kinds: Indices,
    most_rows: int,
    per_octave: int = SIZES_PER_OCTAVE,
) -> Iterator[tuple[Indices, Indices, Indices, int]]:
    """Families (f,) of each stack, where their leaves' rows start and stop (f, l), and what these are padded to.

    Parameters are those of `stack_leaves`, and how many sizes there are between two powers of two.
    """
    if leaves_per_family == 1:
        starts, stops, families = _cut(starts, stops, most_rows)
    else:
        families = np.arange(len(starts) // leaves_per_family)
    starts, stops = starts.reshape(-1, leaves_per_family), stops.reshape(-1, leaves_per_family)
    least_step = LEAST_STEP if leaves_per_family < LARGE_FAMILY else 1
    sizes = padded_size((stops - starts).max(axis=1), least_step, per_octave)
    keys, which = np.unique(np.stack([sizes, kinds[families]]), axis=1, return_inverse=True)
    for key, size in enumerate(keys[0].tolist()):
        alike = np.flatnonzero(which.ravel() == key) if size else np.empty(0, np.int64)
        together = max(1, most_rows // max(1, size * leaves_per_family))
        for first in range(0, len(alike), together):
            part = alike[first : first + together]
            yield families[part], starts[part], stops[part], size


def _cut(starts: Indices, stops: Indices, most_rows: int) -> tuple[Indices, Indices, Indices]:
    """Leaves in pieces of at most so many rows, and the numbers of the leaves they belong to."""
    n_pieces = np.maximum(1, -(-(stops - starts) // most_rows))
    leaf = np.repeat(np.arange(len(starts)), n_pieces)
    piece = np.arange(len(leaf)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
    begin = starts[leaf] + piece * most_rows
    return begin, np.minimum(begin + most_rows, stops[leaf]), leaf
