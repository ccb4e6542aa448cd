"""Leaves solved in the space of their rows, against the same leaves solved from sums."""

import numpy as np
import pytest

from ssgp.engine.leave_one_out import leave_one_out
from ssgp.engine.ridge import solve_ridge, sum_products
from ssgp.engine.row_ridge import factorize_rows

P, N, Q, RIDGE = 3, 12, 40, 20.0
# The second leaf has three rows and nine fillers, the third has none.
N_ROWS = np.array([12, 3, 0])


def leaves(rng, weighted):
    inside = np.arange(N) < N_ROWS[:, None]
    phi, y = rng.normal(size=(P, N, Q)) * inside[:, :, None], rng.normal(size=(P, N)) * inside
    weight = rng.uniform(0.3, 3.0, size=(P, N)) * inside if weighted else inside.astype(float)
    return phi, y, weight


def both(rng, weighted, shrunk, ridge=RIDGE):
    """Leaves solved from rows, and from sums."""
    phi, y, weight = leaves(rng, weighted)
    prior = rng.normal(size=(P, Q)) if shrunk else None
    from_sums = solve_ridge(sum_products(phi, y, weight, double=True), prior, ridge, np.eye(Q))
    return phi, y, weight, prior, factorize_rows(phi, y, np.sqrt(weight), prior, ridge), from_sums


@pytest.mark.parametrize("shrunk", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_models_are_those_of_the_sums(weighted, shrunk, rng):
    *_, found, expected = both(rng, weighted, shrunk)
    np.testing.assert_allclose(found.weights(), expected.weights, atol=1e-9)
    np.testing.assert_allclose(found.rss(), expected.rss, atol=1e-9)
    np.testing.assert_allclose(found.ridge, expected.ridge)
    sketches = found.sketch(np.eye(Q)), expected.sketch
    covariances = [sketch.swapaxes(1, 2) @ sketch for sketch in sketches]
    np.testing.assert_allclose(covariances[0], covariances[1], atol=1e-9)


def test_one_sketch_is_unbiased(rng):
    """Leverages of 12 rows over 4000 draws of signs, within 5 standard errors of the exact ones."""
    phi, *_, found, expected = both(rng, weighted=True, shrunk=True)
    signs = [rng.choice([-1.0, 1.0], (1, Q)) for _ in range(4000)]
    squares = np.array([(found.sketch(own)[0, 0] @ phi[0].T) ** 2 for own in signs])
    exact = np.sum((expected.sketch[0] @ phi[0].T) ** 2, axis=0)
    assert np.all(abs(squares.mean(axis=0) - exact) < 5 * squares.std(axis=0) / np.sqrt(4000))


@pytest.mark.parametrize("move_on", [True, False])
@pytest.mark.parametrize("moving", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_errors_of_rows_left_out_are_those_of_the_sums(weighted, moving, move_on, rng):
    phi, y, weight, _, found, expected = both(rng, weighted, shrunk=True)
    moved = rng.normal(size=(P, N, Q)) if moving else None
    inverse = expected.sketch.swapaxes(1, 2) @ expected.sketch
    exact, moved_exactly = leave_one_out(phi, y, weight, expected.weights, inverse, expected.ridge, moved, move_on)
    errors, moved_here = found.leave_one_out(moved, move_on)
    np.testing.assert_allclose(errors, exact, rtol=1e-8, atol=1e-8)
    assert (moved_here is None) == (moved_exactly is None) == (not move_on)
    if moved_here is not None and moved_exactly is not None:
        inside = weight > 0
        np.testing.assert_allclose(moved_here[inside], moved_exactly[inside], rtol=1e-8, atol=1e-8)


def test_signs_may_be_those_of_each_leaf(rng):
    *_, found, _ = both(rng, weighted=True, shrunk=True)
    signs = rng.choice([-1.0, 1.0], (P, 2, Q))
    apart = [found.sketch(own)[number] for number, own in enumerate(signs)]
    np.testing.assert_allclose(found.sketch(signs), apart, rtol=1e-12)


def test_repeated_rows_and_no_noise_break_nothing(rng):
    phi = np.tile(rng.normal(size=Q), (1, N, 1))
    found = factorize_rows(phi, rng.normal(size=(1, N)), np.ones((1, N)), None, 1e-12)
    assert all(np.isfinite(part).all() for part in (found.weights(), found.sketch(np.ones((1, Q))), found.rss()))
    assert np.isfinite(found.leave_one_out(np.ones((1, N, Q)), move_on=False)[0]).all()
