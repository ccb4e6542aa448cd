"""Leaves solved in the space of their rows, against the same leaves solved from sums."""

import numpy as np
import pytest

from ssgp.forest.leave_one_out import left_out_errors
from ssgp.forest.nodes import leaf_sums, solve_branch
from ssgp.forest.small_leaves import SmallLeaves, are_small
from ssgp.rows.blocks import Block

Q, RIDGE, GROUPS = 40, 20.0, (4, 1)


def branch(rng, weighted, sizes=(12, 3, 0, 20)):
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    n = bounds[-1]
    block = Block(np.zeros((n, 1)), rng.normal(size=n), rng.uniform(0.3, 3.0, size=n) if weighted else None)
    return rng.normal(size=(n, Q)), block, bounds


def both(phi, block, bounds, shrink, signs, ridge=RIDGE):
    """Levels solved from sums, and the leaves solved from rows."""
    levels = solve_branch(leaf_sums(phi, block, bounds), GROUPS, ridge, signs, shrink, factors=np.float64)
    prior = np.repeat(levels[0].weights, 4, axis=0) if shrink else None
    return levels, SmallLeaves.of(phi, block, bounds, prior, ridge, np.float64)


@pytest.mark.parametrize("shrink", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_models_are_those_of_the_sums(weighted, shrink, rng):
    (_, expected), leaves = both(*branch(rng, weighted), shrink, np.eye(Q))
    found = leaves.solve(np.eye(Q))
    for name in ("weights", "count", "rss", "log_determinant", "ridge"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-9, err_msg=name)
    covariance = [nodes.sketch.swapaxes(1, 2) @ nodes.sketch for nodes in (found, expected)]
    np.testing.assert_allclose(covariance[0], covariance[1], atol=1e-9)


def test_one_sketch_is_unbiased(rng):
    """Leverages of 35 rows over 4000 seeds, within 5 standard errors of the exact ones."""
    phi, block, bounds = branch(rng, weighted=True)
    (_, expected), leaves = both(phi, block, bounds, True, np.eye(Q))
    squares = np.array([(leaves.solve(rng.choice([-1.0, 1.0], (1, Q))).sketch[3, 0] @ phi.T) ** 2 for _ in range(4000)])
    exact = np.sum((expected.sketch[3] @ phi.T) ** 2, axis=0)
    assert np.all(abs(squares.mean(axis=0) - exact) < 5 * squares.std(axis=0) / np.sqrt(4000))


@pytest.mark.parametrize("shrink", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_errors_of_rows_left_out_are_those_of_the_sums(weighted, shrink, rng):
    phi, block, bounds = branch(rng, weighted)
    levels, leaves = both(phi, block, bounds, shrink, np.eye(Q))
    (_, expected), moved = left_out_errors(phi, block, bounds, levels, GROUPS, shrink)
    np.testing.assert_allclose(leaves.left_out_errors(moved), expected, rtol=1e-4, atol=1e-5)


def test_repeated_rows_and_no_noise_break_nothing(rng):
    phi, block, bounds = branch(rng, weighted=False)
    phi[:] = phi[0]
    levels, leaves = both(phi, block, bounds, True, np.eye(Q), ridge=1e-12)
    found = leaves.solve(np.ones((1, Q)))
    assert all(np.isfinite(part).all() for part in (found.weights, found.sketch, found.rss, found.log_determinant))
    assert np.isfinite(leaves.left_out_errors(left_out_errors(phi, block, bounds, levels, GROUPS, True)[1])).all()


def test_which_leaves_are_small():
    assert are_small(np.array([0, 3, 3, 9]), 10)
    assert not are_small(np.array([0, 3, 12]), 10)
    assert not are_small(np.array([0, 0, 0]), 10)
