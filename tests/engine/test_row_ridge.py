"""Nodes solved in the space of their rows, against the same nodes solved from sums."""

import numpy as np
import pytest

from ssgp.engine.leave_one_out import leave_one_out
from ssgp.engine.ridge import solve_ridge, sum_products
from ssgp.engine.row_ridge import diagonal_parts, factorize_nested, factorize_rows

P, N, Q, RIDGE = 3, 12, 40, 20.0
# The second node has three rows and nine fillers, the third has none.
N_ROWS = np.array([12, 3, 0])


def nodes(rng, weighted):
    inside = np.arange(N) < N_ROWS[:, None]
    phi, y = rng.normal(size=(P, N, Q)) * inside[:, :, None], rng.normal(size=(P, N)) * inside
    weight = rng.uniform(0.3, 3.0, size=(P, N)) * inside if weighted else inside.astype(float)
    return phi, y, weight


def solve_rows(phi, y, weight, prior, ridge=RIDGE):
    """Scaled rows, and models from them."""
    residual = y if prior is None else y - np.matmul(phi, prior[:, :, None])[:, :, 0]
    scaled, root = phi * np.sqrt(weight)[:, :, None], np.sqrt(weight)
    return scaled, factorize_rows(np.matmul(scaled, scaled.swapaxes(1, 2)), root * residual, ridge)


def solve_sums(phi, y, weight, prior):
    return solve_ridge(sum_products(phi, y, weight, double=True), prior, RIDGE, np.eye(Q))


@pytest.mark.parametrize("shrunk", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_models_are_those_of_the_sums(weighted, shrunk, rng):
    phi, y, weight = nodes(rng, weighted)
    prior = rng.normal(size=(P, Q)) if shrunk else None
    scaled, found = solve_rows(phi, y, weight, prior)
    expected = solve_sums(phi, y, weight, prior)
    weights = found.weights(scaled) + (0.0 if prior is None else prior)
    np.testing.assert_allclose(weights, expected.weights, atol=1e-9)
    np.testing.assert_allclose(found.rss(), expected.rss, atol=1e-9)
    np.testing.assert_allclose(found.ridge, expected.ridge)
    sketches = found.sketch(scaled, np.eye(Q)), expected.sketch
    covariances = [sketch.swapaxes(1, 2) @ sketch for sketch in sketches]
    np.testing.assert_allclose(covariances[0], covariances[1], atol=1e-9)
    left = np.sqrt(weight) * (y - np.matmul(phi, expected.weights[:, :, None])[:, :, 0])
    np.testing.assert_allclose(found.remaining, left, atol=1e-9)


def test_one_sketch_is_unbiased(rng):
    """Leverages of 12 rows over 4000 draws of signs, within 5 standard errors of the exact ones."""
    phi, y, weight = nodes(rng, weighted=True)
    (scaled, found), expected = solve_rows(phi, y, weight, None), solve_sums(phi, y, weight, None)
    signs = [rng.choice([-1.0, 1.0], (1, Q)) for _ in range(4000)]
    squares = np.array([(found.sketch(scaled, own)[0, 0] @ phi[0].T) ** 2 for own in signs])
    exact = np.sum((expected.sketch[0] @ phi[0].T) ** 2, axis=0)
    assert np.all(abs(squares.mean(axis=0) - exact) < 5 * squares.std(axis=0) / np.sqrt(4000))


def test_nodes_may_have_signs_of_their_own(rng):
    phi, y, weight = nodes(rng, weighted=True)
    scaled, found = solve_rows(phi, y, weight, None)
    signs = rng.choice([-1.0, 1.0], (P, 2, Q))
    together = found.sketch(scaled, signs)
    for node in range(P):
        np.testing.assert_allclose(together[node], found.sketch(scaled, signs[node])[node], atol=1e-12)


@pytest.mark.parametrize("moving", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_errors_of_rows_left_out_are_those_of_the_sums(weighted, moving, rng):
    """And so is what moves on to children: the change of the rows' own predictions."""
    phi, y, weight = nodes(rng, weighted)
    prior = rng.normal(size=(P, Q))
    (scaled, found), expected = solve_rows(phi, y, weight, prior), solve_sums(phi, y, weight, prior)
    moved = rng.normal(size=(P, N, Q)) * (weight > 0)[:, :, None] if moving else None
    inverse = expected.sketch.swapaxes(1, 2) @ expected.sketch
    error, moved_on = leave_one_out(phi, y, weight, expected.weights, inverse, expected.ridge, moved, move_on=True)
    along = None if moved is None else np.matmul(moved, scaled.swapaxes(1, 2))
    own_error, own_moved = found.leave_one_out(along, True, float)
    root = np.sqrt(weight)
    np.testing.assert_allclose(own_error, root * error, rtol=1e-8, atol=1e-8)
    assert moved_on is not None
    assert own_moved is not None
    # Rows are left out with their weights, and so is what moves by leaving them out; `moved` was not scaled by row.
    np.testing.assert_allclose(own_moved, np.matmul(moved_on, scaled.swapaxes(1, 2)), rtol=1e-8, atol=1e-8)
    last, nothing = found.leave_one_out(along, False, float)
    np.testing.assert_allclose(last, own_error, rtol=1e-10, atol=1e-12)
    assert nothing is None


@pytest.mark.parametrize("shrink", [True, False])
def test_nodes_within_nodes_are_solved_from_blocks_of_one_matrix(shrink, rng):
    phi, y = rng.normal(size=(2, 12, Q)), rng.normal(size=(2, 12))
    prior, parts = None, 1
    for level, own in enumerate(factorize_nested(phi, y, [3, 2], RIDGE, shrink)):
        parts *= (1, 3, 2)[level]
        inner, targets = phi.reshape(2 * parts, -1, Q), y.reshape(2 * parts, -1)
        expected = solve_sums(inner, targets, None, prior)
        weights = own.weights(inner) + (0.0 if prior is None else prior)
        np.testing.assert_allclose(weights, expected.weights, atol=1e-9)
        prior = np.repeat(expected.weights, (3, 2, 1)[level], axis=0) if shrink else None


def test_parts_are_blocks_on_the_diagonal(rng):
    matrices = rng.normal(size=(2, 6, 6))
    expected = [matrix[i : i + 2, i : i + 2] for matrix in matrices for i in (0, 2, 4)]
    np.testing.assert_array_equal(diagonal_parts(matrices, 3), expected)


def test_repeated_rows_and_no_noise_break_nothing(rng):
    phi = np.tile(rng.normal(size=Q), (1, N, 1))
    scaled, found = solve_rows(phi, rng.normal(size=(1, N)), np.ones((1, N)), None, 1e-12)
    assert all(
        np.isfinite(part).all() for part in (found.weights(scaled), found.sketch(scaled, np.ones((1, Q))), found.rss())
    )
    assert np.isfinite(found.leave_one_out(np.ones((1, N, N)), True, float)[0]).all()
