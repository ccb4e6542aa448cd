"""Boosted regression trees, grown on a card from histograms of binned rows.

The trees are those of scikit-learn's histogram boosting: whichever leaf gains most is cut next. On a card all leaves
that may still be cut are cut at once, level by level, and the best of these cuts are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import floor, inf, log2

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.on_card.backend import Tensor, torch
from ssgp.engine.on_card.cards import Card
from ssgp.engine.tree_size import TreeSize

__all__ = ["CardBooster", "GrownTree"]

# Bins of an input, at most.
BINS = 256
# Sums are of whole numbers, which can be added in any order: of so many bits with their sign.
SUM_BITS = 62
# Least sum of weights on a side of a cut, as scikit-learn has it.
LEAST_WEIGHT = 1e-3


@dataclass(frozen=True)
class GrownTree:
    """A tree whose nodes come after their parents.

    Attributes
    ----------
    feature : int32 array of shape (nodes,)
        Input that a node splits by, -1 for a leaf.
    number : array of shape (nodes,)
        Of a split the last bin that goes left, of a leaf its value.
    children : uint32 array of shape (nodes, 2)
        Left and right child, zeros for a leaf.
    """

    feature: Indices
    number: Array
    children: Indices


class CardBooster:
    """Trees, each fitted to what those before leave of a target.

    Parameters
    ----------
    card : Card
        Where.
    X : array of shape (n, d)
        Rows.
    edges : sequence of d arrays
        At most 255 edges of bins of each input: a row is in the bin of the first edge that is not below it.
    y, weight : arrays of shape (n,)
        Target, and weights of the rows.
    rate : float
        Learning rate.

    Attributes
    ----------
    trees : list of GrownTree
        The trees there are.
    """

    def __init__(self, card: Card, X: Array, edges: Sequence[Array], y: Array, weight: Array, rate: float) -> None:
        self.card, self.rate = card, rate
        columns = zip(X.T, edges, strict=True)
        bins = [torch.bucketize(card.send(np.ascontiguousarray(x)), card.send(edge)) for x, edge in columns]
        self._bins = torch.stack([column.to(torch.uint8) for column in bins], dim=1)
        self._y, self._weight = card.send(y.astype(float)), card.send(weight.astype(float))
        self.baseline = float((self._weight @ self._y) / self._weight.sum())
        self._left_over = self._y - self.baseline
        self.trees: list[GrownTree] = []

    def grow(self, n_trees: int, size: TreeSize) -> None:
        """Grow until there are so many trees, the new ones of this size."""
        while len(self.trees) < n_trees:
            growth = _Growth(self.card, self._bins, self._left_over, self._weight, self.rate, size)
            self._left_over = self._left_over - growth.values_of_rows()
            self.trees.append(growth.tree())


class _Growth:
    """The growth of one tree, whose nodes are leaves until their best cuts have been made.

    Parameters
    ----------
    card : Card
        Where.
    bins : uint8 tensor of shape (n, d)
        Bins of the rows.
    target, weight : tensors of shape (n,)
        What the tree is fitted to.
    rate, size : float, TreeSize
        Learning rate, and how far the tree grows.
    """

    def __init__(self, card: Card, bins: Tensor, target: Tensor, weight: Tensor, rate: float, size: TreeSize) -> None:
        self.card, self._size, self._bins = card, size, bins
        moment = weight * target
        largest = torch.stack([moment.abs().max(), weight.max()])
        bits = [SUM_BITS - log2(len(bins) * max(value, 1e-300)) for value in card.fetch(largest).tolist()]
        units = [*(2.0 ** -floor(number) for number in bits), 1.0]
        # What is summed over rows: moments and weights in their units, and the number of rows.
        self._summed = [torch.round(moment / units[0]).long(), torch.round(weight / units[1]).long()]
        self._summed.append(torch.ones_like(self._summed[0]))
        self._units, self._rate = card.send(np.array(units))[:, None, None, None], rate
        least = card.send(np.array([-inf, LEAST_WEIGHT, size.least_rows]))
        self._least = least[:, None, None, None]
        # The node of every row and, of every node, its value, the gain of its best cut, that cut's input and last bin
        # on the left, its parent, and its left child, which the right one follows: -1 where the cut is not made.
        self._at = torch.zeros_like(self._summed[0])
        self._value, self._gain = list[float](), list[float]()
        self._feature, self._last_bin, self._parent, self._left = list[int](), list[int](), list[int](), list[int]()
        rows = torch.arange(len(bins), device=bins.device)
        self._add_nodes([-1], rows, torch.zeros_like(rows))
        while level := [node for node in self._best_cuts() if self._left[node] < 0]:
            self._cut(level)

    def _best_cuts(self) -> list[int]:
        """Nodes that are cut if whichever gains most is always next, as far as gains are known, in that order."""
        gain, left, cut = self._gain, self._left, list[int]()
        waiting = [(-gain[0], 0)]
        while waiting and len(cut) < self._size.most_leaves - 1:
            lost, node = heappop(waiting)
            if lost >= 0.0:
                break
            cut.append(node)
            child = left[node]
            if child >= 0:
                heappush(waiting, (-gain[child], child))
                heappush(waiting, (-gain[child + 1], child + 1))
        return cut

    def _cut(self, level: list[int]) -> None:
        """Make the best cuts of some nodes, each of which gets two children."""
        first, device = len(self._gain), self._at.device
        cuts = self.card.send(np.array([level, [self._feature[i] for i in level], [self._last_bin[i] for i in level]]))
        slots = torch.full((first,), -1, dtype=torch.int64, device=device)
        slots[cuts[0]] = torch.arange(len(level), device=device)
        slot = slots[self._at]
        rows = torch.nonzero(slot >= 0)[:, 0]
        slot = slot[rows]
        right = self._bins[rows, cuts[1][slot]] > cuts[2][slot]
        child = 2 * slot + right
        self._at[rows] = first + child
        for i, node in enumerate(level):
            self._left[node] = first + 2 * i
        self._add_nodes([node for node in level for _ in range(2)], rows, child)

    def _add_nodes(self, parents: list[int], rows: Tensor, slot: Tensor) -> None:
        """New nodes with these parents, of which these rows are in the slot-th ones."""
        found = self.card.fetch(self._best_cuts_of(self._histograms(rows, slot, len(parents))))
        self._value += found[0].tolist()
        self._gain += found[1].tolist()
        self._feature += found[2].astype(int).tolist()
        self._last_bin += found[3].astype(int).tolist()
        self._parent += parents
        self._left += [-1] * len(parents)

    def _histograms(self, rows: Tensor, slot: Tensor, n_slots: int) -> Tensor:
        """Sums over some rows, each of which belongs to one of so many slots: shape (3, slots, 256, d)."""
        n_inputs = self._bins.shape[1]
        sums = self._at.new_zeros((3, n_slots * BINS, n_inputs))
        at_once = max(1, self.card.numbers_at_once // n_inputs)
        for part, own in zip(rows.split(at_once), slot.split(at_once), strict=True):
            place = BINS * own[:, None] + self._bins[part]
            for total, values in zip(sums, self._summed, strict=True):
                total.scatter_add_(0, place, values[part, None].expand(-1, n_inputs))
        return sums.unflatten(1, (n_slots, BINS))

    def _best_cuts_of(self, sums: Tensor) -> Tensor:
        """Value, gain, input and last bin on the left of k nodes with these sums, shape (4, k)."""
        left = sums.cumsum(dim=2) * self._units
        whole = left[:, :, -1:]
        right = whole - left
        enough = (torch.minimum(left, right) >= self._least).all(dim=0)
        score = left[0] ** 2 / left[1] + right[0] ** 2 / right[1]
        best, place = torch.where(enough, score, -inf).flatten(1).max(dim=1)
        moment, weight = whole[0, :, 0, 0], whole[1, :, 0, 0]
        mean, n_inputs = moment / weight, sums.shape[3]
        return torch.stack([self._rate * mean, best - moment * mean, place % n_inputs, place // n_inputs])

    def values_of_rows(self) -> Tensor:
        """What the tree predicts of the rows, shape (n,)."""
        cut, value = set(self._best_cuts()), np.array(self._value)
        for node, parent in enumerate(self._parent):
            # Below a cut that is not kept all are of one leaf.
            if parent >= 0 and parent not in cut:
                value[node] = value[parent]
        return self.card.send(value)[self._at]

    def tree(self) -> GrownTree:
        """The tree of the cuts that are kept."""
        cut = self._best_cuts()
        nodes = np.array([0, *(child for node in cut for child in (self._left[node], self._left[node] + 1))])
        place = {node: i for i, node in enumerate(nodes.tolist())}
        inside = [place[node] for node in cut]
        feature, number = np.full(len(nodes), -1, np.int32), np.array(self._value)[nodes]
        children = np.zeros((len(nodes), 2), np.uint32)
        feature[inside], number[inside] = np.array(self._feature)[cut], np.array(self._last_bin)[cut]
        children[inside] = 1 + np.arange(2 * len(cut)).reshape(-1, 2)
        return GrownTree(feature, number, children)
