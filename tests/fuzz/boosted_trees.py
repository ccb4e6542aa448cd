"""Boosted trees made up at random: refused, or a compiled descent that ends and stays within its arrays."""

from typing import Any

import numpy as np

from ssgp.forest.boosted_trees import BoostedTrees
from ssgp.saving.contents import ContentsError
from ssgp.saving.kinds import kind_of

CASES = 3000
SECONDS = 10.0
ODD = (0, 1, -1, -2, 5, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, -(2**63), 0.5, np.nan, np.inf)


def case(seed: int) -> None:
    """Build trees of parts that are whole in some seeds and broken in most, and predict with those that pass."""
    rng = np.random.default_rng(seed)
    parts = whole(rng)
    n_breaks = int(rng.integers(4))
    for _ in range(n_breaks):
        break_part(parts, rng)
    kind = kind_of(BoostedTrees)
    assert kind is not None
    try:
        trees = kind.build(parts)
    except ContentsError:
        if not n_breaks:
            raise
        return
    X = rng.normal(size=(7, trees.n_inputs)) if trees.n_inputs <= 100 else np.zeros((1, 3))
    try:
        found = trees.predict(X)
    except ValueError:
        assert trees.n_inputs > 100
        return
    np.testing.assert_allclose(found, walk(trees, X), rtol=1e-12, atol=1e-12)


def whole(rng: np.random.Generator) -> dict[str, Any]:
    """Parts of one to three trees, as growing leaves them."""
    n_inputs = int(rng.integers(1, 4))
    trees = [grow(int(rng.integers(1, 8)), n_inputs, rng) for _ in range(rng.integers(1, 4))]
    features, numbers, children = (np.concatenate(column) for column in zip(*trees, strict=True))
    bounds = np.cumsum([0, *(len(tree[0]) for tree in trees)])
    return {
        "bounds": bounds.astype(np.int64),
        "feature": features.astype(np.int32),
        "number": numbers,
        "children": children.astype(np.uint32),
        "baseline": float(rng.normal()),
        "n_inputs": n_inputs,
    }


def grow(n_leaves: int, n_inputs: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, numbers and children of a random tree: a leaf is split until there are so many."""
    feature, children = [-1], [[0, 0]]
    for _ in range(n_leaves - 1):
        leaf = int(rng.choice(np.flatnonzero(np.array(feature) == -1)))
        feature[leaf], children[leaf] = int(rng.integers(n_inputs)), [len(feature), len(feature) + 1]
        feature += [-1, -1]
        children += [[0, 0], [0, 0]]
    return np.array(feature), rng.normal(size=len(feature)), np.array(children)


def break_part(parts: dict[str, Any], rng: np.random.Generator) -> None:
    """Change one part: an entry, the dtype, the shape, or all of it."""
    name = list(parts)[int(rng.integers(len(parts)))]
    value, odd = parts[name], ODD[int(rng.integers(len(ODD)))]
    if not isinstance(value, np.ndarray):
        parts[name] = odd
        return
    kind = rng.integers(6)
    with np.errstate(all="ignore"):
        if kind <= 2 and value.size:
            changed = value.copy()
            small = int(rng.integers(-1, len(parts["feature"]) + 2)) if isinstance(parts["feature"], np.ndarray) else 0
            number = odd if rng.random() < 0.4 else small
            changed.reshape(-1)[rng.integers(value.size)] = np.array(number, float).astype(value.dtype)
            parts[name] = changed
        elif kind == 3:
            parts[name] = value.astype(["f8", "i8", "i4", "u4", "u8", "?", "f4"][int(rng.integers(7))])
        elif kind == 4:
            parts[name] = [value[:0], value[:-1], value[None], value.ravel(), value[::-1]][int(rng.integers(5))]
        else:
            parts[name] = [None, [], "x", {}, 1][int(rng.integers(5))]


def walk(trees: BoostedTrees, X: np.ndarray) -> np.ndarray:
    """Predictions by a plain walk down each tree."""
    out = np.full(len(X), trees.baseline)
    for begin in trees.bounds[:-1]:
        for i, row in enumerate(X):
            node = int(begin)
            while trees.feature[node] != -1:
                right = row[trees.feature[node]] > trees.number[node]
                node = int(begin) + int(trees.children[node, int(right)])
            out[i] += trees.number[node]
    return out
