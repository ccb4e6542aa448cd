"""Rows of many inputs."""

import numpy as np
import pytest

from ssgp._utils.wide import COPIED_ROWS, WIDE, fewer_if_wide, largest, target_correlations


@pytest.mark.parametrize("n_rows", [1, 512, 4096, 10**6])
def test_rows_that_are_not_wide_stay_as_many(n_rows):
    assert {fewer_if_wide(n_rows, d, multiple_of=512) for d in (1, 100, WIDE)} == {n_rows}


@pytest.mark.parametrize("n_inputs", [301, 1000, 5000, 10**6])
@pytest.mark.parametrize("n_rows", [512, 4096, 10**6])
def test_wide_rows_have_no_more_numbers_but_for_one_multiple(n_rows, n_inputs):
    found = fewer_if_wide(n_rows, n_inputs, multiple_of=64)
    assert found % 64 == 0
    assert 64 <= found
    assert found == 64 or found * n_inputs <= min(n_rows, COPIED_ROWS) * WIDE


@pytest.mark.parametrize("weighted", [False, True])
def test_correlations_against_the_textbook(rng, weighted):
    X, weight = rng.normal(size=(400, 6)) * [1, 2, 3, 4, 5, 0] + 1.0, rng.uniform(0.1, 3.0, 400)
    y = X @ [0.5, 0.0, -0.2, 0.1, 0.0, 0.0] + rng.normal(size=400)
    given = weight if weighted else None
    covariance = np.cov(np.column_stack([X, y]).T, aweights=given, bias=True)
    expected = covariance[-1, :5] ** 2 / np.diag(covariance)[:5]
    np.testing.assert_allclose(target_correlations(X, y, given)[:5], expected, rtol=1e-8)
    assert target_correlations(X, y, given)[5] == 0.0


def test_the_largest_are_in_the_order_of_their_places_and_the_first_of_equals(rng):
    np.testing.assert_array_equal(largest(np.array([3.0, 9.0, 1.0, 9.0, 3.0]), 3), [0, 1, 3])
    np.testing.assert_array_equal(largest(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]), 2), [[1, 2], [0, 1]])
