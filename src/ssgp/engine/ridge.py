"""Ridge regressions of many leaves at once, from sums over their rows.

A leaf with features Phi (n, q), targets y and weights W has the model w ~ N(prior, v / ridge I), y ~ N(Phi w, v W^-1).
With A = Phi^T W Phi + ridge I and c = Phi^T W (y - Phi prior) its posterior mean is prior + A^-1 c, its covariance is
v A^-1, and its residual sum of squares, penalty included, is what remains of (y - Phi prior)^T W (y - Phi prior) after
c^T A^-1 c is taken off. One Cholesky factorisation of [[A, c], [c^T, y^T W y]] holds the factor L of A, L^-1 c and the
root of that remainder.
"""

from dataclasses import dataclass
from math import log

import numpy as np
from scipy.linalg import get_lapack_funcs

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp.engine.triangles import factorize_bordered, inverse_of_lower, solve_transposed, without_border

__all__ = [
    "LeafSums",
    "RidgeSolution",
    "invert_ridge",
    "needs_double",
    "raised_ridge",
    "solve_ridge",
    "sum_products",
]

# float32 sums leave Phi^T Phi uncertain by about 1e-7 of its trace, n q / 2: a ridge near that needs float64 sums.
FLOAT32_RIDGE = 4e-6
# Cholesky factor, solution and inverse, in either precision.
SINGLE_LAPACK, DOUBLE_LAPACK = (get_lapack_funcs(("potrf", "potrs", "potri"), dtype=t) for t in (np.float32, float))
# Relative to the trace: below it, even float64 sums of float32 features are rounding,
LEAST_RIDGE = 1e-11
# and from so much per feature on, factors in float32 exist, and are exact to a thousandth where the rows say least.
SINGLE_RIDGE = 1.5e-7
# Relative to the sum of squared targets: what the last pivot may lose to rounding.
LOST_SQUARE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}


@dataclass(frozen=True)
class LeafSums:
    """Sufficient statistics of p leaves.

    Attributes
    ----------
    products : array of shape (p, q + 1, q + 1)
        Sums over rows of outer products of [phi, y]: Phi^T W Phi, Phi^T W y and y^T W y in one.
    count : array of shape (p,)
        Rows, or the sum of their weights.
    """

    products: Array
    count: Array

    @classmethod
    def zeros(cls, n_leaves: int, n_features: int) -> "LeafSums":
        """Sums over no rows."""
        return cls(np.zeros((n_leaves, n_features + 1, n_features + 1)), np.zeros(n_leaves))

    def add(self, leaves: Indices, products: Array, count: Array) -> None:
        """Add sums over more rows of some leaves, each named once."""
        self.products[leaves] += products
        self.count[leaves] += count

    def grouped(self, n_together: int) -> "LeafSums":
        """Statistics of parents: so many neighbours together."""
        side = self.products.shape[-1]
        products = self.products.reshape(-1, n_together, side, side).sum(axis=1)
        return LeafSums(products, self.count.reshape(-1, n_together).sum(axis=1))


@dataclass(frozen=True)
class RidgeSolution:
    """Models of p leaves.

    Attributes
    ----------
    weights : array of shape (p, q)
        Posterior means of the weights.
    sketch : array of shape (p, k, q)
        Rows b of which the sum of (b phi)^2 has the leverage phi^T A^-1 phi as its mean over random signs; with the
        identity in the place of signs it is L^-1, and the sum is the leverage itself.
    rss : array of shape (p,)
        Residual sums of squares, penalties included.
    ridge : array of shape (p,)
        The ridge, raised where rounding asks for it.
    factor : array of shape (p, q, q)
        Lower Cholesky factors L of A.
    inverses : array of shape (p, blocks, side, side)
        Inverses of the diagonal blocks of L, see `diagonal_inverses`.
    """

    weights: Array
    sketch: Array
    rss: Array
    ridge: Array
    factor: Array
    inverses: Array


