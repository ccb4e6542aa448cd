"""Errors on the training rows themselves, each as if its row had been left out, in closed form.

Leaving row i out of a node and of its ancestors moves the node's weights w = w_parent + A^-1 (c - G w_parent) by

    d = A^-1 (phi_i e_i + ridge d_parent)

where e_i is the row's error then. With h = phi_i^T A^-1 phi_i and the error r_i = y_i - phi_i^T w of the model that has
seen the row, that gives e_i = (r_i + ridge phi_i^T A^-1 d_parent) / (1 - h), from the root down: exactly what fitting
the nodes without the row would give. The tree's cuts, the frequencies and the ridge have seen it all the same.
"""

import numpy as np
from numpy.typing import DTypeLike

from ssgp._utils.arrays import Array
from ssgp.engine.row_ridge import MOST_LEVERAGE
from ssgp.engine.triangles import inverse_of_lower

__all__ = ["inverse_of_factor", "leave_one_out"]


def inverse_of_factor(factor: Array, inverses: Array, dtype: DTypeLike) -> Array:
    """A^-1 of nodes, shape (p, q, q), from the factors L of A, in the precision in which rows are left out of them.

    `inverses` (p, blocks, side, side) are those of the factors' diagonal blocks.
    """
    root = inverse_of_lower(factor.astype(dtype), inverses.astype(dtype))
    return np.matmul(root.swapaxes(1, 2), root)


def leave_one_out(
    phi: Array,
    y: Array,
    weight: Array | None,
    node_weights: Array,
    inverse: Array,
    ridge: Array,
    moved: Array | None,
    move_on: bool,
) -> tuple[Array, Array | None]:
    """Errors of the rows of a stack of nodes, each left out of its node and of the ancestors.

    Parameters
    ----------
    phi : array of shape (p, n, q)
        Features of the rows; everything is computed in their precision.
    y : array of shape (p, n)
        Targets of the rows.
    weight : array of shape (p, n) or None
        Weights of the rows, None for ones.
    node_weights : array of shape (p, q)
        Weights of the nodes' models, which have seen the rows.
    inverse : array of shape (p, q, q)
        A^-1 of the nodes.
    ridge : array of shape (p,)
        Their ridges.
    moved : array of shape (p, n, q) or None
        By how much leaving a row out moves the weights of the parent, None where nodes have none.
    move_on : bool
        Whether there are children, to which the nodes are parents.

    Returns
    -------
    errors : array of shape (p, n)
        Target minus prediction.
    moved : array of shape (p, n, q) or None
        By how much leaving a row out moves the nodes' own weights, for their children.
    """
    error = y.astype(phi.dtype) - np.matmul(phi, node_weights.astype(phi.dtype)[:, :, None])[:, :, 0]
    inverse = inverse.astype(phi.dtype, copy=False)
    along = np.matmul(phi, inverse)
    leverage = np.einsum("pnq,pnq->pn", along, phi)
    scale = ridge.astype(phi.dtype)
    if moved is not None:
        error = error + scale[:, None] * np.einsum("pnq,pnq->pn", along, moved)
    if weight is not None:
        leverage = leverage * weight
    error = error / (1.0 - np.clip(leverage, 0.0, MOST_LEVERAGE))
    if not move_on:
        return error, None
    # Where the parent does not move, as at the root, this is all.
    by_row = error if weight is None else error * weight
    along *= by_row[:, :, None].astype(phi.dtype)
    if moved is not None:
        along += np.matmul(moved, scale[:, None, None] * inverse)
    return error, along
