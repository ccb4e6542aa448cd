"""Partitions of the input space into blocks of nearly equal numbers of training rows.

All work on standardised inputs times a `metric`, one factor an input: with the inverse
of the learned lengthscales the blocks follow the function and not the units of the table.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree  # pyright: ignore[reportAttributeAccessIssue]
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin, pairwise_distances_argmin_min
from sklearn.metrics.pairwise import euclidean_distances
from threadpoolctl import threadpool_limits

__all__ = ["BisectingTree", "NearestCentre", "NearestRow", "Partition", "even_kmeans", "grow_tree"]

Array = NDArray[np.floating]
Labels = NDArray[np.integer]

KMEANS_ROWS_PER_BLOCK = 1000
KMEANS_PAIRS = 20_000_000
DIRECTION_ROWS = 512
# Nodes of a level are cut together, so many rows at a time.
STACKED_ROWS = 4096
ASSIGN_ROWS = 16384
# Of a cut that looks at the target: rows below which it does not, inputs that compete, and the
# ridge of the linear models a row.
COMPARED_ROWS = 40
COMPETING_INPUTS = 2
LINEAR_RIDGE = 1e-3
MIN_SIDE_ROWS = 10
PRODUCT_LEVELS = 5
# in products of so many rows.
TILE = 64


class Partition(Protocol):
    """Assigns rows to blocks."""

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        ...

    def assign(self, X: Array) -> Labels:
        """Block of each row of standardised inputs (n, d), shape (n,)."""
        ...


@dataclass(frozen=True)
class NearestCentre:
    """A row belongs to the block whose centre is nearest.

    Attributes
    ----------
    centres : array of shape (p, d + 1)
        Centres of the blocks, in the metric, and the root of what is added to squared distances.
    metric : array of shape (d,)
        Factor of each input.
    """

    centres: Array
    metric: Array

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.centres)

    def assign(self, X: Array) -> Labels:
        """Block of each row."""
        return pairwise_distances_argmin(self.lift(X), self.centres)

    def lift(self, X: Array) -> Array:
        """Rows in the coordinates of the centres."""
        return np.column_stack([X * self.metric, np.zeros(len(X), X.dtype)])


@dataclass(frozen=True)
class NearestRow:
    """A row belongs to the block of the nearest training row: blocks may have any shape.

    Attributes
    ----------
    tree : cKDTree
        The training rows, in the metric.
    labels : int array of shape (n,)
        Their blocks, 0..p-1.
    metric : array of shape (d,)
        Factor of each input.
    """

    tree: cKDTree
    labels: Labels
    metric: Array

    @classmethod
    def fit(cls, X: Array, labels: Labels, metric: Array) -> "NearestRow":
        """Remember the rows of standardised inputs (n, d) and their blocks."""
        return cls(cKDTree(X * metric), labels, metric)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.labels.max()) + 1

    def assign(self, X: Array) -> Labels:
        """Block of each row."""
        return self.labels[self.tree.query(X * self.metric)[1]]


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
    children: Labels

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.thresholds) + 1

    def assign(self, X: Array) -> Labels:
        """Block of each row: one pass a level, some rows at a time so that they stay in the cache."""
        at = np.full(len(X), 0 if len(self.thresholds) else -1)
        for start in range(0, len(X), ASSIGN_ROWS):
            self._descend(X[start : start + ASSIGN_ROWS], at[start : start + ASSIGN_ROWS])
        return -1 - at

    def coarser(self, n_blocks: int) -> "BisectingTree":
        """The tree cut off where it has so many blocks, both numbers powers of two."""
        return BisectingTree(self.directions[: n_blocks - 1], self.thresholds[: n_blocks - 1], _skeleton(n_blocks)[1])

    def _descend(self, X: Array, at: Labels) -> None:
        """Take rows from the root to their blocks; `at` ends at -1 - block."""
        # Leaves are at the last two depths: above them, level by level, the children of node k are 2k + 1 and 2k + 2.
        n_full = self.n_blocks.bit_length() - 1
        n_plain = max(0, n_full - 1)
        # One product with the few hyperplanes near the root is cheaper than finding each row's own.
        n_top = min(n_plain, PRODUCT_LEVELS)
        top = slice(0, 2**n_top - 1)
        sides = (_product(X, self.directions[top]) >= self.thresholds[top]).ravel()
        first = np.arange(len(X)) * top.stop
        for _ in range(n_top):
            _go_down(at, sides.take(first + at, mode="clip"))
        for _ in range(n_plain - n_top):
            _go_down(at, self._side(X, at))
        for _ in range(n_full - n_plain):
            at[:] = self._child(at, self._side(X, at))
        moving = np.flatnonzero(at >= 0)
        at[moving] = self._child(at[moving], self._side(X[moving], at[moving]))

    def _side(self, X: Array, node: Labels) -> NDArray[np.bool_]:
        """Whether rows go right at their nodes."""
        # Numbers are in range; telling NumPy so halves the time.
        projection = np.einsum("ij,ij->i", X, self.directions.take(node, axis=0, mode="clip"))
        return projection >= self.thresholds.take(node, mode="clip")

    def _child(self, node: Labels, right: NDArray[np.bool_]) -> Labels:
        return self.children.ravel()[2 * node + right]


def _product(X: Array, directions: Array) -> Array:
    """X directions^T by products of one shape: which rows come together does not change a row's last digit."""
    n_tiles = -(-len(X) // TILE)
    if len(X) < n_tiles * TILE:
        padded = np.zeros((n_tiles * TILE, X.shape[1]), X.dtype)
        padded[: len(X)] = X
    else:
        padded = np.ascontiguousarray(X)
    products = np.matmul(padded.reshape(n_tiles, TILE, -1), directions.T)
    return products.reshape(n_tiles * TILE, -1)[: len(X)]


def _go_down(at: Labels, right: NDArray[np.bool_]) -> None:
    """From nodes to their children, in place, where all of a level's nodes have two."""
    at *= 2
    at += 1
    at += right


def grow_tree(
    X: Array,
    n_blocks: int,
    rng: np.random.Generator,
    metric: Array,
    jitter: float = 0.0,
    target: Array | None = None,
) -> tuple[BisectingTree, Labels]:
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
    n_rows, n_inputs = X.shape
    scaled, order = (X * metric).astype(X.dtype, copy=False), np.arange(n_rows)
    directions = np.zeros((n_blocks - 1, n_inputs), dtype=X.dtype)
    thresholds = np.zeros(n_blocks - 1, dtype=X.dtype)
    blocks, children = _skeleton(n_blocks)
    first_row = np.arange(n_blocks + 1) * n_rows // n_blocks
    level = np.arange(min(1, n_blocks - 1))
    while len(level):
        for nodes, size, cut in _alike(level, first_row[blocks]):
            rows = first_row[blocks[nodes, :1]] + np.arange(size)
            own = order[rows]
            inside = scaled[own]
            direction = _cut_directions(inside, None if target is None else target[own], rng, jitter)
            projection = np.matmul(inside, direction[:, :, None])[:, :, 0]
            split = np.argpartition(projection, [cut - 1, cut], axis=1)
            order[rows] = np.take_along_axis(own, split, axis=1)
            directions[nodes] = direction * metric
            thresholds[nodes] = _between(*np.take_along_axis(projection, split[:, [cut - 1, cut]], axis=1).T)
        level = children[level].ravel()
        level = level[level >= 0]
    labels = np.empty(n_rows, dtype=np.int64)
    labels[order] = np.repeat(np.arange(n_blocks), np.diff(first_row))
    return BisectingTree(directions, thresholds, children), labels


def _skeleton(n_blocks: int) -> tuple[Labels, Labels]:
    """For every node where its blocks begin, are cut in two and end, shape (p - 1, 3), and the nodes' children."""
    blocks, children = np.empty((n_blocks - 1, 3), np.int64), np.empty((n_blocks - 1, 2), np.int64)
    pending = [(0, n_blocks)] if n_blocks > 1 else []
    for node, (a, b) in enumerate(pending):
        middle = (a + b) // 2
        blocks[node] = a, middle, b
        for side, (lo, hi) in enumerate([(a, middle), (middle, b)]):
            children[node, side] = -1 - lo if hi - lo == 1 else len(pending)
            pending.extend([(lo, hi)] if hi - lo > 1 else [])
    return blocks, children


def _alike(level: Labels, bounds: Labels) -> Iterator[tuple[Labels, int, int]]:
    """Nodes of a level with equally many rows, cut at the same one: some at a time, their size and the cut.

    `bounds` (p - 1, 3) has the rows at which each node begins, is cut and ends.
    """
    begin, middle, end = bounds[level].T
    shapes, which = np.unique(np.stack([end - begin, middle - begin], axis=1), axis=0, return_inverse=True)
    for k, (size, cut) in enumerate(shapes.tolist()):
        nodes, together = level[which.ravel() == k], max(1, STACKED_ROWS // size)
        for start in range(0, len(nodes), together):
            yield nodes[start : start + together], size, cut


def _cut_directions(X: Array, y: Array | None, rng: np.random.Generator, jitter: float) -> Array:
    """Where to cut the rows X (k, n, d) of k nodes, shape (k, d)."""
    n_nodes, n_rows, n_inputs = X.shape
    if n_rows > DIRECTION_ROWS:
        some = rng.integers(0, n_rows, (n_nodes, DIRECTION_ROWS))
        X = np.take_along_axis(X, some[:, :, None], axis=1)
        y = None if y is None else np.take_along_axis(y, some, axis=1)
    widest = _widest_directions(X)
    if jitter:
        widest = widest + (jitter / np.sqrt(n_inputs) * rng.standard_normal(widest.shape)).astype(X.dtype)
    if y is None or X.shape[1] < COMPARED_ROWS:
        return widest
    inputs = np.argsort(rng.random(widest.shape), axis=1)[:, :COMPETING_INPUTS]
    candidates = np.concatenate([widest[:, None], np.eye(n_inputs, dtype=X.dtype)[inputs]], axis=1)
    return candidates[np.arange(n_nodes), np.argmax(_gains(X, y, candidates), axis=1)]


def _gains(X: Array, y: Array, directions: Array) -> Array:
    """Log likelihood of linear models of y in the two halves along each direction, up to a constant.

    Of the rows X (k, n, d) and y (k, n) of k nodes along directions (k, c, d) of their own, shape (k, c).
    """
    n_nodes, n_rows, n_inputs = X.shape
    deviation = X.std(axis=1, keepdims=True)
    joined = np.empty((n_nodes, n_rows, n_inputs + 2))
    joined[:, :, 0], joined[:, :, -1] = 1.0, y
    joined[:, :, 1:-1] = (X - X.mean(axis=1, keepdims=True)) / np.where(deviation > 0, deviation, 1.0)
    projections = directions @ X.swapaxes(1, 2)
    right = projections >= np.median(projections, axis=2, keepdims=True)
    products = joined.swapaxes(1, 2) @ joined
    right_products = (joined[:, None] * right[:, :, :, None]).swapaxes(2, 3) @ joined[:, None]
    sums = np.stack([right_products, products[:, None] - right_products])
    counts = sums[..., 0, 0].copy()
    diagonal = np.einsum("...ii->...i", sums)
    diagonal[..., :-1] += LINEAR_RIDGE * n_rows
    # Enough for the factor to exist where nothing is left of the target.
    diagonal[..., -1] += 1e-9 * n_rows + 1e-12 * products[:, None, -1, -1]
    # The last pivot of [[A, c], [c^T, y^T y]] is the root of the residual sum of squares.
    residual = np.linalg.cholesky(sums)[..., -1, -1] ** 2
    likelihood = -0.5 * counts * np.log(residual / np.maximum(counts, 1.0))
    likelihood[counts < MIN_SIDE_ROWS] = -np.inf
    return likelihood.sum(axis=0)


def _between(left: Array, right: Array) -> Array:
    """Thresholds between two projections, at the right one if there is none: reaching it means right."""
    middle = 0.5 * (left + right)
    return np.where(middle > left, middle, right)


def _widest_directions(X: Array) -> Array:
    """First principal direction of each node's rows (k, n, d), shape (k, d)."""
    centred = X - X.mean(axis=1, keepdims=True)
    return np.linalg.eigh(centred.swapaxes(1, 2) @ centred)[1][:, :, -1]


def even_kmeans(X: Array, n_blocks: int, rng: np.random.Generator, metric: Array) -> tuple[NearestCentre, Labels]:
    """k-means made even: crowded centres raise a price on distance until all hold the same number of rows.

    Sizes differ by at most one row. New rows go to the centre that is nearest with its price.
    """
    scaled = X * metric
    most = min(KMEANS_ROWS_PER_BLOCK * n_blocks, max(n_blocks, KMEANS_PAIRS // n_blocks))
    sample = scaled if len(X) <= most else scaled[rng.choice(len(X), most, replace=False)]
    if len(np.unique(sample, axis=0)) < n_blocks:
        centres = sample[rng.choice(len(sample), n_blocks, replace=False)]
    else:
        seed = int(rng.integers(2**31 - 1))
        kmeans = KMeans(n_blocks, n_init=1, max_iter=50, random_state=seed)  # pyright: ignore[reportArgumentType]
        # Its threads add up centres in the order in which they come.
        with threadpool_limits(1, user_api="openmp"):
            centres = kmeans.fit(sample).cluster_centers_
    partition = NearestCentre(_with_price(centres, _even_prices(sample, centres)), metric)
    return partition, _assign_evenly(partition.lift(X), partition.centres)


def _even_prices(X: Array, centres: Array, n_rounds: int = 200) -> Array:
    """Prices at which each centre is the cheapest for about as many rows as any other."""
    squared = euclidean_distances(X, centres, squared=True).astype(np.float32)
    price, unit = np.zeros(len(centres), np.float32), float(squared.min(axis=1).mean())
    for t in range(n_rounds):
        counts = np.bincount(np.argmin(squared + price, axis=1), minlength=len(centres))
        excess = np.clip(counts * (len(centres) / len(X)) - 1.0, -1.0, 1.0)
        price += (2.0 * unit * excess / (1.0 + t / 10.0) ** 0.5).astype(np.float32)
    return price


def _with_price(centres: Array, price: Array) -> Array:
    """Centres with one more coordinate, which adds the price to every squared distance."""
    return np.column_stack([centres, np.sqrt(price - price.min())])


def _assign_evenly(X: Array, centres: Array) -> Labels:
    """Fill every centre with its nearest rows; who finds it full asks the next nearest."""
    n_rows, n_blocks = len(X), len(centres)
    labels = np.full(n_rows, -1)
    room = np.full(n_blocks, n_rows // n_blocks)
    waiting = np.arange(n_rows)
    while len(waiting):
        if not room.any():
            # Every block has its even share: the remainder goes to blocks of one more row.
            room[:] = 1
        open_ = np.flatnonzero(room)
        nearest, distance = pairwise_distances_argmin_min(X[waiting], centres[open_])
        block = open_[nearest]
        by_block = np.lexsort((distance, block))
        first = np.searchsorted(block[by_block], np.arange(n_blocks))
        rank = np.arange(len(waiting)) - first[block[by_block]]
        accepted = by_block[rank < room[block[by_block]]]
        labels[waiting[accepted]] = block[accepted]
        room -= np.bincount(block[accepted], minlength=n_blocks)
        waiting = np.delete(waiting, accepted)
    return labels
