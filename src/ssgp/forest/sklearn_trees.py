"""The one place that reaches into scikit-learn's boosted trees: their nodes, and their compiled descent.

Public calls would keep a whole booster per forest and refuse rows in a layout of ours. What is used here is what
`tests/forest/test_sklearn_trees.py` checks: where a version of scikit-learn breaks it, that test names what is missing.
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from ssgp._utils.arrays import Array, Indices

__all__ = ["LEAF", "compile_trees", "nodes_of_trees", "sum_of_trees"]

LEAF = -1
# Inputs are numbers: scikit-learn asks for its tables of categories all the same.
NO_CATEGORIES = np.zeros((0, 8), np.uint32)
NO_CATEGORICAL_INPUTS = np.zeros(0, np.uint32)


def nodes_of_trees(
    booster: HistGradientBoostingRegressor | HistGradientBoostingClassifier,
) -> tuple[dict[str, Any], float]:
    """Arrays `bounds`, `feature`, `number` and `children` of a fitted booster, see `BoostedTrees`, and its constant.

    A classifier has two classes: its trees say how probable the second is, in log odds.
    """
    trees = [tree.nodes for (tree,) in booster._predictors]
    nodes, leaf = np.concatenate(trees), np.concatenate([tree["is_leaf"] for tree in trees]).astype(bool)
    children = np.stack([nodes["left"], nodes["right"]], axis=1)
    arrays = {
        "bounds": np.cumsum([0, *map(len, trees)]),
        "feature": np.where(leaf, LEAF, nodes["feature_idx"]).astype(np.int32),
        "number": np.where(leaf, nodes["value"], nodes["num_threshold"]),
        "children": np.where(leaf[:, None], 0, children).astype(np.uint32),
    }
    return arrays, np.asarray(booster._baseline_prediction).item()


def compile_trees(bounds: Indices, feature: Indices, number: Array, children: Indices) -> list[TreePredictor]:
    """The same nodes in the layout that the compiled descent reads."""
    leaf = feature == LEAF
    nodes: NDArray[Any] = np.zeros(len(leaf), cast(Any, PREDICTOR_RECORD_DTYPE))
    nodes["is_leaf"] = leaf
    nodes["feature_idx"] = np.where(leaf, 0, feature)
    nodes["value"] = np.where(leaf, number, 0.0)
    nodes["num_threshold"] = np.where(leaf, 0.0, number)
    nodes["left"], nodes["right"] = children.T
    return [TreePredictor(tree, NO_CATEGORIES, NO_CATEGORIES) for tree in np.split(nodes, bounds[1:-1])]


def sum_of_trees(trees: Sequence[TreePredictor], X: Array, baseline: float) -> Array:
    """A constant plus the predictions of trees for rows X (n, d), float64, in as many threads as OpenMP may use."""
    n_threads = _openmp_effective_n_threads()
    out = np.full(len(X), baseline)
    for tree in trees:
        out += tree.predict(X, NO_CATEGORIES, NO_CATEGORICAL_INPUTS, n_threads)
    return out