def needs_double(n_rows: Array, ridge: float, n_features: int) -> Mask:
    """Whether sums over so many rows have to be taken in float64 for a ridge to count, for each leaf."""
    return ridge <= FLOAT32_RIDGE * n_rows * n_features


def raised_ridge(ridge: float, trace: Array) -> Array:
    """The ridge, or what is more than the rounding of sums Phi^T W Phi of that trace, for each leaf."""
    return np.maximum(ridge, LEAST_RIDGE * trace)


def sum_products(phi: Array, y: Array, weight: Array | None, double: bool) -> Array:
    """Sums over rows of outer products of [phi, y]: Phi^T W Phi, Phi^T W y and y^T W y in one.

    Parameters
    ----------
    phi : array of shape (p, n, q)
        Features, zero for fillers.
    y : array of shape (p, n)
        Targets.
    weight : array of shape (p, n) or None
        Weights of the rows, None for ones.
    double : bool
        Whether products are summed in float64, or in the precision of the features.

    Returns
    -------
    array of shape (p, q + 1, q + 1)
        Symmetric matrices.
    """
    n_leaves, _, size = phi.shape
    phi = phi.astype(float, copy=False) if double else phi
    weighted = phi if weight is None else phi * weight[:, :, None].astype(phi.dtype)
    target = (y if weight is None else weight * y).astype(phi.dtype)
    products = np.empty((n_leaves, size + 1, size + 1), phi.dtype)
    np.matmul(phi.swapaxes(1, 2), weighted, out=products[:, :size, :size])
    products[:, size, :size] = np.matmul(target[:, None], phi)[:, 0]
    products[:, :size, size] = products[:, size, :size]
    products[:, size, size] = np.einsum("pn,pn->p", y, target)
    return products


def solve_ridge(products: Array, prior: Array | None, ridge: float, signs: Array) -> RidgeSolution:
    """Models of leaves from sums over their rows; in float32 where the sums are and the ridge allows for it.

    Parameters
    ----------
    products : array of shape (p, q + 1, q + 1)
        See `sum_products`; overwritten.
    prior : array of shape (p, q) or None
        Prior means of the weights, None for zeros.
    ridge : float
        Noise variance over the weights' prior variance.
    signs : array of shape (k, q), or (p, k, q) where leaves have other ones each
        Rows that the covariances are sketched with: random ones with E signs^T signs = I, or the identity.
    """
    size = signs.shape[-1]
    trace = np.einsum("pii->p", products[:, :size, :size])
    single = (products.dtype == np.float32) & (ridge >= SINGLE_RIDGE * size * trace)
    solutions = {}
    for precise in np.unique(~single):
        leaves = np.flatnonzero(single != precise)
        part = products if len(leaves) == len(products) else products[leaves]
        own_prior = None if prior is None else prior[leaves]
        part = part.astype(float, copy=False) if precise else part
        own_signs = (signs if signs.ndim == 2 else signs[leaves]).astype(part.dtype)
        solutions[precise] = _solve(part, own_prior, raised_ridge(ridge, trace[leaves]), own_signs)
    return next(iter(solutions.values())) if len(solutions) == 1 else _merged(single, solutions)


def _merged(single: Mask, solutions: dict[bool, RidgeSolution]) -> RidgeSolution:
    """Solutions in float32 and in float64 as one, in the order of the leaves."""
    parts = {}
    for name, values in vars(solutions[True]).items():
        parts[name] = np.empty((len(single), *values.shape[1:]))
        parts[name][single], parts[name][~single] = getattr(solutions[False], name), values
    return RidgeSolution(**parts)


