"""Balanced trees of hyperplanes, whose leaves hold nearly equal numbers of training rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.wide import fewer_if_wide
from ssgp.engine.cuts import cut_directions
from ssgp.engine.descent import descend
from ssgp.saving.contents import array
from ssgp.saving.kinds import stored

__all__ = ["HOST", "BisectingTree", "Cutter", "Partitioner", "grow_tree", "grow_trees"]

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


class Cutter(Protocol):
    """Cuts nodes of trees in two, and keeps the order that brings rows of a node together."""

    @property
    def order(self) -> Indices:
        """Numbers of the rows, node after node and tree after tree."""
        ...

    def cut(self, begin: Indices, size: int, n_left: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Normals (k, d) and offsets (k,) that cut nodes of so many rows, which begin there in the order (k,)."""
        ...


class Partitioner(Protocol):
    """What grows trees, and finds the leaves of rows."""

    def cutter(self, X: Array, y: Array | None, n_trees: int, jitter: float) -> Cutter:
        """What cuts nodes of trees of rows X (n, d), scaled by the metric, with targets (n,)."""
        ...

    def leaves(self, tree: BisectingTree, X: Array) -> Indices:
        """Leaf of each of rows X (n, d), shape (n,)."""
        ...


class HostCutter:
    """Cuts nodes some at a time, by NumPy.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows, scaled by the metric.
    y : array of shape (n,) or None
        Their targets, by which cuts are chosen.
    n_trees : int
        Trees that are grown together.
    jitter : float
        See `cut_directions`.
    """

    def __init__(self, X: Array, y: Array | None, n_trees: int, jitter: float) -> None:
        self._X, self._y, self._jitter = X, y, jitter
        self._stacked_rows = fewer_if_wide(STACKED_ROWS * min(n_trees, MOST_STACKED_TREES), X.shape[1])
        self.order = np.tile(np.arange(len(X)), n_trees)

    def cut(self, begin: Indices, size: int, n_left: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Normals (k, d) and offsets (k,) that cut nodes of so many rows, which begin there in the order (k,)."""
        together = max(1, self._stacked_rows // size)
        parts = [self._cut(begin[i : i + together], size, n_left, rng) for i in range(0, len(begin), together)]
        directions, thresholds = (np.concatenate(column) for column in zip(*parts, strict=True))
        return directions, thresholds

    def _cut(self, begin: Indices, size: int, n_left: int, rng: np.random.Generator) -> tuple[Array, Array]:
        rows = begin[:, None] + np.arange(size)
        indices = self.order[rows]
        inputs = self._X[indices]
        direction = cut_directions(inputs, None if self._y is None else self._y[indices], rng, self._jitter)
        projection = np.matmul(inputs, direction[:, :, None])[:, :, 0]
        split = np.argpartition(projection, [n_left - 1, n_left], axis=1)
        self.order[rows] = np.take_along_axis(indices, split, axis=1)
        return direction, _between(*np.take_along_axis(projection, split[:, [n_left - 1, n_left]], axis=1).T)


class HostPartitioner:
    """Grows trees by NumPy."""

    def cutter(self, X: Array, y: Array | None, n_trees: int, jitter: float) -> Cutter:
        """What cuts nodes of trees of rows X (n, d), scaled by the metric, with targets (n,)."""
        return HostCutter(X, y, n_trees, jitter)

    def leaves(self, tree: BisectingTree, X: Array) -> Indices:
        """Leaf of each of rows X (n, d), shape (n,)."""
        return tree.assign(X)


HOST = HostPartitioner()


def grow_tree(
    X: Array,
    n_blocks: int,
    rng: np.random.Generator,
    metric: Array,
    jitter: float = 0.0,
    target: Array | None = None,
    partitioner: Partitioner | None = None,
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
    (tree,), (order,) = _grow(X, n_blocks, 1, rng, metric, jitter, target, partitioner or HOST)
    labels = np.empty(len(X), dtype=np.int64)
    labels[order] = np.repeat(np.arange(n_blocks), np.diff(_first_rows(len(X), n_blocks)))
    return tree, labels


def grow_trees(
    X: Array,
    n_blocks: int,
    n_trees: int,
    rng: np.random.Generator,
    metric: Array,
    jitter: float,
    target: Array,
    partitioner: Partitioner | None = None,
) -> list[BisectingTree]:
    """So many trees as `grow_tree` grows them, all nodes of a level at once: much faster for small tables."""
    return _grow(X, n_blocks, n_trees, rng, metric, jitter, target, partitioner or HOST)[0]


def _grow(
    X: Array,
    n_blocks: int,
    n_trees: int,
    rng: np.random.Generator,
    metric: Array,
    jitter: float,
    target: Array | None,
    partitioner: Partitioner,
) -> tuple[list[BisectingTree], Indices]:
    """Trees, and for each the order that sorts the rows by block, shape (T, n)."""
    (n_rows, n_inputs), n_nodes = X.shape, n_blocks - 1
    cutter = partitioner.cutter((X * metric).astype(X.dtype, copy=False), target, n_trees, jitter)
    # Nodes of one tree after those of another, and so are their rows.
    directions = np.zeros((n_trees * n_nodes, n_inputs), dtype=X.dtype)
    thresholds = np.zeros(n_trees * n_nodes, dtype=X.dtype)
    blocks, children = _layout(n_blocks)
    tree = np.arange(n_trees)
    bounds = (_first_rows(n_rows, n_blocks)[blocks] + n_rows * tree[:, None, None]).reshape(-1, 3)
    level = np.arange(min(1, n_nodes))
    while len(level):
        for nodes, size, n_left in _alike((n_nodes * tree[:, None] + level).ravel(), bounds):
            direction, thresholds[nodes] = cutter.cut(bounds[nodes, 0], size, n_left, rng)
            directions[nodes] = direction * metric
        level = children[level].ravel()
        level = level[level >= 0]
    by_tree = zip(np.split(directions, n_trees), np.split(thresholds, n_trees), strict=True)
    return [BisectingTree(*planes, children.copy()) for planes in by_tree], cutter.order.reshape(n_trees, n_rows)


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


def _alike(level: Indices, bounds: Indices) -> Iterator[tuple[Indices, int, int]]:
    """Nodes of a level with equally many rows, cut at the same one: nodes, their size and the rows to the left.

    `bounds` (p - 1, 3) has the rows at which each node begins, is cut and ends.
    """
    begin, middle, end = bounds[level].T
    shapes, which = np.unique(np.stack([end - begin, middle - begin], axis=1), axis=0, return_inverse=True)
    for k, (size, cut) in enumerate(shapes.tolist()):
        yield level[which.ravel() == k], size, cut


def _between(left: Array, right: Array) -> Array:
    """Thresholds between two projections, at the right one if there is none: reaching it means right."""
    middle = 0.5 * (left + right)
    return np.where(middle > left, middle, right)
