"""Products and means in one fixed order: which rows come together does not change a row's last digit."""

import numpy as np

from ssgp._utils.arrays import Array

__all__ = ["TILE_ROWS", "mean_in_order", "product_in_tiles"]

# Rows of a product. A row's last digit may depend on its place among those of a product, too: OpenBLAS takes some by
# six and the rest by four where processors have AVX2 (all of AMD's), but the first eight alike.
TILE_ROWS = 8

# Numbers whose running sums cost no more than calls.
FEW_NUMBERS = 2048


def product_in_tiles(X: Array, matrix: Array) -> Array:
    """X matrix, for one matrix or for each of several, in products of `TILE_ROWS` rows.

    BLAS may add in another order for another number of rows; here every product has the same one, the last filled up
    with rows of zeros.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.
    matrix : array of shape (..., d, q)
        What they are multiplied with.

    Returns
    -------
    array of shape (..., n, q)
        The products.
    """
    n_rows, n_columns = X.shape
    n_tiles = -(-n_rows // TILE_ROWS)
    if n_rows < n_tiles * TILE_ROWS:
        padded = np.zeros((n_tiles * TILE_ROWS, n_columns), X.dtype)
        padded[:n_rows] = X
    else:
        padded = np.ascontiguousarray(X)
    products = np.matmul(padded.reshape(n_tiles, TILE_ROWS, n_columns), matrix[..., None, :, :])
    return products.reshape(*matrix.shape[:-2], n_tiles * TILE_ROWS, matrix.shape[-1])[..., :n_rows, :]


def mean_in_order(parts: Array) -> Array:
    """Means over the first axis of an array (T, n), shape (n,), added from the first part to the last.

    NumPy adds in an order that depends on the number of rows and on how they lie in memory, but for running sums, which
    for few rows take less time than a loop.
    """
    if parts.size <= FEW_NUMBERS:
        return np.add.accumulate(parts, axis=0)[-1] / len(parts)
    total = np.zeros(parts.shape[1:], parts.dtype)
    for part in parts:
        total += part
    return total / len(parts)
