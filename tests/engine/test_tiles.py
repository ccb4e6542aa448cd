"""Products by tiles, against those of all rows at once; means, against sums of plain numbers."""

import numpy as np
import pytest

from ssgp.engine.tiles import mean_in_order, product_in_tiles


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 24])
def test_tiles_are_a_product_in_which_rows_do_not_depend_on_each_other(n, rng):
    X, matrix = rng.normal(size=(n, 5)).astype(np.float32), rng.normal(size=(5, 11)).astype(np.float32)
    products = product_in_tiles(X, matrix)
    np.testing.assert_allclose(products, X @ matrix, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(product_in_tiles(X[n // 2 :], matrix), products[n // 2 :])
    np.testing.assert_array_equal(product_in_tiles(np.asfortranarray(X), matrix), products)


@pytest.mark.parametrize(("n_columns", "n_products"), [(5, 11), (12, 16), (40, 108), (300, 50)])
def test_a_row_does_not_depend_on_its_place(n_columns, n_products, rng):
    X = rng.normal(size=(60, n_columns)).astype(np.float32)
    matrix = rng.normal(size=(n_columns, n_products)).astype(np.float32)
    np.testing.assert_array_equal(product_in_tiles(X[::-1], matrix), product_in_tiles(X, matrix)[::-1])


@pytest.mark.parametrize("n_parts", [1, 7, 8, 9, 200])
def test_means_are_added_in_one_order_for_any_number_of_rows_and_layout(n_parts, rng):
    parts = rng.lognormal(sigma=5.0, size=(n_parts, 30))
    means = mean_in_order(parts)
    expected = np.array([sum(column.tolist(), 0.0) / n_parts for column in parts.T])
    np.testing.assert_allclose(means, expected, rtol=1e-12)
    np.testing.assert_array_equal(mean_in_order(np.asfortranarray(parts)), means)
    np.testing.assert_array_equal(np.concatenate([mean_in_order(parts[:, k : k + 1]) for k in range(30)]), means)
