"""Errors on the training rows themselves, each as if its row had been left out, in closed form.

Leaving row i out of a node and of its ancestors moves the node's weights w = w_parent + A^-1 (c - G w_parent) by

    d = A^-1 (phi_i e_i + ridge d_parent)

where e_i is the row's error then. With h = phi_i^T A^-1 phi_i and the error r_i = y_i - phi_i^T w of the model that has
seen the row, that gives e_i = (r_i + ridge phi_i^T A^-1 d_parent) / (1 - h), from the root down: exactly what fitting
the leaves without the row would give. The tree's cuts, the frequencies and the ridge have seen it all the same.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ssgp.forest.nodes import SolvedNodes
from ssgp.spectrum.objectives import Block

__all__ = ["left_out_errors"]

Array = NDArray[np.floating]

# A row that determines its own prediction but for so little cannot be judged by the others.
MOST_LEVERAGE = 0.99
# Below this side a matrix is inverted as it is.
SMALL = 32


def left_out_errors(
    phi: Array,
    block: Block,
    bounds: NDArray[np.integer],
    levels: Sequence[SolvedNodes],
    groups: Sequence[int],
    shrink: bool,
) -> tuple[Array, Array]:
    """Errors of the rows of a branch, left out of every level's models in turn.

    Parameters
    ----------
    phi : array of shape (n, q)
        Features of the rows.
    block : Block
        The rows, for their targets and weights.
    bounds : int array of shape (p + 1,)
        Where the leaves begin and end.
    levels : sequence of SolvedNodes
        Models of the branch from its root down, with their factors, in whose precision it is worked.
    groups : sequence of int
        Leaves under a node of each level.
    shrink : bool
        Whether weights were shrunk towards the parent's.

    Returns
    -------
    errors : array of shape (levels, n), float32
        Target minus prediction.
    moved : array of shape (n, q)
        By how much leaving a row out moves the weights that a next level would be shrunk towards.
    """
    factors = [nodes.factor for nodes in levels if nodes.factor is not None]
    if len(factors) < len(levels):
        raise ValueError("left_out_errors needs nodes that were solved with their factors")
    errors = np.empty((len(levels), len(phi)), np.float32)
    phi = phi.astype(factors[0].dtype, copy=False)
    weighted, moved = block.weighted(phi).astype(phi.dtype, copy=False), np.zeros_like(phi)
    for level, (nodes, group, factor) in enumerate(zip(levels, groups, factors, strict=True)):
        root = inverse_of_lower(factor)
        inverse = root.swapaxes(1, 2) @ root
        for k, (start, stop) in enumerate(pairwise(bounds[::group].tolist())):
            rows = slice(start, stop)
            own = phi[rows] @ inverse[k]
            error = block.y[rows] - phi[rows] @ nodes.weights[k].astype(phi.dtype)
            if level and shrink:
                error += float(nodes.ridge[k]) * np.einsum("nq,nq->n", own, moved[rows])
            error /= 1.0 - np.clip(np.einsum("nq,nq->n", own, weighted[rows]), 0.0, MOST_LEVERAGE)
            errors[level, rows] = error
            if shrink and group > 1:
                right = weighted[rows] * error[:, None] + float(nodes.ridge[k]) * moved[rows]
                np.matmul(right, inverse[k], out=moved[rows])
    return errors, moved


def inverse_of_lower(factors: Array) -> Array:
    """Inverses of lower triangular matrices (p, q, q), by halves: nearly all of it matrix products."""
    size = factors.shape[-1]
    if size <= SMALL:
        return np.linalg.inv(factors)
    half = size // 2
    out = np.zeros_like(factors)
    out[:, :half, :half] = inverse_of_lower(factors[:, :half, :half])
    out[:, half:, half:] = inverse_of_lower(factors[:, half:, half:])
    out[:, half:, :half] = -out[:, half:, half:] @ (factors[:, half:, :half] @ out[:, :half, :half])
    return out
