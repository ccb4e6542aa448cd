"""Errors of rows left out of a tree, against a tree that never had them."""

import numpy as np
import pytest

from ssgp.forest.branches import fill_branch, join_one
from ssgp.forest.leaf_features import Waves
from ssgp.forest.leave_one_out import inverse_of_lower, left_out_errors
from ssgp.forest.nodes import leaf_sums, solve_branch
from ssgp.rows.blocks import Block

Q, RIDGE, GROUPS = 5, 0.7, (4, 2, 1)
BOUNDS = np.array([0, 12, 15, 15, 40])


def without(i, phi, block):
    keep = np.arange(len(phi)) != i
    weight = None if block.weight is None else block.weight[keep]
    bounds = BOUNDS - (BOUNDS > i)
    return phi[keep], Block(block.X[keep], block.y[keep], weight), bounds


def solved(phi, block, bounds, shrink):
    return solve_branch(leaf_sums(phi, block, bounds), GROUPS, RIDGE, np.eye(Q), shrink, factors=np.float64)


@pytest.mark.parametrize("shrink", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_against_leaving_rows_out(weighted, shrink, rng):
    phi, y = rng.normal(size=(40, Q)), rng.normal(size=40)
    block = Block(rng.normal(size=(40, 2)), y, rng.uniform(0.3, 3.0, size=40) if weighted else None)
    found, _ = left_out_errors(phi, block, BOUNDS, solved(phi, block, BOUNDS, shrink), GROUPS, shrink)
    leaf = np.repeat(np.arange(4), np.diff(BOUNDS))
    for i in range(40):
        levels = solved(*without(i, phi, block), shrink)
        for level, group in enumerate(GROUPS):
            expected = y[i] - phi[i] @ levels[level].weights[leaf[i] // group]
            assert found[level, i] == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_a_row_that_is_alone_in_its_leaf_is_predicted_by_its_parent(rng):
    phi, block = rng.normal(size=(9, Q)), Block(np.zeros((9, 1)), rng.normal(size=9), None)
    bounds = np.array([0, 1, 9])
    levels = solve_branch(leaf_sums(phi, block, bounds), (2, 1), RIDGE, np.eye(Q), factors=np.float64)
    (root, leaf), _ = left_out_errors(phi, block, bounds, levels, (2, 1), shrink=True)
    assert leaf[0] == pytest.approx(root[0], rel=1e-4)


def test_a_row_that_determines_its_model_has_a_finite_error(rng):
    phi, block = rng.normal(size=(1, Q)), Block(np.zeros((1, 1)), np.array([2.0]), None)
    bounds = np.array([0, 1])
    sure = solve_branch(leaf_sums(phi, block, bounds), (1,), 1e-12, np.eye(Q), factors=np.float64)
    assert np.isfinite(left_out_errors(phi, block, bounds, sure, (1,), shrink=True)[0]).all()


@pytest.mark.parametrize("size", [1, 31, 33, 70, 209])
def test_inverse_of_lower(size, rng):
    factors = np.tril(rng.normal(size=(3, size, size))) / size + np.eye(size)
    np.testing.assert_allclose(inverse_of_lower(factors) @ factors, np.tile(np.eye(size), (3, 1, 1)), atol=1e-10)


@pytest.mark.parametrize("noise", [0.01, 1e-3, 1e-4])
def test_low_noise_keeps_its_digits(noise, rng):
    """Errors in deviations of the noise, in single precision features and against double precision throughout."""
    waves = Waves.of(rng.normal(size=(20, 2)), np.ones(2))
    X = rng.uniform(-1, 1, size=(600, 2)).astype(np.float32)
    y = (np.sin(3 * X[:, 0]) + noise * rng.normal(size=600)).astype(np.float32)
    block, bounds, ridge = Block(X, y, None), np.array([0, 600]), 20 * noise**2
    _, errors = fill_branch(block, bounds, waves, (1,), ridge, np.eye(43)[:1], True, True)
    assert errors is not None
    phi = waves.features(join_one(X)).astype(float)
    hat = phi @ np.linalg.solve(phi.T @ phi + ridge * np.eye(phi.shape[1]), phi.T)
    expected = (y - hat @ y) / (1 - np.diag(hat))
    assert np.abs(errors[0] - expected).max() < 0.05 * noise
