"""Boosted trees as a few plain arrays, which predict once scikit-learn has grown them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.wide import WIDE
from ssgp.engine.threads import FastestThreads, openmp_threads
from ssgp.engine.tree_size import TreeSize
from ssgp.forest.sklearn_trees import LEAF, compile_trees, nodes_of_trees, sum_of_trees
from ssgp.saving.contents import array, integer, number
from ssgp.saving.kinds import stored

__all__ = [
    "FIRST_TREES",
    "BinnedRows",
    "BoostedTrees",
    "Growth",
    "TreeGrower",
    "TreeRows",
    "bin_edges",
    "grow",
    "with_edges",
]

Booster = HistGradientBoostingRegressor | HistGradientBoostingClassifier

# Where trees change their size.
FIRST_TREES = 100
# Bins of an input, and rows that their edges are taken from.
BINS = 255
BINNED_ROWS = 200_000
# Trees that tell how long others take.
TIMED_TREES = 2
# So few rows go down all trees at once: one call per tree would take longer.
FEW_ROWS = 16


def _form_trees(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
    """The compiled descent does not look where it goes: no node may lead out of its tree or in a circle."""
    bounds, feature = parts.bounds, parts.feature
    rising = len(bounds) > 1 and bounds[0] == 0 and bounds[-1] == len(feature) and (bounds[1:] > bounds[:-1]).all()
    yield bool(rising), "bounds must rise from 0 to the number of nodes"
    sizes = np.diff(bounds)
    within = (np.arange(len(feature)) - np.repeat(bounds[:-1], sizes))[:, None]
    onward = (parts.children > within) & (parts.children < np.repeat(sizes, sizes)[:, None])
    yield bool((feature < parts.n_inputs).all()), "splits must be by inputs that there are"
    yield bool(onward[feature != LEAF].all()), "children must come after their parents in the same tree"


@stored(
    {
        "bounds": array("int64", "edges", least=0),
        "feature": array("int32", "nodes", least=LEAF),
        "number": array("float64", "nodes"),
        "children": array("uint32", "nodes", 2),
        "baseline": number(),
        "n_inputs": integer(1),
    },
    relations=_form_trees,
)
@dataclass(frozen=True)
class BoostedTrees:
    """A constant plus the sum of regression trees on finite numbers; their nodes are numbered tree by tree.

    Attributes
    ----------
    bounds : int array of shape (trees + 1,)
        Where the nodes of each tree begin and end.
    feature : int32 array of shape (nodes,)
        Input that a node splits by, -1 for a leaf.
    number : array of shape (nodes,)
        Threshold of a split, up to which rows go left; value of a leaf.
    children : uint32 array of shape (nodes, 2)
        Left and right child, counted from the tree's first node; zeros for a leaf.
    baseline : float
        The constant.
    n_inputs : int
        d.
    """

    bounds: Indices
    feature: Indices
    number: Array
    children: Indices
    baseline: float
    n_inputs: int

    @classmethod
    def of(cls, booster: Booster) -> "BoostedTrees":
        """Trees of a booster that was fitted to squared errors, or to two classes, on numbers."""
        arrays, baseline = nodes_of_trees(booster)
        return cls(**arrays, baseline=baseline, n_inputs=booster.n_features_in_)

    def among(self, inputs: Indices, n_inputs: int) -> "BoostedTrees":
        """The same trees for rows of n inputs, of which these are those that the trees know."""
        feature = np.where(self.feature == LEAF, LEAF, inputs[self.feature]).astype(self.feature.dtype)
        return replace(self, feature=feature, n_inputs=n_inputs)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.bounds) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.bounds.nbytes + self.feature.nbytes + self.number.nbytes + self.children.nbytes

    def predict(self, X: Array) -> Array:
        """Predictions of rows X (n, d), shape (n,), in as many threads as OpenMP may use."""
        X = np.asarray(X)
        if X.shape[1] != self.n_inputs:
            raise ValueError(f"X has {X.shape[1]} columns, the trees were grown on {self.n_inputs}")
        if len(X) <= FEW_ROWS:
            return self._predict_few(X)
        used, trees = self._compiled
        rows = np.asarray(X if self.n_inputs <= WIDE else X[:, used], dtype=np.float64)
        return sum_of_trees(trees, rows, self.baseline)

    def _predict_few(self, X: Array) -> Array:
        """The same for a few rows, which go down all trees together; trees are added in the same order."""
        first, row = self.bounds[:-1], np.arange(len(X))[:, None]
        node = np.tile(first, (len(X), 1))
        feature = self.feature[node]
        while (inside := feature != LEAF).any():
            right = X[row, feature] > self.number[node]
            node = np.where(inside, first + self.children[node, right.astype(np.intp)], node)
            feature = self.feature[node]
        values = np.concatenate([np.full((len(X), 1), self.baseline), self.number[node]], axis=1)
        return np.add.accumulate(values, axis=1)[:, -1]

    @cached_property
    def _compiled(self) -> tuple[Indices, list[Any]]:
        """The trees as scikit-learn's compiled descent reads them, and of many inputs those that splits are by."""
        if self.n_inputs <= WIDE:
            return np.arange(self.n_inputs), compile_trees(self.bounds, self.feature, self.number, self.children)
        leaf = self.feature == LEAF
        used = np.unique(self.feature[~leaf])
        feature = np.where(leaf, LEAF, np.searchsorted(used, self.feature))
        return used, compile_trees(self.bounds, feature, self.number, self.children)

    def __getstate__(self) -> dict:
        """Pickle what does not depend on scikit-learn's version."""
        return {name: value for name, value in vars(self).items() if name != "_compiled"}


