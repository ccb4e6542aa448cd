"""Sums of regression trees, on a card: all rows go down all trees side by side."""

from itertools import pairwise

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.on_card.backend import Tensor, torch
from ssgp.engine.on_card.cards import Card

__all__ = ["CardTreeSums"]

# Pairs of a row and a tree that go down together, at most: their numbers take little memory beside all else, and
# kernels are long.
PAIRS_AT_ONCE = 1 << 24
# Trees that go down together, of about equal depth: those that have arrived wait for the others.
TREES_TOGETHER = 32
# Numbers of rows that 32 bits can count.
MOST_NUMBERS = 1 << 30


class CardTreeSums:
    """A constant plus the sum of regression trees on finite numbers, as `ssgp.forest.boosted_trees.BoostedTrees` is.

    Nodes are numbered anew, so that right children follow left ones, and leaves lead to themselves: a step down is the
    same for all.

    Parameters
    ----------
    card : Card
        Where.
    bounds, feature, number, children : arrays
        Nodes of the trees, as `BoostedTrees` has them.
    baseline : float
        The constant.
    """

    def __init__(
        self, card: Card, bounds: Indices, feature: Indices, number: Array, children: Indices, baseline: float
    ) -> None:
        self.baseline = baseline
        left, order, depth = _numbered_by_level(bounds, feature, children)
        is_leaf = feature[order] < 0
        self._feature = card.send(np.where(is_leaf, 0, feature[order]).astype(np.int32))
        self._threshold = card.send(np.where(is_leaf, np.inf, number[order]))
        # A number in single precision is at most a threshold where it is at most that threshold, rounded down.
        self._rounded_down = card.send(_rounded_down(np.where(is_leaf, np.inf, number[order])))
        self._left = card.send(left.astype(np.int32))
        self._value = card.send(np.where(is_leaf, number[order], 0.0))
        by_depth = np.argsort(depth, kind="stable")
        self._roots, self._depths = card.send(bounds[:-1][by_depth].astype(np.int32)), depth[by_depth]

    def __call__(self, X: Tensor) -> Tensor:
        """Predictions of rows X (n, d), shape (n,), in double precision."""
        at_once = PAIRS_AT_ONCE // min(TREES_TOGETHER, len(self._depths))
        at_once = max(1, min(at_once, MOST_NUMBERS // X.shape[1]))
        return torch.cat([self._of_rows(part) for part in X.split(at_once)])

    def _of_rows(self, X: Tensor) -> Tensor:
        total = X.new_full((len(X),), self.baseline, dtype=torch.float64)
        ends = [*range(0, len(self._depths), TREES_TOGETHER), len(self._depths)]
        for first, last in pairwise(ends):
            total += self._values(X, self._roots[first:last], int(self._depths[last - 1])).sum(dim=0)
        return total

    def _values(self, X: Tensor, roots: Tensor, depth: int) -> Tensor:
        """Values of the leaves that rows X (n, d) reach from these roots (T,), no further down, shape (T, n)."""
        thresholds = self._threshold if X.dtype == torch.float64 else self._rounded_down
        n_rows, n_inputs = X.shape
        numbers = X.reshape(-1)
        at = roots.repeat_interleave(n_rows)
        begin = (n_inputs * torch.arange(n_rows, device=X.device, dtype=torch.int32)).repeat(len(roots))
        for _ in range(depth):
            number = numbers.index_select(0, begin + self._feature.index_select(0, at))
            right = number > thresholds.index_select(0, at)
            at = self._left.index_select(0, at) + right
        return self._value.index_select(0, at).reshape(len(roots), n_rows)


def _numbered_by_level(bounds: Indices, feature: Indices, children: Indices) -> tuple[Indices, Indices, Indices]:
    """Left children of nodes in their new order, the order, and the depths of the trees.

    Children come next to each other, level after level of each tree; leaves are their own left children.
    """
    n_trees = len(bounds) - 1
    first = np.repeat(bounds[:-1], np.diff(bounds))
    absolute = first[:, None] + children.astype(np.int64)
    order, left = np.empty(len(feature), np.int64), np.arange(len(feature))
    depth, placed = np.zeros(n_trees, np.int64), bounds[:-1].copy() + 1
    # All trees go down by a level at a time: `level` are nodes, `place` their new numbers, `tree` whose they are.
    level, place, tree = bounds[:-1].copy(), bounds[:-1].copy(), np.arange(n_trees)
    while len(level):
        order[place] = level
        inside = feature[level] >= 0
        level, place, tree = level[inside], place[inside], tree[inside]
        depth[tree] += 1
        counts = np.bincount(tree, minlength=n_trees)
        rank = np.arange(len(tree)) - np.repeat(np.cumsum(counts) - counts, counts)
        left[place] = placed[tree] + 2 * rank
        placed += 2 * counts
        place = np.stack([left[place], left[place] + 1], axis=1).ravel()
        level, tree = absolute[level].ravel(), np.repeat(tree, 2)
    return left, order, depth


def _rounded_down(numbers: Array) -> Array:
    """The largest numbers of single precision that are not above these."""
    with np.errstate(over="ignore"):
        rounded = numbers.astype(np.float32)
    return np.where(rounded > numbers, np.nextafter(rounded, np.float32(-np.inf)), rounded)
