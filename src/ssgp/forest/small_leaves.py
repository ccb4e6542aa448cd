"""Leaves of fewer rows than features, solved in the space of their rows.

With P = W^1/2 Phi / ridge^1/2 of n rows, all that is asked of A = ridge (I + P^T P), a matrix of q features, follows
from the Cholesky factor L of I + P P^T, a matrix of n rows, and V = L^-1 P: |A / ridge| = |L|^2, A^-1 = (I - V^T V) /
ridge, and (I - V^T (L + I)^-1 P) / ridge^1/2 is a root of it. The leaves of a branch are solved together, each filled
up with rows of zeros, which change nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssgp.forest.leave_one_out import MOST_LEVERAGE, inverse_of_lower
from ssgp.forest.nodes import SolvedNodes
from ssgp.spectrum.objectives import LEAST_RIDGE, Block

__all__ = ["SmallLeaves", "are_small"]

Array = NDArray[np.floating]

# Rows a feature up to which leaves are sooner solved so than from sums over their rows.
SMALL = 0.6


def are_small(bounds: NDArray[np.integer], n_features: int) -> bool:
    """Whether leaves of rows ``bounds[k]:bounds[k + 1]`` are best solved here; where there are no rows they are not."""
    return 0 < np.diff(bounds).max() <= SMALL * n_features


@dataclass(frozen=True)
class SmallLeaves:
    """The rows of p leaves, stacked; n is the number of rows of the largest.

    Attributes
    ----------
    inside : bool array of shape (p, n)
        Which rows are no fillers.
    phi : array of shape (p, n, q)
        Features.
    root_weight : array of shape (p, n)
        Roots of the sample weights.
    prior : array of shape (p, q)
        Weights of the parents, or zeros.
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

    inside: NDArray[np.bool_]
    phi: Array
    root_weight: Array
    prior: Array
    ridge: Array
    residual: Array
    factor: Array
    remainder: Array
    whitened: Array
    whitened_residual: Array

    @classmethod
    def of(
        cls,
        phi: Array,
        block: Block,
        bounds: NDArray[np.integer],
        prior: Array | None,
        ridge: float,
        dtype: type[np.floating],
    ) -> "SmallLeaves":
        """Leaves of rows ``bounds[k]:bounds[k + 1]`` of a block with features phi (n, q).

        `prior` (p, q) has the weights of the leaves' parents, None where leaves are shrunk towards zero;
        products of features are taken in `dtype`.
        """
        rows = bounds[:-1, None] + np.arange(np.diff(bounds).max())
        inside = rows < bounds[1:, None]
        rows = np.minimum(rows, len(phi) - 1)
        phi = phi.astype(dtype, copy=False)[rows] * inside[:, :, None]
        root_weight = inside.astype(float) if block.weight is None else np.sqrt(block.weight[rows]) * inside
        prior = np.zeros((len(rows), phi.shape[2])) if prior is None else prior
        residual = block.y[rows] * inside - np.matmul(phi, prior.astype(dtype)[:, :, None])[:, :, 0]
        weighted = phi * root_weight.astype(dtype)[:, :, None]
        gram = np.matmul(weighted, weighted.swapaxes(1, 2)).astype(float)
        ridges = np.maximum(ridge, LEAST_RIDGE * np.einsum("kii->k", gram))
        factor = np.linalg.cholesky(gram / ridges[:, None, None] + np.eye(rows.shape[1]))
        inverse = inverse_of_lower(factor)
        whitener = (inverse / np.sqrt(ridges)[:, None, None]).astype(dtype)
        return cls(
            inside=inside,
            phi=phi,
            root_weight=root_weight,
            prior=prior,
            ridge=ridges,
            residual=residual,
            factor=factor,
            remainder=np.einsum("kij,kij->kj", inverse, inverse),
            whitened=np.matmul(whitener, weighted),
            whitened_residual=np.einsum("kij,kj->ki", inverse, root_weight * residual),
        )

    def solve(self, signs: Array) -> SolvedNodes:
        """The leaves' models, their covariances sketched with signs (k, q)."""
        scale = 1.0 / np.sqrt(self.ridge)
        projected = np.matmul(self.phi, signs.T.astype(self.phi.dtype))
        projected = projected * (scale[:, None] * self.root_weight)[:, :, None]
        along = np.linalg.solve(self.factor + np.eye(self.factor.shape[1]), projected)
        return SolvedNodes(
            weights=self.prior + scale[:, None] * np.einsum("kn,knq->kq", self.whitened_residual, self.whitened),
            sketch=scale[:, None, None] * (signs - np.matmul(along.swapaxes(1, 2), self.whitened)),
            count=np.sum(self.root_weight**2, axis=1),
            rss=np.sum(self.whitened_residual**2, axis=1),
            log_determinant=2.0 * np.log(np.einsum("kii->ki", self.factor)).sum(axis=1),
            ridge=self.ridge,
        )

    def left_out_errors(self, moved: Array) -> Array:
        """Errors of the block's rows, each left out of its leaf and of its ancestors (see `leave_one_out`).

        `moved` (n, q) says by how much leaving a row out moves its parent's weights.
        """
        by_leaf = np.zeros(self.phi.shape, moved.dtype)
        by_leaf[self.inside] = moved
        own = np.matmul(self.phi, self.whitened.swapaxes(1, 2))
        error = self.residual - np.einsum("kij,kj->ki", own, self.whitened_residual / np.sqrt(self.ridge)[:, None])
        # ridge phi^T A^-1 moved
        error += np.einsum("knq,knq->kn", self.phi, by_leaf)
        error -= np.einsum("kij,kij->ki", own, np.matmul(by_leaf, self.whitened.swapaxes(1, 2)))
        return (error / np.maximum(self.remainder, 1.0 - MOST_LEVERAGE))[self.inside]
