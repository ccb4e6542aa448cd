"""Boosted regression trees, grown on a card from histograms of binned rows.

The trees are those of scikit-learn's histogram boosting: whichever leaf gains most is cut next. On a card all leaves
that may still be cut are cut at once, level by level, and the best of these cuts are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from math import floor, inf, log2
from typing import NamedTuple

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
# Rows that are added to the same sums wait for each other: sums of so many nodes, and of so few rows, are not divided
# among copies.
NODES_APART, ROWS_PER_COPY = 64, 4096


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
            tree, values = growth.tree_and_values()
            self._left_over = self._left_over - values
            self.trees.append(tree)


class _Growth:
    """The growth of one tree, level by level, whose nodes are leaves until their best cuts have been made.

    Levels are many, and late ones of few nodes: calls would take longer than what they do, so that there are few, with
    two looks from outside at what came out.

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
        self.card, self._bins = card, bins
        self._numbers = _WholeNumbers.of(card, weight * target, weight)
        self._least = card.send(np.array([LEAST_WEIGHT, size.least_rows]))[:, None, None, None]
        self._nodes = _Nodes(rate, size, bins.shape[1])
        # The node of every row.
        self._at = torch.zeros(len(bins), dtype=torch.int64, device=bins.device)
        self._grow()

    def _grow(self) -> None:
        """Cut level after level: which cuts are kept in the end is known once all are known."""
        rows = torch.arange(len(self._at), device=self._at.device)
        sums, parents = self._sums(rows, torch.zeros_like(rows), 1), np.array([-1])
        self._nodes.add(parents, self.card.fetch(self._best_cuts(sums)))
        while len(cut := self._nodes.worth_cutting()):
            sums = self._cut(cut, sums)
            self._nodes.add(np.repeat(cut, 2), self.card.fetch(self._best_cuts(sums)))

    def _cut(self, cut: Indices, sums: Tensor) -> Tensor:
        """Make the best cuts of some nodes of the last level, which has these sums; those of their children.

        The smaller child comes first. Only its rows are summed: the other has the rest.
        """
        facts, n_cut = self.card.send(self._nodes.facts_of_cuts(cut)), len(cut)
        child, place, feature, last_bin, right_is_small = facts[:5, self._at]
        right = self._bins.gather(1, feature[:, None])[:, 0] > last_bin
        is_cut, is_large = child >= 0, right != right_is_small
        self._at = torch.where(is_cut, child + is_large, self._at)
        rows = torch.nonzero(is_cut > is_large)[:, 0]
        small = self._sums(rows, place[rows], n_cut)
        return torch.stack([small, sums[:, facts[5, :n_cut]] - small], dim=2).flatten(1, 2)

    def _sums(self, rows: Tensor, node: Tensor, n_nodes: int) -> Tensor:
        """Sums over some rows, each of which belongs to one of so many nodes: shape (2, nodes, 256, d)."""
        n_inputs, n_copies = self._bins.shape[1], max(1, min(NODES_APART // n_nodes, len(rows) // ROWS_PER_COPY))
        sums = self._at.new_zeros((2, n_copies * n_nodes * BINS, n_inputs))
        at_once = max(1, self.card.numbers_at_once // (2 * n_inputs))
        if n_copies > 1:
            node = node + n_nodes * (torch.arange(len(rows), device=rows.device) % n_copies)
        for part, own in zip(rows.split(at_once), node.split(at_once), strict=True):
            place = torch.add(self._bins[part], own[:, None], alpha=BINS)
            numbers = self._numbers.of_rows[:, part, None]
            sums.scatter_add_(1, place.expand(2, -1, -1), numbers.expand(-1, -1, n_inputs))
        return sums.unflatten(1, (n_copies, n_nodes, BINS)).sum(dim=1)

    def _best_cuts(self, sums: Tensor) -> Tensor:
        """Facts of k nodes with these sums, as `_Nodes.add` takes them, shape (6, k)."""
        at_once = max(1, self.card.numbers_at_once // (BINS * sums.shape[3]))
        return torch.cat([self._best_cuts_of(part) for part in sums.split(at_once, dim=1)], dim=1)

    def _best_cuts_of(self, sums: Tensor) -> Tensor:
        moment, left = self._numbers.told_apart(sums.cumsum(dim=2))
        whole_moment, whole = moment[:, -1:, :1], left[:, :, -1:, :1]
        right = whole - left
        enough = (torch.minimum(left, right) >= self._least).all(dim=0)
        # What is gained times the weight: how far moments are from what their share of the weight would have.
        beyond = torch.addcmul(moment * whole[0], whole_moment, left[0], value=-1.0)
        gain = torch.where(enough, beyond * beyond / (left[0] * right[0]), -inf)
        best, place = gain.flatten(1).max(dim=1)
        n_left = left[1].flatten(1).gather(1, place[:, None])
        # The places are exact in double precision.
        columns = [best[:, None], place[:, None], whole_moment[:, 0], whole[0, :, 0], whole[1, :, 0], n_left]
        return torch.cat(columns, dim=1).T

    def tree_and_values(self) -> tuple[GrownTree, Tensor]:
        """The tree, and what it predicts of the rows, shape (n,)."""
        tree, values = self._nodes.tree_and_values()
        return tree, self.card.send(values)[self._at]


@dataclass(frozen=True)
class _WholeNumbers:
    """Moments, weights and numbers of rows as whole numbers, which can be added in any order.

    Attributes
    ----------
    of_rows : int64 tensor of shape (2, n)
        Moments, and weights with a one for the row in the last bits.
    units : tuple of two floats
        Units of moments and weights.
    count_bits : int
        Bits for the number of rows.
    """

    of_rows: Tensor
    units: tuple[float, float]
    count_bits: int

    @classmethod
    def of(cls, card: Card, moment: Tensor, weight: Tensor) -> "_WholeNumbers":
        """Those of rows with moments and weights (n,)."""
        largest = card.fetch(torch.stack([moment.abs().max(), weight.max()])).tolist()
        n_rows, count_bits = len(weight), len(weight).bit_length()
        bits = [SUM_BITS, SUM_BITS - count_bits]
        units = [2.0 ** -floor(b - log2(n_rows * max(value, 1e-300))) for b, value in zip(bits, largest, strict=True)]
        moments, weights = torch.round(moment / units[0]).long(), torch.round(weight / units[1]).long()
        return cls(torch.stack([moments, (weights << count_bits) + 1]), (units[0], units[1]), count_bits)

    def told_apart(self, sums: Tensor) -> tuple[Tensor, Tensor]:
        """Moments (k, ...), and weights and numbers of rows (2, k, ...), of sums (2, k, ...)."""
        moment, packed = sums
        weight = (packed >> self.count_bits).double() * self.units[1]
        return moment.double() * self.units[0], torch.stack([weight, packed & ((1 << self.count_bits) - 1)])


class _Level(NamedTuple):
    """Nodes of one level, siblings side by side, of which the first has fewer rows.

    Attributes
    ----------
    parent : int array of shape (k,)
        Numbers of their parents.
    value : array of shape (k,)
        Their values.
    gain : array of shape (k,)
        What is gained by the best cut of each, not above zero where there is none.
    least_gain : array of shape (k,)
        The least of the gains of a node and of those above it.
    feature, last_bin, right_is_small : int arrays of shape (k,)
        Their best cuts: the input, the last bin on the left, and whether fewer rows are on the right.
    """

    parent: Indices
    value: Array
    gain: Array
    least_gain: Array
    feature: Indices
    last_bin: Indices
    right_is_small: Indices


class _Nodes:
    """Nodes of a tree on its way, numbered level by level.

    Parameters
    ----------
    rate, size : float, TreeSize
        Learning rate, and how far the tree grows.
    n_inputs : int
        Number of inputs.
    """

    def __init__(self, rate: float, size: TreeSize, n_inputs: int) -> None:
        self._rate, self._most_cuts, self._n_inputs = rate, size.most_leaves - 1, n_inputs
        self._most_depth = size.most_depth
        self._levels, self._first_of_last, self._n_nodes = list[_Level](), 0, 0
        # The least gains of all nodes that may be cut.
        self._least_gains = np.empty(0)

    def __len__(self) -> int:
        return self._n_nodes

    def add(self, parent: Indices, facts: Array) -> None:
        """A level of k nodes with these parents.

        Facts (6, k) are the gain of a node's best cut times its weight, the place of that cut among bins and inputs,
        the node's moment, weight and number of rows, and how many of these are on the left of the cut.
        """
        gain, place, moment, weight, n_rows, n_left = facts
        last_bin, feature = np.divmod(place.astype(np.int64), self._n_inputs)
        right_is_small = (2.0 * n_left > n_rows).astype(np.int64)
        gain = np.zeros(len(gain)) if len(self._levels) == self._most_depth else gain / weight
        above = self._levels[-1].least_gain[parent - self._first_of_last] if self._levels else inf
        least_gain = np.minimum(gain, above)
        self._first_of_last, self._n_nodes = self._n_nodes, self._n_nodes + len(parent)
        value = self._rate * moment / weight
        self._levels.append(_Level(parent, value, gain, least_gain, feature, last_bin, right_is_small))
        self._least_gains = np.concatenate([self._least_gains, least_gain[least_gain > 0.0]])

    def worth_cutting(self) -> Indices:
        """Nodes of the last level that may be cut.

        Whichever gains most is always next, so that a node's turn comes after all whose least gain is larger than its
        own: it does not come where these are as many as are cut.
        """
        last, surplus = self._levels[-1].least_gain, len(self._least_gains) - self._most_cuts
        least = np.partition(self._least_gains, surplus)[surplus] if surplus > 0 else 0.0
        return self._first_of_last + np.flatnonzero((last > 0.0) & (last >= least))

    def facts_of_cuts(self, cut: Indices) -> Indices:
        """What takes rows to children of some nodes of the last level, shape (6, nodes).

        Of every node its first child, -1 where it is not cut, its place among the cuts, its input, last bin and whether
        the right is small; in the last row, places of the cut nodes in their level.
        """
        n_nodes, first, level = len(self), self._first_of_last, self._levels[-1]
        places, facts = np.arange(len(cut)), np.zeros((6, n_nodes), np.int64)
        facts[0] = -1
        facts[:2, cut] = n_nodes + 2 * places, places
        facts[2:5, first:] = level.feature, level.last_bin, level.right_is_small
        facts[5, places] = cut - first
        return facts

    def tree_and_values(self) -> tuple[GrownTree, Array]:
        """The tree of the cuts that are kept, and the values of all nodes: below other cuts all are of one leaf."""
        nodes = _Level(*map(np.concatenate, zip(*self._levels, strict=True)))
        first_child = np.full(len(self), -1)
        first_child[nodes.parent[1::2]] = np.arange(1, len(self), 2)
        cut = _cut_in_turn(nodes.gain, first_child, self._most_cuts)
        ends = np.cumsum([len(level.parent) for level in self._levels])
        return _tree(nodes, cut, first_child), _values(nodes, cut, ends)


def _cut_in_turn(gain: Array, first_child: Indices, most_cuts: int) -> Indices:
    """Nodes that are cut if whichever gains most is always next, in that order."""
    loss, child_of, cut = (-gain).tolist(), first_child.tolist(), list[int]()
    waiting = [(loss[0], 0)]
    while waiting and len(cut) < most_cuts:
        lost, node = heappop(waiting)
        if lost >= 0.0:
            break
        cut.append(node)
        child = child_of[node]
        heappush(waiting, (loss[child], child))
        heappush(waiting, (loss[child + 1], child + 1))
    return np.array(cut, np.int64)


def _tree(nodes: _Level, cut: Indices, first_child: Indices) -> GrownTree:
    """The tree of nodes with these cuts, in an order in which parents come first."""
    left = first_child[cut] + nodes.right_is_small[cut]
    right = first_child[cut] + 1 - nodes.right_is_small[cut]
    order = np.concatenate([[0], np.stack([left, right], axis=1).ravel()])
    place = np.empty(len(nodes.parent), np.int64)
    place[order] = np.arange(len(order))
    inside = place[cut]
    feature, number = np.full(len(order), -1, np.int32), nodes.value[order]
    feature[inside], number[inside] = nodes.feature[cut], nodes.last_bin[cut]
    children = np.zeros((len(order), 2), np.uint32)
    children[inside] = 1 + np.arange(2 * len(cut)).reshape(-1, 2)
    return GrownTree(feature, number, children)


def _values(nodes: _Level, cut: Indices, ends: Indices) -> Array:
    """Values of nodes, whose levels end there; they have that of their parent where it is not cut."""
    is_cut, value = np.zeros(len(nodes.parent), bool), nodes.value.copy()
    is_cut[cut] = True
    for first, last in pairwise(ends.tolist()):
        parent = nodes.parent[first:last]
        value[first:last] = np.where(is_cut[parent], value[first:last], value[parent])
    return value
