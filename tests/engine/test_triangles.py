"""Triangular matrices by blocks, against products with what they are to undo."""

import numpy as np
import pytest

from ssgp.engine.triangles import diagonal_inverses, inverse_of_lower, solve_lower, solve_upper


@pytest.fixture(params=[1, 31, 33, 70, 209])
def factors(request, rng):
    return np.tril(rng.normal(size=(3, request.param, request.param))) / request.param + np.eye(request.param)


def test_inverse_of_lower(factors):
    np.testing.assert_allclose(
        inverse_of_lower(factors) @ factors, np.tile(np.eye(factors.shape[1]), (3, 1, 1)), atol=1e-10
    )


def test_systems_are_solved(factors, rng):
    right, inverses = rng.normal(size=(3, factors.shape[1], 2)), diagonal_inverses(factors)
    np.testing.assert_allclose(factors @ solve_lower(factors, inverses, right), right, atol=1e-10)
    np.testing.assert_allclose(factors.swapaxes(1, 2) @ solve_upper(factors, inverses, right), right, atol=1e-10)
