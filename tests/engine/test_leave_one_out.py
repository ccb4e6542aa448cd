"""Errors of rows left out of nodes and of their parents, against nodes that never had them."""

import numpy as np
import pytest

from ssgp.engine.leave_one_out import inverse_of_factor, leave_one_out
from ssgp.engine.ridge import solve_ridge, sum_products

N, Q, RIDGE = 24, 5, 0.7
# Leaves of two nodes that have one parent.
LEAF = np.repeat([0, 1], [9, 15])


def solve(phi, y, weight, prior):
    stacked = None if weight is None else weight[None]
    products = sum_products(phi[None], y[None], stacked, double=True)
    return solve_ridge(products, None if prior is None else prior[None], RIDGE, np.eye(Q))


def errors(phi, y, weight, rows, solution, moved, move_on):
    """Of the rows of one node, in a stack of one."""
    weight = None if weight is None else weight[None, rows]
    moved = None if moved is None else moved[:, rows]
    models = solution.weights, inverse_of_factor(solution.factor, solution.inverses, float), solution.ridge
    return leave_one_out(phi[None, rows], y[None, rows], weight, *models, moved, move_on)


@pytest.mark.parametrize("weighted", [True, False])
def test_against_leaving_rows_out_of_a_tree_of_three_levels(weighted, rng):
    phi, y = rng.normal(size=(N, Q)), rng.normal(size=N)
    weight = rng.uniform(0.3, 3.0, size=N) if weighted else None
    everything, leaf, half = np.arange(N), LEAF == 1, np.arange(N) >= 16

    def weights(rows):
        return None if weight is None else weight[rows]

    def levels(kept):
        """Weights of the root, of the node of the second leaf, and of a node within it."""
        root = solve(phi[kept], y[kept], weights(kept), None)
        node = solve(phi[kept & leaf], y[kept & leaf], weights(kept & leaf), root.weights[0])
        inner = solve(phi[kept & half], y[kept & half], weights(kept & half), node.weights[0])
        return root, node, inner

    root, node, inner = levels(np.ones(N, dtype=bool))
    first, moved = errors(phi, y, weight, everything, root, None, True)
    second, moved_on = errors(phi, y, weight, leaf, node, moved, True)
    third, nothing = errors(phi, y, weight, half, inner, moved_on_to(moved_on, leaf, half), False)
    assert nothing is None
    for place, i in enumerate(np.flatnonzero(half)):
        without = levels(everything != i)
        expected = [y[i] - phi[i] @ level.weights[0] for level in without]
        found = [first[0, i], second[0, np.flatnonzero(leaf).tolist().index(int(i))], third[0, place]]
        np.testing.assert_allclose(found, expected, rtol=1e-8)


def moved_on_to(moved, rows, fewer):
    """Of the rows of a node, as if all rows were there, those of a node within it."""
    full = np.zeros((1, N, Q))
    full[:, rows] = moved
    return full


def test_a_row_that_is_alone_in_its_leaf_is_predicted_by_its_parent(rng):
    phi, y = rng.normal(size=(9, Q)), rng.normal(size=9)
    root = solve(phi, y, None, None)
    alone = solve(phi[:1], y[:1], None, root.weights[0])
    first, moved = errors(phi, y, None, np.arange(9), root, None, True)
    second, _ = errors(phi, y, None, np.array([0]), alone, moved, False)
    assert second[0, 0] == pytest.approx(first[0, 0])


def test_a_row_that_determines_its_model_has_a_finite_error(rng):
    phi, y = rng.normal(size=(1, Q)), np.array([2.0])
    products = sum_products(phi[None], y[None], None, double=True)
    sure = solve_ridge(products, None, 1e-12, np.eye(Q))
    assert np.isfinite(errors(phi, y, None, np.array([0]), sure, None, False)[0]).all()
