"""The way of rows from the root of a tree of hyperplanes to their leaves, in several trees of one shape at once."""

import numpy as np

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.wide import fewer_if_wide
from ssgp.engine.tiles import TILE_ROWS, product_in_tiles

__all__ = ["descend", "rows_at_once"]

# Rows that go down together, times trees, so that they stay in the cache;
ROWS_AT_ONCE = 16384
# but of few inputs so many, with so many numbers in all trees: threads wait for each other between short steps.
ROWS_OF_FEW_INPUTS = 16384
NUMBERS_AT_ONCE = 1 << 20
# One product with the hyperplanes of so many levels is cheaper than one for each row's node.
PRODUCT_LEVELS = 5


def rows_at_once(n_inputs: int) -> int:
    """Rows of so many inputs that go down together."""
    return fewer_if_wide(ROWS_AT_ONCE, n_inputs, multiple_of=TILE_ROWS)


def descend(X: Array, directions: Array, thresholds: Array, children: Indices) -> Indices:
    """Leaf of each row in each tree, shape (T, n).

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.
    directions, thresholds : arrays of shape (T, p - 1, d) and (T, p - 1)
        Hyperplanes of the nodes, numbered level by level; a row goes right where its projection reaches the threshold.
        Leaves are at the last two depths.
    children : int array of shape (p - 1, 2)
        Left and right child, alike in all trees: a node's number, or ``-1 - k`` for leaf k.
    """
    n_trees, n_nodes = thresholds.shape
    leaf = np.zeros((n_trees, len(X)), np.intp)
    at_once = _rows_in_trees(n_trees, X.shape[1])
    for start in range(0, len(X) if n_nodes else 0, at_once):
        part = slice(start, start + at_once)
        leaf[:, part] = _descend(X[part], directions, thresholds, children)
    return leaf


def _rows_in_trees(n_trees: int, n_inputs: int) -> int:
    """Rows of so many inputs that go down so many trees together."""
    of_few_inputs = min(ROWS_OF_FEW_INPUTS, NUMBERS_AT_ONCE // (n_trees * n_inputs))
    return max(TILE_ROWS, rows_at_once(n_inputs) // n_trees, of_few_inputs)


def _descend(X: Array, directions: Array, thresholds: Array, children: Indices) -> Indices:
    """Leaves of some rows in trees that have nodes, shape (T, n)."""
    n_trees, n_nodes = thresholds.shape
    root = n_nodes * np.arange(n_trees)[:, None]
    planes = directions.reshape(n_trees * n_nodes, -1), thresholds.ravel()
    n_full = (n_nodes + 1).bit_length() - 1
    alike = n_nodes + 1 == 2**n_full
    # So far down, children of node k are 2k + 1 and 2k + 2: also leaves, counted on from the nodes, if all are alike.
    n_regular = n_full if alike else n_full - 1
    n_top = min(n_regular, PRODUCT_LEVELS)
    at = _below_top(X, directions[:, : 2**n_top - 1], thresholds[:, : 2**n_top - 1], n_top)
    for _ in range(n_regular - n_top):
        _go_down(at, _sides(X, at + root, *planes))
    if alike:
        return at - n_nodes
    at = children.ravel()[2 * at + _sides(X, at + root, *planes)]
    tree, row = np.nonzero(at >= 0)
    moving = at[tree, row]
    right = _sides(X[row], (moving + root[tree, 0])[None], *planes)[0]
    at[tree, row] = children.ravel()[2 * moving + right]
    return -1 - at


def _below_top(X: Array, directions: Array, thresholds: Array, n_levels: int) -> Indices:
    """Nodes (T, n) that rows reach below the first levels, whose hyperplanes (T, k, d) all of them are held against."""
    n_trees, n_planes = thresholds.shape
    at = np.zeros((n_trees, len(X)), np.intp)
    if n_levels:
        sides = _sides_of_all(X, directions, thresholds).ravel()
        first = n_planes * np.arange(at.size).reshape(at.shape)
        for _ in range(n_levels):
            _go_down(at, sides.take(first + at, mode="clip"))
    return at


def _sides_of_all(X: Array, directions: Array, thresholds: Array) -> Mask:
    """On which side of hyperplanes (T, k, d) each of n rows is, shape (T, n, k): for so many trees at once as fit."""
    n_trees, n_planes = thresholds.shape
    sides = np.empty((n_trees, len(X), n_planes), bool)
    at_once = max(1, NUMBERS_AT_ONCE // (len(X) * n_planes))
    for start in range(0, n_trees, at_once):
        trees = slice(start, start + at_once)
        products = product_in_tiles(X, directions[trees].transpose(0, 2, 1))
        np.greater_equal(products, thresholds[trees, None], out=sides[trees])
    return sides


def _sides(X: Array, node: Indices, directions: Array, thresholds: Array) -> Mask:
    """Whether rows go right at nodes (T, n), numbered through all trees."""
    # Numbers are in range; telling NumPy so halves the time.
    projection = np.einsum("nd,tnd->tn", X, directions.take(node, axis=0, mode="clip"))
    return projection >= thresholds.take(node, mode="clip")


def _go_down(at: Indices, right: Mask) -> None:
    """From nodes to their children, in place, where all of a level's nodes have two."""
    at *= 2
    at += 1
    at += right
