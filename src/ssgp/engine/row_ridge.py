"""Ridge regressions of nodes of fewer rows than features, solved in the space of their rows.

With P = W^1/2 Phi of n rows and K = P P^T, all that is asked of A = P^T P + ridge I, a matrix of q features, follows
from M = (I + K / ridge)^-1, a matrix of n rows: A^-1 = (I - P^T M P / ridge) / ridge. Where r = W^1/2 (y - Phi prior)
are the scaled residuals of a node's prior, those of the node are M r, its weights are prior + P^T M r / ridge, and its
residual sum of squares, penalty included, is r^T M r. So K is all that nodes within nodes need: a child's is a diagonal
block of its parent's, and its r is what the parent leaves of its rows.

Leaving row i out (`leave_one_out` has the terms) moves a node's weights by d. With D_ij the change of row j's scaled
prediction when row i is left out, and e_i that row's scaled error then,

    e_i = ((M r)_i + (D_parent M)_ii) / M_ii        D_ij = e_i (I - M)_ij + (D_parent M)_ij
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike

from ssgp._utils.arrays import Array
from ssgp.engine.ridge import raised_ridge
from ssgp.engine.triangles import diagonal_inverses, inverse_of_lower, solve_lower, solve_upper

__all__ = ["RowRidge", "diagonal_parts", "factorize_nested", "factorize_rows"]

# A row that determines its own prediction but for so little cannot be judged by the others.
MOST_LEVERAGE = 0.99


@dataclass(frozen=True)
class RowRidge:
    """Factorised ridge regressions of p nodes of at most n rows; fillers are rows of zeros.

    Attributes
    ----------
    ridge : array of shape (p,)
        The ridge, raised where rounding asks for it.
    factor : array of shape (p, n, n)
        The lower Cholesky factor L of I + K / ridge.
    inverses : array of shape (p, blocks, side, side)
        Inverses of the diagonal blocks of L.
    whitened : array of shape (p, n)
        L^-1 r.
    """

    ridge: Array
    factor: Array
    inverses: Array
    whitened: Array

    @cached_property
    def remaining(self) -> Array:
        """M r, shape (p, n): scaled residuals of the node's own model."""
        return solve_upper(self.factor, self.inverses, self.whitened[:, :, None])[:, :, 0]

    def weights(self, rows: Array) -> Array:
        """By how much the posterior means of the weights differ from the prior's, shape (p, q), for P (p, n, q)."""
        scaled = (self.remaining / self.ridge[:, None]).astype(rows.dtype)
        return np.matmul(scaled[:, None], rows)[:, 0]

    def sketch(self, rows: Array, signs: Array) -> Array:
        """Sketches of the covariances, shape (p, k, q), for P (p, n, q) and signs (k, q), or (p, k, q) for each node.

        With S = P / ridge^1/2, I - S^T (L + I)^-T L^-1 S is a root of ridge A^-1.
        """
        scale = 1.0 / np.sqrt(self.ridge)[:, None, None]
        right = scale * np.matmul(rows, signs.swapaxes(-1, -2).astype(rows.dtype))
        moved = self.factor + np.eye(self.factor.shape[1])
        along = solve_lower(moved, diagonal_inverses(moved), right)
        by_row = (scale * solve_upper(self.factor, self.inverses, along)).astype(rows.dtype)
        return scale * (signs - np.matmul(by_row.swapaxes(1, 2), rows))

    def rss(self) -> Array:
        """Residual sums of squares, penalties included, shape (p,)."""
        return np.sum(self.whitened**2, axis=1)

    def leave_one_out(self, moved: Array | None, move_on: bool, dtype: DTypeLike) -> tuple[Array, Array | None]:
        """Scaled errors of rows, each left out of its node and of the ancestors.

        Parameters
        ----------
        moved : array of shape (p, n, n) or None
            D of the parents, None where leaving a row out does not move them.
        move_on : bool
            Whether there are children, to which the nodes are parents.
        dtype : dtype
            Precision of products of matrices.

        Returns
        -------
        errors : array of shape (p, n)
            e.
        moved : array of shape (p, n, n) or None
            D of the nodes, for their children.
        """
        inverse = inverse_of_lower(self.factor, self.inverses)
        own, root = np.einsum("pij,pij->pj", inverse, inverse), inverse.astype(dtype, copy=False)
        remainder = np.matmul(root.swapaxes(1, 2), root)
        error = self.remaining.astype(dtype)
        from_parents: Array | None = None
        if moved is not None and move_on:
            from_parents = np.asarray(np.matmul(moved, remainder))
            error += np.diagonal(from_parents, axis1=1, axis2=2)
        elif moved is not None:
            error += np.sum(moved * remainder, axis=2)
        error /= np.maximum(own, 1.0 - MOST_LEVERAGE)
        if not move_on:
            return error, None
        moved_here = remainder
        moved_here *= -error[:, :, None]
        np.einsum("pii->pi", moved_here)[:] += error
        if from_parents is not None:
            moved_here += from_parents
        return error, moved_here


def factorize_rows(gram: Array, residual: Array, ridge: float) -> RowRidge:
    """Factorise ridge regressions of nodes.

    Parameters
    ----------
    gram : array of shape (p, n, n), float64
        K, zero for fillers.
    residual : array of shape (p, n), float64
        r, zero for fillers.
    ridge : float
        Noise variance over the weights' prior variance.
    """
    ridges = raised_ridge(ridge, np.einsum("pii->p", gram))
    factor = gram / ridges[:, None, None]
    np.einsum("pii->pi", factor)[:] += 1.0
    factor = np.linalg.cholesky(factor)
    inverses = diagonal_inverses(factor)
    return RowRidge(ridges, factor, inverses, solve_lower(factor, inverses, residual[:, :, None])[:, :, 0])


def factorize_nested(
    rows: Array, residual: Array, n_parts: Sequence[int], ridge: float, shrink: bool
) -> list[RowRidge]:
    """Factorise nodes, the nodes they are cut into, and so on.

    Parameters
    ----------
    rows : array of shape (p, n, q)
        P of the largest nodes, zero for fillers; products are taken in its precision.
    residual : array of shape (p, n), float64
        r of these, zero for fillers.
    n_parts : sequence of int
        For each further level, how many equal parts of neighbouring rows a node is cut into.
    ridge : float
        Noise variance over the weights' prior variance.
    shrink : bool
        Whether weights are shrunk towards the parent's, or all towards zero.
    """
    gram = np.matmul(rows, rows.swapaxes(1, 2)).astype(float)
    levels = [factorize_rows(gram, residual, ridge)]
    for number in n_parts:
        gram = diagonal_parts(gram, number)
        residual = (levels[-1].remaining if shrink else residual).reshape(gram.shape[:2])
        levels.append(factorize_rows(gram, residual, ridge))
    return levels


def diagonal_parts(matrices: Array, n_parts: int) -> Array:
    """So many diagonal blocks of each of p matrices (p, n, n), shape (p n_parts, n / n_parts, n / n_parts)."""
    n_matrices, size, _ = matrices.shape
    side = size // n_parts
    parts = np.einsum("piaib->piab", matrices.reshape(n_matrices, n_parts, side, n_parts, side))
    return parts.reshape(-1, side, side)
