"""The arithmetic of a card against that of NumPy, by PyTorch on the processor."""

from typing import Any

import numpy as np
import pytest

from devices import CARD
from ssgp.engine import leave_one_out as host_errors
from ssgp.engine import ridge as host
from ssgp.engine.descent import descend as descend_on_host
from ssgp.engine.on_card.backend import torch
from ssgp.engine.on_card.descent import descend
from ssgp.engine.on_card.features import leaf_features
from ssgp.engine.on_card.leave_one_out import leave_one_out
from ssgp.engine.on_card.ridge import factorize, inverse_of_factor, solve_ridge, sum_products
from ssgp.engine.on_card.stacks import stack_leaves
from ssgp.forest.leaf_features import LeafFeatures
from ssgp.rows.bisecting_tree import grow_tree

pytestmark = pytest.mark.card

P, N, Q, RIDGE = 4, 30, 20, 0.7


def sent(*arrays) -> Any:
    return [None if values is None else CARD.send(values) for values in arrays]


def leaves(rng, weighted, dtype: Any = float) -> Any:
    weight = rng.uniform(0.3, 3.0, size=(P, N)) if weighted else None
    return rng.normal(size=(P, N, Q)).astype(dtype), rng.normal(size=(P, N)), weight


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("double", [False, True])
def test_sums(weighted, double, rng):
    arrays = leaves(rng, weighted, np.float32)
    found = sum_products(*sent(*arrays), double=double).cpu().numpy()
    np.testing.assert_allclose(found, host.sum_products(*arrays, double=double), atol=1e-12 if double else 1e-4)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("shrunk", [False, True])
def test_models(exact, shrunk, rng):
    products = host.sum_products(*leaves(rng, False), double=True)
    prior = rng.normal(size=(P, Q)) if shrunk else None
    signs = np.eye(Q) if exact else rng.choice([-1.0, 1.0], (2, Q))
    found = solve_ridge(*sent(products.copy(), prior), ridge=RIDGE, signs=CARD.send(signs))
    expected = host.solve_ridge(products, prior, RIDGE, signs)
    for name in ("weights", "sketch", "rss", "ridge", "factor"):
        np.testing.assert_allclose(getattr(found, name).cpu().numpy(), getattr(expected, name), atol=1e-9, err_msg=name)


def test_models_where_rounding_leaves_nothing_positive(rng):
    gram = np.zeros((3, 5, 5))
    gram[1] = np.eye(5) - 1e-9 * np.ones((5, 5))
    gram[1, 4, 4] = -1e-12
    gram[2] = np.ones((5, 5))
    factor = factorize(*sent(gram, np.array([1.0, 1e-13, 1e-13]))).cpu().numpy()
    np.testing.assert_allclose(factor[0], np.eye(5))
    assert np.isfinite(factor).all()
    np.testing.assert_allclose(factor[2] @ factor[2].T, gram[2], atol=1e-6)


@pytest.mark.slow
def test_sums_that_are_not_finite_are_an_error():
    with pytest.raises(ArithmeticError, match="not finite"):
        factorize(*sent(np.full((1, 3, 3), np.nan), np.ones(1)))


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_of_rows_left_out(weighted, rng):
    phi, y, weight = leaves(rng, weighted)
    models: Any = (
        rng.normal(size=(P, Q)),
        np.linalg.inv(10 * np.eye(Q) + np.ones((Q, Q)))[None].repeat(P, 0),
        np.ones(P),
    )
    for moved, move_on in [(None, True), (rng.normal(size=(P, N, Q)), True), (rng.normal(size=(P, N, Q)), False)]:
        given: Any = (phi, y, weight, *models, moved)
        found: Any = leave_one_out(*sent(*given), move_on=move_on)
        expected: Any = host_errors.leave_one_out(*given, move_on=move_on)
        np.testing.assert_allclose(found[0].cpu().numpy(), expected[0], atol=1e-10)
        if move_on:
            np.testing.assert_allclose(found[1].cpu().numpy(), expected[1], atol=1e-10)
        else:
            assert found[1] is None


def test_inverses(rng):
    root = rng.normal(size=(P, Q, Q))
    matrices = root @ root.swapaxes(1, 2) + np.eye(Q)
    found = inverse_of_factor(CARD.send(np.linalg.cholesky(matrices)), torch.float64).cpu().numpy()
    np.testing.assert_allclose(found @ matrices, np.eye(Q)[None].repeat(P, 0), atol=1e-10)


@pytest.mark.parametrize("n_leaves", [1, 2, 3, 32, 50, 64])
def test_leaves_of_rows(n_leaves, rng, monkeypatch):
    X = rng.normal(size=(500, 3)).astype(np.float32)
    trees = [grow_tree(X, n_leaves, rng, np.ones(3, np.float32), 0.5)[0] for _ in range(2)]
    planes = np.stack([tree.directions for tree in trees]), np.stack([tree.thresholds for tree in trees])
    monkeypatch.setattr("ssgp.engine.on_card.descent.NUMBERS_AT_ONCE", 6 * 99)
    found = descend(CARD.send(X), *sent(*planes, trees[0].children)).cpu().numpy()
    expected = descend_on_host(X, *planes, trees[0].children)
    # Rounding may put a row on the other side of a plane that it lies in.
    assert np.mean(found != expected) <= 0.004


def test_features_of_leaves(rng):
    X = rng.normal(size=(3, 7, 4)).astype(np.float32)
    for trend in (None, np.array([1, 3])):
        features: Any = LeafFeatures.of(0.3 * rng.normal(size=(5, 4)), np.arange(1.0, 5.0), trend)
        names = () if trend is None else ("trend_inputs", "slopes")
        wide = {name: CARD.send(getattr(features, name)) for name in names}
        found = leaf_features(*sent(X, features.projection), n_cosines=features.n_cosines, **wide).cpu().numpy()
        np.testing.assert_allclose(found, features(X), atol=1e-5)


@pytest.mark.parametrize("most_rows", [10, 1000])
def test_stacks_have_every_row_once(most_rows, rng):
    sizes = np.array([5, 0, 33, 6, 5, 1])
    ends = np.cumsum(sizes)
    values, found = rng.normal(size=50), np.zeros(6)
    for stack in stack_leaves(CARD, ends - sizes, ends, most_rows):
        assert stack.rows.numel() <= max(most_rows, 8)
        found[stack.leaves.cpu().numpy()] += stack.take(CARD.send(values)).sum(dim=1).cpu().numpy()
    expected = [values[end - size : end].sum() for size, end in zip(sizes, ends, strict=True)]
    np.testing.assert_allclose(found, expected)
