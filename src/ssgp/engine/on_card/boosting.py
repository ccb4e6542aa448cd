"""Boosted regression trees, grown on a card from histograms of binned rows.

The trees are those of scikit-learn's histogram boosting: whichever leaf gains most is cut next. On a card all leaves
that may still be cut are cut at once, level by level, and the best of these cuts are kept.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import floor, inf, log2

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.on_card.backend import Tensor, torch
from ssgp.engine.on_card.cards import Card

__all__ = ["CardBooster", "GrownTree", "TreeLimits"]

# Bins of an input, at most.
BINS = 256
# Sums are of whole numbers, which can be added in any order: of so many bits with their sign.
SUM_BITS = 62
# Least sum of weights on a side of a cut, as scikit-learn has it.
LEAST_WEIGHT = 1e-3


@dataclass(frozen=True)
class TreeLimits:
    """How far trees grow: leaves at most, and rows of a leaf at least."""

    most_leaves: int
    least_rows: int


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
    limits : TreeLimits
        How far trees grow.
    """

    def __init__(
        self, card: Card, X: Array, edges: Sequence[Array], y: Array, weight: Array, rate: float, limits: TreeLimits
    ) -> None:
        self.card, self.rate, self.limits = card, rate, limits
        columns = zip(X.T, edges, strict=True)
        bins = [torch.bucketize(card.send(np.ascontiguousarray(x)), card.send(edge)) for x, edge in columns]
        self._bins = torch.stack([column.to(torch.uint8) for column in bins], dim=1)
        self._y, self._weight = card.send(y.astype(float)), card.send(weight.astype(float))
        self.baseline = float((self._weight @ self._y) / self._weight.sum())
        self._left_over = self._y - self.baseline
        self._trees: list[GrownTree] = []

    def grow(self, n_trees: int) -> list[GrownTree]:
        """So many trees, with those that were grown before."""
        while len(self._trees) < n_trees:
            growth = _Growth(self.card, self._bins, self._left_over, self._weight, self.rate, self.limits)
            self._left_over = self._left_over - growth.values_of_rows()
            self._trees.append(growth.tree())
        return self._trees[:n_trees]


@dataclass
class _Node:
    """A node of a growing tree, which is a leaf until its best cut has been made.

    Attributes
    ----------
    value : float
        What its rows are predicted.
    gain : float
        Gain of its best cut.
    feature, last_bin : int
        That cut.
    left_is_smaller : bool
        Which side of it has fewer rows.
    parent : int
        Number of the parent, -1 for the root.
    left : int
        Number of the left child, which the right one follows; -1 where the cut has not been made.
    """

    value: float
    gain: float
    feature: int
    last_bin: int
    left_is_smaller: bool
    parent: int
    left: int = field(default=-1)


