"""Boosted trees as a few plain arrays: what predicts once scikit-learn has grown them."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from ssgp.saving.kinds import stored

__all__ = ["BoostedTrees", "grow"]

Array = NDArray[np.floating]

LEAF = -1
# Inputs are numbers: scikit-learn asks for its tables of categories all the same.
NO_CATEGORIES = np.zeros((0, 8), np.uint32)
# Bins of an input, and rows that their edges are taken from.
BINS = 255
BINNED_ROWS = 200_000


@stored()
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

    bounds: NDArray[np.integer]
    feature: NDArray[np.integer]
    number: Array
    children: NDArray[np.integer]
    baseline: float
    n_inputs: int

    def __post_init__(self) -> None:
        """Refuse nodes that lead out of their tree or in a circle: the compiled descent does not look."""
        sizes = np.diff(self.bounds)
        whole = self.bounds[0] == 0 and self.bounds[-1] == len(self.feature) and sizes.min(initial=1) > 0
        if not (whole and self._lead_onward(sizes)):
            raise ValueError("the nodes of boosted trees do not form trees")

    def _lead_onward(self, sizes: NDArray[np.integer]) -> bool:
        """Whether splits are by inputs there are, and children come after their parents in the same tree."""
        within = (np.arange(len(self.feature)) - np.repeat(self.bounds[:-1], sizes))[:, None]
        onward = (self.children > within) & (self.children < np.repeat(sizes, sizes)[:, None])
        known = (self.feature >= LEAF) & (self.feature < self.n_inputs)
        return bool(known.all() and onward[self.feature != LEAF].all())

    @classmethod
    def of(cls, booster: HistGradientBoostingRegressor) -> "BoostedTrees":
        """Trees of a booster that was fitted to squared errors, on numbers."""
        trees = [tree.nodes for (tree,) in booster._predictors]
        nodes, leaf = np.concatenate(trees), np.concatenate([tree["is_leaf"] for tree in trees]).astype(bool)
        children = np.stack([nodes["left"], nodes["right"]], axis=1)
        return cls(
            bounds=np.cumsum([0, *map(len, trees)]),
            feature=np.where(leaf, LEAF, nodes["feature_idx"]).astype(np.int32),
            number=np.where(leaf, nodes["value"], nodes["num_threshold"]),
            children=np.where(leaf[:, None], 0, children).astype(np.uint32),
            baseline=np.asarray(booster._baseline_prediction).item(),
            n_inputs=booster.n_features_in_,
        )

    @property
    def nbytes(self) -> int:
        """Bytes."""
        return self.bounds.nbytes + self.feature.nbytes + self.number.nbytes + self.children.nbytes

    def predict(self, X: Array) -> Array:
        """Of rows (n, d), shape (n,), in as many threads as OpenMP may use."""
        rows, n_threads = np.asarray(X, dtype=np.float64), _openmp_effective_n_threads()
        if rows.shape[1] != self.n_inputs:
            raise ValueError(f"X has {rows.shape[1]} columns, the trees were grown on {self.n_inputs}")
        no_features = np.zeros(0, np.uint32)
        out = np.full(len(rows), self.baseline)
        for tree in self._compiled:
            out += tree.predict(rows, NO_CATEGORIES, no_features, n_threads)
        return out

    @cached_property
    def _compiled(self) -> list[TreePredictor]:
        """The same nodes in the layout that scikit-learn's compiled descent reads."""
        leaf = self.feature == LEAF
        nodes: NDArray[Any] = np.zeros(len(leaf), cast(Any, PREDICTOR_RECORD_DTYPE))
        nodes["is_leaf"] = leaf
        nodes["feature_idx"] = np.where(leaf, 0, self.feature)
        nodes["value"] = np.where(leaf, self.number, 0.0)
        nodes["num_threshold"] = np.where(leaf, 0.0, self.number)
        nodes["left"], nodes["right"] = self.children.T
        parts = np.split(nodes, self.bounds[1:-1])
        return [TreePredictor(part, NO_CATEGORIES, NO_CATEGORIES) for part in parts]

    def __getstate__(self) -> dict:
        """Pickle what does not depend on scikit-learn's version."""
        return {name: value for name, value in vars(self).items() if name != "_compiled"}


def grow(booster: HistGradientBoostingRegressor, X: Array, y: Array, weight: Array) -> BoostedTrees:
    """Fit a booster to the numbers of the rows' bins, and put the bins' edges in their place.

    Scikit-learn's own bins, with weights, take many times as long as its trees. These are of equally many rows.
    """
    edges = [_bin_edges(column[:BINNED_ROWS]) for column in X.T]
    numbers = np.stack([np.searchsorted(own, column) for own, column in zip(edges, X.T, strict=True)], axis=1)
    trees = BoostedTrees.of(booster.fit(numbers, y, sample_weight=weight))
    splits = np.flatnonzero(trees.feature != LEAF)
    number = trees.number.copy()
    number[splits] = [edges[trees.feature[k]][int(trees.number[k])] for k in splits]
    return replace(trees, number=number)


def _bin_edges(column: Array) -> Array:
    """At most 254 numbers between those of a column, with about equally many of them on any side."""
    distinct = np.unique(column).astype(float)
    if len(distinct) <= BINS:
        return 0.5 * (distinct[1:] + distinct[:-1])
    shares = np.linspace(0.0, 1.0, BINS + 1)[1:-1]
    return np.unique(np.quantile(column.astype(float), shares, method="averaged_inverted_cdf"))