def _solve(products: Array, prior: Array | None, ridges: Array, signs: Array) -> RidgeSolution:
    """Models of leaves with ridges of their own, in the precision of the sums."""
    size = signs.shape[-1]
    before = np.maximum(products[:, size, size], 0.0)
    if prior is not None:
        _move_target(products, prior)
    diagonal = np.einsum("pii->pi", products)
    square = np.maximum(diagonal[:, size], 0.0)
    # Enough for the factor to exist where features, or the prior, explain the target but for rounding.
    guard = LOST_SQUARE[products.dtype] * (before + square) + 1e-30
    diagonal[:, :size] += ridges[:, None]
    diagonal[:, size] = square + guard
    bordered, inverses = factorize_bordered(products)
    factor = bordered[:, :size, :size]
    weights, sketch = _solve_for_weights(factor, inverses, bordered[:, size, :size], signs)
    return RidgeSolution(
        weights=weights if prior is None else weights + prior.astype(weights.dtype),
        sketch=sketch,
        rss=np.maximum(bordered[:, size, size] ** 2 - guard, 0.0),
        ridge=ridges,
        factor=factor,
        inverses=without_border(inverses, size),
    )


def invert_ridge(gram: Array, moment: Array, ridge: float) -> tuple[Array, Array, float]:
    """The model of one leaf with the inverse that gradients ask for; LAPACK has it without forming a triangle's.

    Parameters
    ----------
    gram : array of shape (q, q), float32 or float64
        Phi^T W Phi; overwritten.
    moment : array of shape (q,)
        Phi^T W y.
    ridge : float
        Noise variance over the weights' prior variance.

    Returns
    -------
    weights, inverse : arrays of shape (q,) and (q, q)
        A^-1 Phi^T W y, and A^-1, in the dtype of `gram`.
    log_determinant : float
        log |A / ridge|, with the ridge that A has.
    """
    potrf, potrs, potri = SINGLE_LAPACK if gram.dtype == np.float32 else DOUBLE_LAPACK
    diagonal = np.einsum("ii->i", gram)
    raised = max(ridge, LEAST_RIDGE * float(diagonal.sum()))
    diagonal += raised
    # The transpose of a symmetric matrix is itself, in the order of LAPACK.
    factor, failed = potrf(gram.T, lower=True, overwrite_a=True)
    if failed:
        raise np.linalg.LinAlgError("Phi^T Phi + ridge I is not positive definite to rounding")
    weights, _ = potrs(factor, moment, lower=True)
    log_determinant = 2.0 * float(np.log(np.diagonal(factor)).sum(dtype=float)) - len(gram) * log(raised)
    lower, _ = potri(factor, lower=True, overwrite_c=True)
    inverse = lower + lower.T
    np.einsum("ii->i", inverse)[:] *= 0.5
    return weights, inverse, log_determinant


def _move_target(products: Array, prior: Array) -> None:
    """Replace y by the residual y - phi^T prior in sums of products."""
    residual = np.concatenate([-prior, np.ones((len(prior), 1))], axis=1, dtype=products.dtype)
    border = np.matmul(products, residual[:, :, None])[:, :, 0]
    border[:, -1] = np.einsum("pi,pi->p", border, residual)
    products[:, -1, :] = border
    products[:, :, -1] = border


def _solve_for_weights(factor: Array, inverses: Array, whitened: Array, signs: Array) -> tuple[Array, Array]:
    """Weights L^-T (L^-1 c), shape (p, q), and sketches signs L^-1, shape (p, k, q).

    `inverses` (p, blocks, side, side) are those of the diagonal blocks of L.
    """
    n_signs, size = signs.shape[-2:]
    if n_signs == size:
        inverse = inverse_of_lower(factor, inverses)
        sketch = inverse if (signs == np.eye(size)).all() else np.matmul(signs, inverse)
        return np.matmul(whitened[:, None], inverse)[:, 0], sketch
    right = np.empty((len(factor), size, 1 + n_signs), factor.dtype)
    right[:, :, 0], right[:, :, 1:] = whitened, signs.swapaxes(-1, -2)
    solved = solve_transposed(factor, inverses, right)
    return solved[:, :, 0], solved[:, :, 1:].swapaxes(1, 2)
