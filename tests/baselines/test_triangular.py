"""Cholesky factors against dense solves."""

import numpy as np
import pytest

from ssgp.baselines.triangular import CholeskyFactor


@pytest.fixture
def matrix(rng: np.random.Generator) -> np.ndarray:
    root = rng.normal(size=(7, 7))
    return root @ root.T + np.eye(7)


def test_products_agree_with_dense_solves(matrix: np.ndarray, rng: np.random.Generator) -> None:
    factor, L = CholeskyFactor.of(matrix), np.linalg.cholesky(matrix)
    vector, rows, columns = rng.normal(size=7), rng.normal(size=(4, 7)), rng.normal(size=(7, 3))
    pairs = [
        (factor.solve(vector), np.linalg.solve(L, vector)),
        (factor.solve_transposed(vector), np.linalg.solve(L.T, vector)),
        (factor.solve(rows), np.linalg.solve(L, rows.T).T),
        (factor.solve_transposed(rows), np.linalg.solve(L.T, rows.T).T),
        (factor.solve_columns(columns), np.linalg.solve(L, columns)),
        (factor.solve_columns_transposed(columns), np.linalg.solve(L.T, columns)),
        (factor.multiply_transposed(columns), L.T @ columns),
        (factor.matrix_inverse(), np.linalg.inv(matrix)),
        (factor.log_determinant, np.linalg.slogdet(matrix)[1]),
    ]
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_arguments_are_left_as_they_were(matrix: np.ndarray, rng: np.random.Generator) -> None:
    factor, columns = CholeskyFactor.of(matrix), rng.normal(size=(7, 3))
    lower, before = factor.lower.copy(), columns.copy()
    for product in (factor.solve_columns, factor.solve_columns_transposed, factor.multiply_transposed):
        product(columns)
        product(np.asfortranarray(columns))
    factor.matrix_inverse()
    np.testing.assert_array_equal(columns, before)
    np.testing.assert_array_equal(factor.lower, lower)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_a_matrix_that_is_not_positive_definite_is_refused(bad: float) -> None:
    with pytest.raises(np.linalg.LinAlgError):
        CholeskyFactor.of(np.diag([1.0, bad]))
