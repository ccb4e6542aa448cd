"""Nodes of a tree: sums over their rows, and the Student-t models that the sums determine.

A branch is a group of neighbouring leaves. Its rows are read once, every leaf's sums are taken, and
the models are solved from the branch down: a node's weights are shrunk towards its parent's,
which have seen more rows, and the branch's towards zero. What is one leaf too small to tell
is left as its ancestors have it, so that small leaves do no harm.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtrs  # pyright: ignore[reportAttributeAccessIssue]

from ssgp.spectrum.objectives import LEAST_RIDGE, Block

__all__ = ["LeafSums", "NodeArrays", "SolvedNodes", "leaf_sums", "solve_branch"]

Array = NDArray[np.floating]


@dataclass(frozen=True)
class LeafSums:
    """Sufficient statistics of p nodes.

    Attributes
    ----------
    products : array of shape (p, q + 1, q + 1)
        Sums over rows of outer products of [phi, y]: Phi^T W Phi, Phi^T W y and y^T W y in one.
    count : array of shape (p,)
        Rows, or the sum of their weights.
    """

    products: Array
    count: Array

    def merge(self, other: "LeafSums") -> "LeafSums":
        """Statistics of both sets of rows, node by node; associative and commutative."""
        return LeafSums(self.products + other.products, self.count + other.count)

    def grouped(self, size: int) -> "LeafSums":
        """Statistics of parents: every `size` neighbours together."""
        side = self.products.shape[-1]
        return LeafSums(
            self.products.reshape(-1, size, side, side).sum(axis=1), self.count.reshape(-1, size).sum(axis=1)
        )


def leaf_sums(phi: Array, block: Block, bounds: NDArray[np.integer], dtype: type[np.floating] = np.float64) -> LeafSums:
    """Statistics of leaves whose rows are ``bounds[k]:bounds[k + 1]``.

    Parameters
    ----------
    phi : array of shape (n, q)
        Features of the rows.
    block : Block
        The rows, for their targets and weights.
    bounds : int array of shape (p + 1,)
        Where the leaves begin and end.
    dtype : float64 or float32
        What products of a leaf's features are summed in. Products with the target, and the sums of several
        leaves, are in float64 either way.
    """
    size, y = phi.shape[1], block.y.astype(float)
    phi, target = phi.astype(dtype, copy=False), block.weighted(y)
    weighted = block.weighted(phi).astype(dtype, copy=False)
    products = np.empty((len(bounds) - 1, size + 1, size + 1))
    for k, (start, stop) in enumerate(pairwise(bounds.tolist())):
        rows = slice(start, stop)
        products[k, :size, :size] = phi[rows].T @ weighted[rows]
        products[k, size, :size] = products[k, :size, size] = phi[rows].astype(float).T @ target[rows]
        products[k, size, size] = y[rows] @ target[rows]
    count = np.diff(bounds).astype(float)
    if block.weight is not None:
        count = np.add.reduceat(np.append(block.weight, 0.0), bounds[:-1]) * (count > 0)
    return LeafSums(products, count)


@dataclass(frozen=True)
class SolvedNodes:
    """Models of p nodes of one level.

    Attributes
    ----------
    weights : array of shape (p, q)
        Posterior mean of the weights.
    sketch : array of shape (p, k, q)
        Rows b with E (b phi)^2 summed over k equal to the leverage phi^T A^-1 phi; exact where k = q.
    count, rss : arrays of shape (p,)
        Rows, and penalised residual sum of squares.
    log_determinant : array of shape (p,)
        log |A / ridge|.
    ridge : array of shape (p,)
        The ridge, raised where rounding asks for it.
    factor : array of shape (p, q, q), or None
        Cholesky factors of A, where they were asked for.
    """

    weights: Array
    sketch: Array
    count: Array
    rss: Array
    log_determinant: Array
    ridge: Array
    factor: Array | None = None


class NodeArrays:
    """Room for the models of a level, which come branch by branch; vectors are kept in single precision.

    Parameters
    ----------
    n_nodes : int
        p.
    signs : array of shape (k, q)
        See `solve_branch`.
    """

    def __init__(self, n_nodes: int, signs: Array) -> None:
        n_sketches, size = signs.shape
        weights, sketch = np.empty((n_nodes, size), np.float32), np.empty((n_nodes, n_sketches, size), np.float32)
        self.nodes, self._filled = SolvedNodes(weights, sketch, *np.empty((4, n_nodes))), 0

    def append(self, nodes: SolvedNodes) -> None:
        """The next nodes."""
        own = slice(self._filled, self._filled + len(nodes.count))
        for part in dataclasses.fields(SolvedNodes):
            if part.name != "factor":
                getattr(self.nodes, part.name)[own] = getattr(nodes, part.name)
        self._filled = own.stop


def solve_branch(
    leaves: LeafSums,
    groups: Sequence[int],
    ridge: float,
    signs: Array,
    shrink: bool = True,
    factors: type[np.floating] | None = None,
) -> list[SolvedNodes]:
    """Solve a branch from its root down.

    Parameters
    ----------
    leaves : LeafSums
        Statistics of the branch's leaves.
    groups : sequence of int
        Leaves under a node, for each level from the root (all of them) to the leaves (1).
    ridge : float
        m noise / signal.
    signs : array of shape (k, q)
        What the covariances are sketched with: E signs^T signs = I.
    shrink : bool
        Whether weights are shrunk towards the parent's, or all towards zero.
    factors : float64, float32 or None
        What to return Cholesky factors in, if at all.

    Returns
    -------
    list of SolvedNodes
        For each level.
    """
    solved: list[SolvedNodes] = []
    for depth, group in enumerate(groups):
        prior = None
        if depth and shrink:
            prior = np.repeat(solved[-1].weights, groups[depth - 1] // group, axis=0)
        solved.append(_solve(leaves.grouped(group), prior, ridge, signs, factors))
    return solved


def _solve(
    sums: LeafSums, prior: Array | None, ridge: float, signs: Array, factors: type[np.floating] | None
) -> SolvedNodes:
    """Solve nodes whose weights have the prior mean given, or zero.

    One Cholesky factorisation of [[A, c], [c^T, y^T y]] also holds L^-1 c and the residual sum of squares.
    """
    p, size = len(sums.count), signs.shape[1]
    bordered = _about(sums.products, prior)
    diagonal = np.einsum("kii->ki", bordered)
    floor = LEAST_RIDGE * diagonal[:, :size].sum(axis=1)
    ridges = np.maximum(ridge, floor)
    square = np.maximum(diagonal[:, size], 0.0)
    guard = 1e-12 * square + 1e-30
    diagonal[:, :size] += ridges[:, None]
    diagonal[:, size] = square + guard
    factor = _cholesky(bordered)
    pivots = np.einsum("kii->ki", factor)
    weights, sketch = np.empty((p, size)), np.empty((p, len(signs), size))
    right = np.zeros((size + 1, 1 + len(signs)), order="F")
    right[:size, 1:] = signs.T
    for k in range(p):
        right[:size, 0] = factor[k, size, :size]
        # The factor's last row is solved for zero, which leaves the system of L^T alone.
        solution = dtrtrs(factor[k].T, right, lower=0)[0]
        weights[k], sketch[k] = solution[:size, 0], solution[:size, 1:].T
    if prior is not None:
        weights += prior
    rss = np.maximum(pivots[:, size] ** 2 - guard, 0.0)
    log_determinant = 2.0 * np.log(pivots[:, :size]).sum(axis=1) - size * np.log(ridges)
    kept = None if factors is None else factor[:, :size, :size].astype(factors)
    return SolvedNodes(weights, sketch, sums.count, rss, log_determinant, ridges, kept)


def _about(products: Array, prior: Array | None) -> Array:
    """Sums of products with y replaced by the residual y - phi^T prior (a copy)."""
    products = products.copy()
    if prior is None:
        return products
    residual = np.concatenate([-prior, np.ones((len(prior), 1))], axis=1)
    border = np.matmul(products, residual[:, :, None])[:, :, 0]
    square = np.einsum("ki,ki->k", border, residual)
    border[:, -1] = square
    products[:, -1, :] = border
    products[:, :, -1] = border
    return products


def _cholesky(matrices: Array) -> Array:
    """Lower factors; what rounding has made indefinite gets a larger diagonal until it has one."""
    try:
        return np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        return np.stack([_careful_cholesky(matrix) for matrix in matrices])


def _careful_cholesky(matrix: Array) -> Array:
    """Of a bordered matrix whose corner rounding has left too small: the rest keeps the factor it has."""
    size = len(matrix) - 1
    inner, jitter = matrix[:size, :size], 1e-12 * np.diag(np.diagonal(matrix)[:size])
    factor = np.zeros_like(matrix)
    while True:
        try:
            factor[:size, :size] = np.linalg.cholesky(inner)
            break
        except np.linalg.LinAlgError:
            inner, jitter = inner + jitter, 100.0 * jitter
            if not np.isfinite(jitter).all():
                raise
    border = np.linalg.solve(factor[:size, :size], matrix[size, :size])
    factor[size, :size] = border
    factor[size, size] = np.sqrt(max(matrix[size, size] - float(border @ border), 1e-12 * matrix[size, size]))
    return factor
