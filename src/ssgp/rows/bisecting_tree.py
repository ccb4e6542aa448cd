"""Balanced trees of hyperplanes, whose leaves hold nearly equal numbers of training rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.wide import fewer_if_wide
from ssgp.engine.cuts import cut_directions
from ssgp.engine.descent import descend
from ssgp.saving.contents import array
from ssgp.saving.kinds import stored

__all__ = ["BisectingTree", "grow_tree", "grow_trees"]

# Nodes of a level are cut together, so many rows at a time,
STACKED_ROWS = 4096
# for each of at most so many trees that are grown together.
MOST_STACKED_TREES = 4


def _check_children(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
    """The descent does not look where it goes: the children have to be those of a tree of so many blocks."""
    n_blocks = len(parts.thresholds) + 1
    yield bool((parts.children == _layout(n_blocks)[1]).all()), "children must be those of a balanced tree"


@stored(
    {
        "directions": array(("float32", "float64"), "nodes", "d"),
        "thresholds": array(("float32", "float64"), "nodes"),
        "children": array("int64", "nodes", 2),
    },
    relations=_check_children,
)
@dataclass(frozen=True)
class BisectingTree:
    """A binary tree of hyperplanes; a row goes right where its projection reaches the threshold.

    Attributes
    ----------
    directions : array of shape (p - 1, d)
        Normals of the hyperplanes, in the standardised inputs (the metric folded in).
    thresholds : array of shape (p - 1,)
        Their offsets.
    children : int array of shape (p - 1, 2)
        Left and right child: a node's number, or ``-1 - k`` for block k. Nodes are numbered level by level.
    """

    directions: Array
    thresholds: Array
    children: Indices

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.thresholds) + 1

    def assign(self, X: Array) -> Indices:
        """Block of each row of standardised inputs (n, d), shape (n,)."""
        return descend(X, self.directions[None], self.thresholds[None], self.children)[0]

    def coarser(self, n_blocks: int) -> "BisectingTree":
        """The tree cut off where it has so many blocks, both numbers powers of two."""
        return BisectingTree(self.directions[: n_blocks - 1], self.thresholds[: n_blocks - 1], _layout(n_blocks)[1])


def grow_tree(
    X: Array,
    n_blocks: int,
    rng: np.random.Generator,
    metric: Array,
    jitter: float = 0.0,
    target: Array | None = None,
) -> tuple[BisectingTree, Indices]:
    """Bisect the rows along the direction in which they differ most, until there are `n_blocks` blocks.

    Blocks differ by at most one row; the time is n log p. With `jitter` a random vector of so much
    the direction's length is added to it: another tree for every seed. With a `target` (n,) two
    of the inputs, drawn anew for each cut, compete with that direction: the cut is made along
    the one for which linear models of the target in the two halves are most probable.

    Returns
    -------
    tree : BisectingTree
        The partition.
    labels : int array of shape (n,)
        Block of each row.
    """
    (tree,), (order,) = _grow(X, n_blocks, 1, rng, metric, jitter, target)
    labels = np.empty(len(X), dtype=np.int64)
    labels[order] = np.repeat(np.arange(n_blocks), np.diff(_first_rows(len(X), n_blocks)))
    return tree, labels


def grow_trees(
    X: Array, n_blocks: int, n_trees: int, rng: np.random.Generator, metric: Array, jitter: float, target: Array
) -> list[BisectingTree]:
    """So many trees as `grow_tree` grows them, all nodes of a level at once: much faster for small tables."""
    return _grow(X, n_blocks, n_trees, rng, metric, jitter, target)[0]


def _grow(
    X: Array,
    n_blocks: int,
    n_trees: int,
    rng: np.random.Generator,
    metric: Array,
    jitter: float,
    target: Array | None,
) -> tuple[list[BisectingTree], Indices]:
    """Trees, and for each the order that sorts the rows by block, shape (T, n)."""
    (n_rows, n_inputs), n_nodes = X.shape, n_blocks - 1
    scaled, order = (X * metric).astype(X.dtype, copy=False), np.tile(np.arange(n_rows), n_trees)
    # Nodes of one tree after those of another, and so are their rows.
    directions = np.zeros((n_trees * n_nodes, n_inputs), dtype=X.dtype)
    thresholds = np.zeros(n_trees * n_nodes, dtype=X.dtype)
    blocks, children = _layout(n_blocks)
    tree = np.arange(n_trees)
    bounds = (_first_rows(n_rows, n_blocks)[blocks] + n_rows * tree[:, None, None]).reshape(-1, 3)
    stacked_rows = fewer_if_wide(STACKED_ROWS * min(n_trees, MOST_STACKED_TREES), n_inputs)
    level = np.arange(min(1, n_nodes))
    while len(level):
        for nodes, size, cut in _alike((n_nodes * tree[:, None] + level).ravel(), bounds, stacked_rows):
            rows = bounds[nodes, :1] + np.arange(size)
            indices = order[rows]
            inputs = scaled[indices]
            direction = cut_directions(inputs, None if target is None else target[indices], rng, jitter)
            projection = np.matmul(inputs, direction[:, :, None])[:, :, 0]
            split = np.argpartition(projection, [cut - 1, cut], axis=1)
            order[rows] = np.take_along_axis(indices, split, axis=1)
            directions[nodes] = direction * metric
            thresholds[nodes] = _between(*np.take_along_axis(projection, split[:, [cut - 1, cut]], axis=1).T)
        level = children[level].ravel()
        level = level[level >= 0]
    by_tree = zip(np.split(directions, n_trees), np.split(thresholds, n_trees), strict=True)
    return [BisectingTree(*planes, children.copy()) for planes in by_tree], order.reshape(n_trees, n_rows)


def _first_rows(n_rows: int, n_blocks: int) -> Indices:
    """Where blocks begin and end."""
    return np.arange(n_blocks + 1) * n_rows // n_blocks


def _layout(n_blocks: int) -> tuple[Indices, Indices]:
    """For every node where its blocks begin, are cut in two and end, shape (p - 1, 3), and the nodes' children."""
    blocks, children = [np.empty((0, 3), np.int64)], [np.empty((0, 2), np.int64)]
    n_above, level = 0, np.array([[0, n_blocks]])[: n_blocks - 1]
    while len(level):
        begin, end = level.T
        middle = (begin + end) // 2
        sides = np.stack([begin, middle, middle, end], axis=1).reshape(-1, 2)
        cut_again = sides[:, 1] - sides[:, 0] > 1
        n_above += len(level)
        node = n_above + np.cumsum(cut_again) - 1
        blocks.append(np.stack([begin, middle, end], axis=1))
        children.append(np.where(cut_again, node, -1 - sides[:, 0]).reshape(-1, 2))
        level = sides[cut_again]
    return np.concatenate(blocks), np.concatenate(children)


def _alike(level: Indices, bounds: Indices, stacked_rows: int) -> Iterator[tuple[Indices, int, int]]:
    """Stacks of nodes of a level with equally many rows, cut at the same one: nodes, their size and the cut.

    `bounds` (p - 1, 3) has the rows at which each node begins, is cut and ends.
    """
    begin, middle, end = bounds[level].T
    shapes, which = np.unique(np.stack([end - begin, middle - begin], axis=1), axis=0, return_inverse=True)
    for k, (size, cut) in enumerate(shapes.tolist()):
        nodes, together = level[which.ravel() == k], max(1, stacked_rows // size)
        for start in range(0, len(nodes), together):
            yield nodes[start : start + together], size, cut


def _between(left: Array, right: Array) -> Array:
    """Thresholds between two projections, at the right one if there is none: reaching it means right."""
    middle = 0.5 * (left + right)
    return np.where(middle > left, middle, right)
