"""Ridge regressions of leaves of fewer rows than features, solved in the space of their rows.

With P = W^1/2 Phi / ridge^1/2 of n rows, all that is asked of A = ridge (I + P^T P), a matrix of q features, follows
from the Cholesky factor L of I + P P^T, a matrix of n rows, and V = L^-1 P: |A / ridge| = |L|^2, A^-1 = (I - V^T V) /
ridge, and (I - V^T (L + I)^-1 P) / ridge^1/2 is a root of it.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.engine.ridge import diagonal_inverses, inverse_of_lower, raised_ridge, solve_lower, solve_upper

__all__ = ["RowRidge", "factorize_rows"]

# A row that determines its own prediction but for so little cannot be judged by the others.
MOST_LEVERAGE = 0.99


@dataclass(frozen=True)
class RowRidge:
    """Factorised ridge regressions of p leaves of at most n rows; fillers are rows of zeros.

    Attributes
    ----------
    weighted : array of shape (p, n, q)
        W^1/2 Phi.
    root_weight : array of shape (p, n) or None
        Roots of the rows' weights, None for ones.
    prior : array of shape (p, q) or None
        Prior means of the weights, None for zeros.
    ridge : array of shape (p,)
        The ridge, raised where rounding asks for it.
    factor : array of shape (p, n, n)
        L.
    inverses : array of shape (p, blocks, side, side)
        Inverses of the diagonal blocks of L.
    whitened_residual : array of shape (p, n)
        L^-1 W^1/2 times targets minus predictions of the prior.
    """

    weighted: Array
    root_weight: Array | None
    prior: Array | None
    ridge: Array
    factor: Array
    inverses: Array
    whitened_residual: Array

    @cached_property
    def _inverse(self) -> Array:
        """L^-1, shape (p, n, n)."""
        return inverse_of_lower(self.factor, self.inverses)

    @cached_property
    def _whitened(self) -> Array:
        """V, shape (p, n, q)."""
        whitener = (self._inverse / np.sqrt(self.ridge)[:, None, None]).astype(self.weighted.dtype)
        return np.matmul(whitener, self.weighted)

    def weights(self) -> Array:
        """Posterior means of the weights, shape (p, q)."""
        along = solve_upper(self.factor, self.inverses, self.whitened_residual[:, :, None]) / self.ridge[:, None, None]
        from_rows = self._from_rows(along)[:, 0]
        return from_rows if self.prior is None else self.prior + from_rows

    def sketch(self, signs: Array) -> Array:
        """Sketches of the covariances with signs (k, q), or (p, k, q) of each leaf's own, shape (p, k, q)."""
        scale = 1.0 / np.sqrt(self.ridge)[:, None, None]
        projected = scale * np.matmul(self.weighted, signs.swapaxes(-1, -2).astype(self.weighted.dtype))
        shifted = self.factor + np.eye(self.factor.shape[1])
        along = solve_lower(shifted, diagonal_inverses(shifted), projected)
        return scale * (signs - self._from_rows(scale * solve_upper(self.factor, self.inverses, along)))

    def _from_rows(self, along: Array) -> Array:
        """Combinations of the rows, by columns (p, n, k), shape (p, k, q)."""
        return np.matmul(along.swapaxes(1, 2).astype(self.weighted.dtype), self.weighted)

    def rss(self) -> Array:
        """Residual sums of squares, penalties included, shape (p,)."""
        return np.sum(self.whitened_residual**2, axis=1)

    def leave_one_out(self, moved: Array | None, move_on: bool) -> tuple[Array, Array | None]:
        """Errors of rows, each left out of its leaf and of the ancestors: see `ssgp.engine.leave_one_out`.

        Parameters
        ----------
        moved : array of shape (p, n, q) or None
            By how much leaving a row out moves the prior's weights; None where it does not.
        move_on : bool
            Whether to say by how much it moves the leaf's own.

        Returns
        -------
        errors : array of shape (p, n)
            Target minus prediction, zero for rows of weight zero.
        moved : array of shape (p, n, q) or None
            By how much leaving a row out moves the weights.
        """
        # A^-1 W^1/2 phi = V^T L^-1 / ridge^1/2, and ridge A^-1 moved = moved - V^T V moved.
        root, transposed = np.sqrt(self.ridge)[:, None], self._inverse.swapaxes(1, 2).astype(self.weighted.dtype)
        moved_along = None if moved is None else self._along(moved, transposed, move_on)
        weighted_error = np.matmul(self.whitened_residual[:, None], self._inverse)[:, 0]
        if moved_along is not None:
            weighted_error += root * np.einsum("pnm,pnm->pn", transposed, moved_along)
        # One minus the rows' leverages.
        remainder = np.einsum("pij,pij->pj", self._inverse, self._inverse)
        weighted_error /= np.maximum(remainder, 1.0 - MOST_LEVERAGE)
        error = weighted_error
        if self.root_weight is not None:
            error = weighted_error / np.where(self.root_weight > 0.0, self.root_weight, 1.0)
        if not move_on:
            return error, None
        along = (weighted_error / root).astype(self.weighted.dtype)[:, :, None] * transposed
        if moved is None or moved_along is None:
            return error, np.matmul(along, self._whitened)
        moved_here = np.matmul(along - moved_along, self._whitened)
        moved_here += moved
        return error, moved_here

    def _along(self, moved: Array, transposed: Array, with_whitened: bool) -> Array:
        """Products of vectors (p, n, q) with the rows of V, which is not computed for them alone, shape (p, n, n)."""
        if with_whitened:
            return np.matmul(moved, self._whitened.swapaxes(1, 2))
        along = np.matmul(moved, self.weighted.swapaxes(1, 2))
        along /= np.sqrt(self.ridge).astype(along.dtype)[:, None, None]
        return np.matmul(along, transposed)


def factorize_rows(phi: Array, y: Array, root_weight: Array | None, prior: Array | None, ridge: float) -> RowRidge:
    """Factorise ridge regressions of leaves.

    Parameters
    ----------
    phi : array of shape (p, n, q)
        Features, zero for fillers; products are taken in their precision.
    y : array of shape (p, n), float64
        Targets, zero for fillers.
    root_weight : array of shape (p, n) or None
        Roots of the rows' weights, None for ones.
    prior : array of shape (p, q) or None
        Prior means of the weights, None for zeros.
    ridge : float
        Noise variance over the weights' prior variance.
    """
    weighted, target = phi, y
    if prior is not None:
        target = y - np.matmul(phi, prior.astype(phi.dtype)[:, :, None])[:, :, 0]
    if root_weight is not None:
        weighted, target = phi * root_weight.astype(phi.dtype)[:, :, None], root_weight * target
    gram = np.matmul(weighted, weighted.swapaxes(1, 2)).astype(float)
    ridges = raised_ridge(ridge, np.einsum("pii->p", gram))
    factor = np.linalg.cholesky(gram / ridges[:, None, None] + np.eye(phi.shape[1]))
    inverses = diagonal_inverses(factor)
    whitened_residual = solve_lower(factor, inverses, target[:, :, None])[:, :, 0]
    return RowRidge(weighted, root_weight, prior, ridges, factor, inverses, whitened_residual)
