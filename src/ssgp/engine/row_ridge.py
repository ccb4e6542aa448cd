"""Ridge regressions of leaves of fewer rows than features, solved in the space of their rows.

With P = W^1/2 Phi / ridge^1/2 of n rows, all that is asked of A = ridge (I + P^T P), a matrix of q features, follows
from the Cholesky factor L of I + P P^T, a matrix of n rows, and V = L^-1 P: |A / ridge| = |L|^2, A^-1 = (I - V^T V) /
ridge, and (I - V^T (L + I)^-1 P) / ridge^1/2 is a root of it.
"""

from dataclasses import dataclass

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.engine.ridge import inverse_of_lower, raised_ridge

__all__ = ["RowRidge", "factorize_rows"]

# A row that determines its own prediction but for so little cannot be judged by the others.
MOST_LEVERAGE = 0.99


@dataclass(frozen=True)
class RowRidge:
    """Factorised ridge regressions of p leaves of at most n rows; fillers are rows of zeros.

    Attributes
    ----------
    phi : array of shape (p, n, q)
        Features.
    root_weight : array of shape (p, n)
        Roots of the rows' weights, zero for fillers.
    prior : array of shape (p, q) or None
        Prior means of the weights, None for zeros.
    ridge : array of shape (p,)
        The ridge, raised where rounding asks for it.
    residual : array of shape (p, n)
        Targets minus predictions of the prior.
    factor : array of shape (p, n, n)
        L.
    remainder : array of shape (p, n)
        One minus the rows' leverages: the diagonal of (I + P P^T)^-1.
    whitened : array of shape (p, n, q)
        V.
    whitened_residual : array of shape (p, n)
        L^-1 W^1/2 times the residual.
    """

    phi: Array
    root_weight: Array
    prior: Array | None
    ridge: Array
    residual: Array
    factor: Array
    remainder: Array
    whitened: Array
    whitened_residual: Array

    def weights(self) -> Array:
        """Posterior means of the weights, shape (p, q)."""
        from_rows = np.matmul(self.whitened_residual[:, None], self.whitened)[:, 0] / np.sqrt(self.ridge)[:, None]
        return from_rows if self.prior is None else self.prior + from_rows

    def sketch(self, signs: Array) -> Array:
        """Sketches of the covariances with signs (k, q), shape (p, k, q)."""
        scale = 1.0 / np.sqrt(self.ridge)
        projected = np.matmul(self.phi, signs.T.astype(self.phi.dtype))
        projected = projected * (scale[:, None] * self.root_weight)[:, :, None]
        along = np.linalg.solve(self.factor + np.eye(self.factor.shape[1]), projected)
        return scale[:, None, None] * (signs - np.matmul(along.swapaxes(1, 2), self.whitened))

    def rss(self) -> Array:
        """Residual sums of squares, penalties included, shape (p,)."""
        return np.sum(self.whitened_residual**2, axis=1)

    def leave_one_out_errors(self, moved: Array | None) -> Array:
        """Errors of rows, each left out of its leaf and of the ancestors, shape (p, n): see `leave_one_out`.

        `moved` (p, n, q) says by how much leaving a row out moves the prior's weights; None where it does not.
        """
        along = np.matmul(self.phi, self.whitened.swapaxes(1, 2))
        scaled = self.whitened_residual / np.sqrt(self.ridge)[:, None]
        error = self.residual - np.matmul(along, scaled[:, :, None])[:, :, 0]
        if moved is not None:
            # ridge phi^T A^-1 moved
            error += np.einsum("pnq,pnq->pn", self.phi, moved)
            error -= np.einsum("pnm,pnm->pn", along, np.matmul(moved, self.whitened.swapaxes(1, 2)))
        return error / np.maximum(self.remainder, 1.0 - MOST_LEVERAGE)


def factorize_rows(phi: Array, y: Array, root_weight: Array, prior: Array | None, ridge: float) -> RowRidge:
    """Factorise ridge regressions of leaves.

    Parameters
    ----------
    phi : array of shape (p, n, q)
        Features, zero for fillers; products are taken in their precision.
    y : array of shape (p, n), float64
        Targets, zero for fillers.
    root_weight : array of shape (p, n)
        Roots of the rows' weights, zero for fillers.
    prior : array of shape (p, q) or None
        Prior means of the weights, None for zeros.
    ridge : float
        Noise variance over the weights' prior variance.
    """
    dtype, residual = phi.dtype, y
    if prior is not None:
        residual = y - np.matmul(phi, prior.astype(dtype)[:, :, None])[:, :, 0]
    weighted = phi * root_weight.astype(dtype)[:, :, None]
    gram = np.matmul(weighted, weighted.swapaxes(1, 2)).astype(float)
    ridges = raised_ridge(ridge, np.einsum("pii->p", gram))
    factor = np.linalg.cholesky(gram / ridges[:, None, None] + np.eye(phi.shape[1]))
    inverse = inverse_of_lower(factor)
    whitener = (inverse / np.sqrt(ridges)[:, None, None]).astype(dtype)
    return RowRidge(
        phi=phi,
        root_weight=root_weight,
        prior=prior,
        ridge=ridges,
        residual=residual,
        factor=factor,
        remainder=np.einsum("pij,pij->pj", inverse, inverse),
        whitened=np.matmul(whitener, weighted),
        whitened_residual=np.matmul(inverse, (root_weight * residual)[:, :, None])[:, :, 0],
    )