@dataclass(frozen=True)
class Growth:
    """How boosted trees are grown.

    Attributes
    ----------
    rate : float
        Learning rate.
    first, later : TreeSize
        Sizes of the first 100 trees, and of those beyond.
    """

    rate: float
    first: TreeSize
    later: TreeSize

    def sizes(self, n_grown: int, n_trees: int) -> Iterator[tuple[int, TreeSize]]:
        """Of the trees beyond so many, the last of each size, and the size."""
        if n_grown < min(FIRST_TREES, n_trees):
            yield min(FIRST_TREES, n_trees), self.first
        if max(FIRST_TREES, n_grown) < n_trees:
            yield n_trees, self.later


class TreeGrower(Protocol):
    """Grows trees, each fitted to what those before leave of a target."""

    def grow(self, n_trees: int) -> BoostedTrees:
        """So many trees, with those that were grown before."""
        ...


class TreeRows(Protocol):
    """Rows that boosted trees are grown on."""

    def grower(
        self, y: Array, weight: Array, growth: Growth, seed: int, threads: FastestThreads, n_inputs: int | None = None
    ) -> TreeGrower:
        """What grows trees for targets and weights (n,) of the rows, in this way, from the first inputs or all."""
        ...


@dataclass(frozen=True)
class BinnedRows:
    """Numbers of rows' bins, and the bins' edges, which put the numbers of splits back into the inputs' units.

    Scikit-learn's own bins, with weights, take many times as long as its trees. These are of equally many rows.

    Attributes
    ----------
    bins : array of shape (n, d), float64
        Numbers of the bins, as scikit-learn would have them: it copies other types.
    edges : list of d arrays
        Edges of the bins of each input.
    """

    bins: Array
    edges: list[Array]

    @classmethod
    def of(cls, X: Array) -> "BinnedRows":
        """Rows X (n, d) in at most 255 bins of each input."""
        edges = bin_edges(X)
        bins = np.empty(X.shape)
        for j, column_edges in enumerate(edges):
            bins[:, j] = np.searchsorted(column_edges, X[:, j])
        return cls(bins, edges)

    def grower(
        self, y: Array, weight: Array, growth: Growth, seed: int, threads: FastestThreads, n_inputs: int | None = None
    ) -> "HistogramGrower":
        """Scikit-learn's histogram boosting."""
        rows = BinnedRows(self.bins[:, :n_inputs], self.edges[:n_inputs])
        return HistogramGrower(rows, y, weight, growth, seed, threads)


class HistogramGrower:
    """Scikit-learn's histogram boosting of some rows, see `TreeRows.grower`."""

    def __init__(
        self, rows: BinnedRows, y: Array, weight: Array, growth: Growth, seed: int, threads: FastestThreads
    ) -> None:
        self._rows, self._y, self._weight, self._growth, self._threads = rows, y, weight, growth, threads
        settings: dict[str, Any] = {"learning_rate": growth.rate, "early_stopping": False, "random_state": seed}
        self._booster = HistGradientBoostingRegressor(**settings, warm_start=True)
        self._n_grown = 0

    def grow(self, n_trees: int) -> BoostedTrees:
        """So many trees, with those that were grown before."""
        for last, size in self._growth.sizes(self._n_grown, n_trees):
            limits = {"max_leaf_nodes": size.most_leaves, "max_depth": size.most_depth}
            self._booster.set_params(min_samples_leaf=size.least_rows, **limits)
            while self._threads.has_one_to_try and self._n_grown + TIMED_TREES < last:
                self._threads.try_next(partial(self._grow, self._n_grown + TIMED_TREES))
            with openmp_threads(self._threads.best):
                self._grow(last)
        return with_edges(BoostedTrees.of(self._booster), self._rows.edges)

    def _grow(self, n_trees: int) -> None:
        self._booster.set_params(max_iter=n_trees).fit(self._rows.bins, self._y, sample_weight=self._weight)
        self._n_grown = n_trees


def grow(booster: Booster, rows: BinnedRows, y: Array | Mask, weight: Array) -> BoostedTrees:
    """Fit a booster to targets y (n,) of binned rows; one with ``warm_start`` goes on from its last trees."""
    return with_edges(BoostedTrees.of(booster.fit(rows.bins, y, sample_weight=weight)), rows.edges)


def with_edges(trees: BoostedTrees, edges: Sequence[Array]) -> BoostedTrees:
    """Trees that split by the edges of bins, of those that split by numbers of bins."""
    splits = np.flatnonzero(trees.feature != LEAF)
    number = trees.number.copy()
    number[splits] = [edges[trees.feature[k]][int(trees.number[k])] for k in splits]
    return replace(trees, number=number)


def bin_edges(X: Array) -> list[Array]:
    """Edges of at most 255 bins of each column of X (n, d), of equally many rows."""
    return [_bin_edges(column[:BINNED_ROWS]) for column in X.T]


def _bin_edges(column: Array) -> Array:
    """At most 254 numbers between those of a column, with about equally many of them on any side."""
    distinct = np.unique(column).astype(float)
    if len(distinct) <= BINS:
        return 0.5 * (distinct[1:] + distinct[:-1])
    shares = np.linspace(0.0, 1.0, BINS + 1)[1:-1]
    return np.unique(np.quantile(column.astype(float), shares, method="averaged_inverted_cdf"))