class _Growth:
    """The growth of one tree.

    Parameters
    ----------
    card : Card
        Where.
    bins : uint8 tensor of shape (n, d)
        Bins of the rows.
    target, weight : tensors of shape (n,)
        What the tree is fitted to.
    rate, limits : float, TreeLimits
        Learning rate, and how far the tree grows.
    """

    def __init__(
        self, card: Card, bins: Tensor, target: Tensor, weight: Tensor, rate: float, limits: TreeLimits
    ) -> None:
        self.card, self.rate, self.limits, self._bins = card, rate, limits, bins
        moment = weight * target
        largest = torch.stack([moment.abs().max(), weight.max()])
        bits = [SUM_BITS - log2(len(bins) * max(value, 1e-300)) for value in card.fetch(largest).tolist()]
        self._moment_unit, self._weight_unit = (2.0 ** floor(-number) for number in bits)
        self._moment = torch.round(moment / self._moment_unit).long()
        self._weight = torch.round(weight / self._weight_unit).long()
        self._one = torch.ones_like(self._moment)
        # The node of every row, and sums over the rows of all nodes: moments, weights and counts, (3, nodes, 256, d).
        self._at = torch.zeros_like(self._moment)
        rows = torch.arange(len(bins), device=bins.device)
        self._sums = self._histograms(rows, torch.zeros_like(rows), 1)
        self._nodes: list[_Node] = []
        self._add_nodes([-1], self._sums)
        while level := self._to_cut():
            self._cut(level)

    def _histograms(self, rows: Tensor, slot: Tensor, n_slots: int) -> Tensor:
        """Sums over some rows, each of which belongs to one of so many slots: shape (3, slots, 256, d)."""
        n_inputs = self._bins.shape[1]
        sums = self._moment.new_zeros((3, n_slots * BINS, n_inputs))
        for part, own in zip(self._chunks(rows), self._chunks(slot), strict=True):
            place = BINS * own[:, None] + self._bins[part]
            for total, values in zip(sums, (self._moment, self._weight, self._one), strict=True):
                total.scatter_add_(0, place, values[part, None].expand(-1, n_inputs))
        return sums.unflatten(1, (n_slots, BINS))

    def _chunks(self, values: Tensor) -> tuple[Tensor, ...]:
        return values.split(max(1, self.card.numbers_at_once // self._bins.shape[1]))

    def _to_cut(self) -> list[int]:
        """Nodes that are cut next: the best of all cuts, as far as they are known, that have not been made."""
        return [number for number in self._best_cuts() if self._nodes[number].left < 0]

    def _best_cuts(self) -> Iterator[int]:
        """Nodes that are cut if whichever gains most is always next, in that order."""
        waiting: list[tuple[float, int]] = []

        def wait(number: int) -> None:
            if self._nodes[number].gain > 0.0:
                heappush(waiting, (-self._nodes[number].gain, number))

        wait(0)
        for _ in range(self.limits.most_leaves - 1):
            if not waiting:
                return
            number = heappop(waiting)[1]
            yield number
            if self._nodes[number].left >= 0:
                wait(self._nodes[number].left)
                wait(self._nodes[number].left + 1)

    def _cut(self, level: list[int]) -> None:
        """Make the best cuts of some nodes, each of which gets two children."""
        nodes, first = [self._nodes[number] for number in level], len(self._nodes)
        columns = ([node.feature, node.last_bin, node.left_is_smaller] for node in nodes)
        cuts = self.card.send(np.array(list(columns), np.int64))
        slots = torch.full((first,), -1, dtype=torch.int64, device=self._at.device)
        parents = self.card.send(np.array(level, np.int64))
        slots[parents] = torch.arange(len(level), device=slots.device)
        slot = slots[self._at]
        rows = torch.nonzero(slot >= 0)[:, 0]
        slot = slot[rows]
        feature, last_bin, left_is_smaller = cuts[slot].unbind(1)
        right = self._bins[rows, feature] > last_bin
        self._at[rows] = first + 2 * slot + right
        # Of both children's sums those of the smaller are taken: the other's are what is left of the parent's.
        in_smaller = right != left_is_smaller.bool()
        smaller = self._histograms(rows[in_smaller], slot[in_smaller], len(level))
        larger = self._sums[:, parents] - smaller
        left = torch.where(cuts[:, 2].bool()[:, None, None], smaller, larger)
        both = torch.stack([left, smaller + larger - left], dim=2).flatten(1, 2)
        self._sums = torch.cat([self._sums, both], dim=1)
        for i, node in enumerate(nodes):
            node.left = first + 2 * i
        self._add_nodes([number for number in level for _ in range(2)], both)

    def _add_nodes(self, parents: list[int], sums: Tensor) -> None:
        """New nodes with these parents and sums."""
        for parent, row in zip(parents, self.card.fetch(self._best_cut_of(sums)).tolist(), strict=True):
            value, gain, feature, last_bin, left_is_smaller = row
            self._nodes.append(_Node(value, gain, int(feature), int(last_bin), bool(left_is_smaller), parent))

    def _best_cut_of(self, sums: Tensor) -> Tensor:
        """Value, gain, input, last bin on the left and which side is smaller, of nodes of these sums: shape (k, 5)."""
        left = sums.cumsum(dim=2)
        whole = left[:, :, -1:]
        right = whole - left
        (moment, moment_left, moment_right), (weight, weight_left, weight_right) = (
            [part[i].double() * unit for part in (whole, left, right)]
            for i, unit in enumerate((self._moment_unit, self._weight_unit))
        )
        enough = (torch.minimum(left[2], right[2]) >= self.limits.least_rows) & (
            torch.minimum(weight_left, weight_right) >= LEAST_WEIGHT
        )
        gains = moment_left**2 / weight_left + moment_right**2 / weight_right - moment**2 / weight
        gain, place = torch.where(enough, gains, -inf).flatten(1).max(dim=1)
        n_inputs = sums.shape[3]
        left_is_smaller = left[2].flatten(1).gather(1, place[:, None])[:, 0] * 2 < whole[2, :, 0, 0]
        value = self.rate * (moment / weight)[:, 0, 0]
        return torch.stack([value, gain, place % n_inputs, place // n_inputs, left_is_smaller], dim=1)

    def values_of_rows(self) -> Tensor:
        """What the tree predicts of the rows, shape (n,)."""
        kept, value = set(self._best_cuts()), np.empty(len(self._nodes))
        for number, node in enumerate(self._nodes):
            # Below a cut that is not kept all are of one leaf.
            of_leaf = node.parent >= 0 and node.parent not in kept
            value[number] = value[node.parent] if of_leaf else node.value
        return self.card.send(value)[self._at]

    def tree(self) -> GrownTree:
        """The tree of the cuts that are kept."""
        cuts = list(self._best_cuts())
        numbers, feature = {0: 0}, np.full(2 * len(cuts) + 1, -1, np.int32)
        children = np.zeros((len(feature), 2), np.uint32)
        for i, cut in enumerate(cuts):
            left = self._nodes[cut].left
            numbers[left], numbers[left + 1] = 2 * i + 1, 2 * i + 2
            feature[numbers[cut]], children[numbers[cut]] = self._nodes[cut].feature, (2 * i + 1, 2 * i + 2)
        number = np.empty(len(feature))
        for node, place in numbers.items():
            found = self._nodes[node]
            number[place] = found.value if feature[place] < 0 else found.last_bin
        return GrownTree(feature, number, children)
