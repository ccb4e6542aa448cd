"""The way of rows from the root of a tree of hyperplanes to their leaves."""

import numpy as np

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.wide import fewer_if_wide
from ssgp.engine.tiles import product_in_tiles

__all__ = ["descend", "rows_at_once"]

# Rows that go down together, so that they stay in the cache.
ROWS_AT_ONCE = 16384
# One product with the hyperplanes of so many levels is cheaper than one for each row's node,
PRODUCT_LEVELS = 5
# in products of so many rows.
TILE_ROWS = 64


def rows_at_once(n_inputs: int) -> int:
    """Rows of so many inputs that go down together."""
    return fewer_if_wide(ROWS_AT_ONCE, n_inputs, multiple_of=TILE_ROWS)


def descend(X: Array, directions: Array, thresholds: Array, children: Indices) -> Indices:
    """Leaf of each row, shape (n,).

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.
    directions, thresholds : arrays of shape (p - 1, d) and (p - 1,)
        Hyperplanes of the nodes, numbered level by level; a row goes right where its projection reaches the threshold.
        Leaves are at the last two depths.
    children : int array of shape (p - 1, 2)
        Left and right child: a node's number, or ``-1 - k`` for leaf k.
    """
    at = np.full(len(X), 0 if len(thresholds) else -1)
    at_once = rows_at_once(X.shape[1])
    for start in range(0, len(X), at_once):
        part = slice(start, start + at_once)
        _descend(X[part], at[part], directions, thresholds, children)
    return -1 - at


def _descend(X: Array, at: Indices, directions: Array, thresholds: Array, children: Indices) -> None:
    """Take rows from the root to their leaves; `at` ends at -1 - leaf."""

    def side(rows: Array, node: Indices) -> Mask:
        # Numbers are in range; telling NumPy so halves the time.
        projection = np.einsum("ij,ij->i", rows, directions.take(node, axis=0, mode="clip"))
        return projection >= thresholds.take(node, mode="clip")

    def child(node: Indices, right: Mask) -> Indices:
        return children.ravel()[2 * node + right]

    # Above the last two depths the children of node k are 2k + 1 and 2k + 2.
    n_full = (len(thresholds) + 1).bit_length() - 1
    n_regular = max(0, n_full - 1)
    n_top = min(n_regular, PRODUCT_LEVELS)
    top = slice(0, 2**n_top - 1)
    sides = (product_in_tiles(X, directions[top].T, TILE_ROWS) >= thresholds[top]).ravel()
    first = np.arange(len(X)) * top.stop
    for _ in range(n_top):
        _go_down(at, sides.take(first + at, mode="clip"))
    for _ in range(n_regular - n_top):
        _go_down(at, side(X, at))
    for _ in range(n_full - n_regular):
        at[:] = child(at, side(X, at))
    moving = np.flatnonzero(at >= 0)
    at[moving] = child(at[moving], side(X[moving], at[moving]))


def _go_down(at: Indices, right: Mask) -> None:
    """From nodes to their children, in place, where all of a level's nodes have two."""
    at *= 2
    at += 1
    at += right
