"""Products by tiles, against those of all rows at once."""

import numpy as np
import pytest

from ssgp.engine.tiles import product_in_tiles


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 24])
def test_tiles_are_a_product_in_which_rows_do_not_depend_on_each_other(n, rng):
    X, matrix = rng.normal(size=(n, 5)).astype(np.float32), rng.normal(size=(5, 11)).astype(np.float32)
    products = product_in_tiles(X, matrix, 8)
    np.testing.assert_allclose(products, X @ matrix, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(product_in_tiles(X[n // 2 :], matrix, 8), products[n // 2 :])
    np.testing.assert_array_equal(product_in_tiles(np.asfortranarray(X), matrix, 8), products)
