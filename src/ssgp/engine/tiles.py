"""Products and means in one fixed order: which rows come together does not change a row's last digit."""

import numpy as np

from ssgp._utils.arrays import Array

__all__ = ["mean_in_order", "product_in_tiles"]

# Numbers whose running sums cost no more than calls.
FEW_NUMBERS = 2048


def product_in_tiles(X: Array, matrix: Array, tile_rows: int) -> Array:
    """X matrix, for one matrix or for each of several, in products of so many rows.

    BLAS may add in another order for another number of rows; here every product has the same one, the last filled up
    with rows of zeros.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.
    matrix : array of shape (..., d, q)
        What they are multiplied with.
    tile_rows : int
        Rows of a product.

    Returns
    -------
    array of shape (..., n, q)
        The products.
    """
    n_rows, n_columns = X.shape
    n_tiles = -(-n_rows // tile_rows)
    if n_rows < n_tiles * tile_rows:
        padded = np.zeros((n_tiles * tile_rows, n_columns), X.dtype)
        padded[:n_rows] = X
    else:
        padded = np.ascontiguousarray(X)
    products = np.matmul(padded.reshape(n_tiles, tile_rows, n_columns), matrix[..., None, :, :])
    return products.reshape(*matrix.shape[:-2], n_tiles * tile_rows, matrix.shape[-1])[..., :n_rows, :]


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
