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

__all__ = [
    "LeafSums",
    "RidgeSolution",
    "diagonal_inverses",
    "inverse_of_lower",
    "invert_ridge",
    "needs_double",
    "raised_ridge",
    "solve_lower",
    "solve_ridge",
    "solve_upper",
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
# Side of the diagonal blocks that triangular matrices are factorised, solved and inverted by.
SOLVED_SIDE = 16


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
    bordered, inverses = _factorize(products)
    factor = bordered[:, :size, :size]
    weights, sketch = _solve_for_weights(factor, inverses, bordered[:, size, :size], signs)
    return RidgeSolution(
        weights=weights if prior is None else weights + prior.astype(weights.dtype),
        sketch=sketch,
        rss=np.maximum(bordered[:, size, size] ** 2 - guard, 0.0),
        ridge=ridges,
        factor=factor,
        inverses=_without_border(inverses, size),
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
    solved = _solve_transposed(factor, inverses, right)
    return solved[:, :, 0], solved[:, :, 1:].swapaxes(1, 2)


def _solve_transposed(factor: Array, inverses: Array, right: Array) -> Array:
    """L^-T times matrices (p, q, k), which are overwritten, by blocks from the last to the first."""
    for number, inner in reversed(list(enumerate(_diagonal_blocks(factor.shape[1])))):
        side = inner.stop - inner.start
        right[:, inner] = np.matmul(inverses[:, number, :side, :side].swapaxes(1, 2), right[:, inner])
        right[:, : inner.start] -= np.matmul(factor[:, inner, : inner.start].swapaxes(1, 2), right[:, inner])
    return right


def solve_lower(factor: Array, inverses: Array, right: Array) -> Array:
    """L^-1 times matrices (p, q, k), by blocks from the first to the last; `inverses` are `diagonal_inverses`."""
    out = right.astype(factor.dtype)
    for number, inner in enumerate(_diagonal_blocks(factor.shape[1])):
        side = inner.stop - inner.start
        out[:, inner] -= np.matmul(factor[:, inner, : inner.start], out[:, : inner.start])
        out[:, inner] = np.matmul(inverses[:, number, :side, :side], out[:, inner])
    return out


def solve_upper(factor: Array, inverses: Array, right: Array) -> Array:
    """L^-T times matrices (p, q, k)."""
    return _solve_transposed(factor, inverses, right.astype(factor.dtype))


def _diagonal_blocks(size: int) -> list[slice]:
    """Rows, and columns, of the diagonal blocks of a matrix."""
    return [slice(first, min(first + SOLVED_SIDE, size)) for first in range(0, size, SOLVED_SIDE)]


def inverse_of_lower(factors: Array, inverses: Array | None = None) -> Array:
    """Inverses of lower triangular matrices (p, q, q), by halves: nearly all of it matrix products.

    `inverses` (p, blocks, side, side) are those of the diagonal blocks, where they are known.
    """
    inverses, out = diagonal_inverses(factors) if inverses is None else inverses, np.zeros_like(factors)
    _put_inverse(factors, inverses, _diagonal_blocks(factors.shape[1]), 0, out)
    return out


def _put_inverse(factors: Array, inverses: Array, blocks: list[slice], first: int, out: Array) -> None:
    """Put the inverse of the part of triangles with these diagonal blocks, the first of this number, into its place."""
    if len(blocks) < 2:
        for inner in blocks:
            side = inner.stop - inner.start
            out[:, inner, inner] = inverses[:, first, :side, :side]
        return
    half = len(blocks) // 2
    _put_inverse(factors, inverses, blocks[:half], first, out)
    _put_inverse(factors, inverses, blocks[half:], first + half, out)
    upper, lower = slice(blocks[0].start, blocks[half].start), slice(blocks[half].start, blocks[-1].stop)
    np.matmul(-out[:, lower, lower], factors[:, lower, upper] @ out[:, upper, upper], out=out[:, lower, upper])


def _inverse_by_substitution(factors: Array) -> Array:
    """The same of small matrices, row by row for all of them at once: a fifth of the time of LAPACK's."""
    out, reciprocal = np.zeros_like(factors), 1.0 / np.einsum("pii->pi", factors)
    np.einsum("pii->pi", out)[:] = reciprocal
    for row in range(1, factors.shape[-1]):
        along = np.matmul(factors[:, row, None, :row], out[:, :row, :row])[:, 0]
        np.multiply(along, -reciprocal[:, row, None], out=out[:, row, :row])
    return out


def _factorize(matrices: Array) -> tuple[Array, Array]:
    """Lower factors of bordered matrices (p, q + 1, q + 1), overwritten, and inverses of their diagonal blocks."""
    if matrices.dtype == np.float32:
        diagonal = [matrices[:, inner, inner].copy() for inner in _diagonal_blocks(matrices.shape[1])]
        try:
            return matrices, _cholesky_in_blocks(matrices)
        except np.linalg.LinAlgError:
            matrices = _restored(matrices, diagonal)
    factor = _cholesky(matrices)
    return factor, diagonal_inverses(factor)


def _restored(matrices: Array, diagonal: list[Array]) -> Array:
    """Symmetric matrices in float64, from their diagonal blocks and what is above these."""
    upper = np.triu(matrices, 1).astype(float)
    whole = upper + upper.swapaxes(1, 2)
    for inner, block in zip(_diagonal_blocks(matrices.shape[1]), diagonal, strict=True):
        whole[:, inner, inner] = block
    return whole


def _cholesky_in_blocks(matrices: Array) -> Array:
    """Take matrices (p, q, q) to their lower factors, and return inverses of the diagonal blocks.

    Column by column of blocks, nearly all of it products of matrices: in float32 it takes half the time of LAPACK's.
    What is above the diagonal blocks is needed until the end, where a matrix turns out not to be positive definite.
    """
    n_leaves, size, _ = matrices.shape
    blocks = _diagonal_blocks(size)
    inverses = np.tile(np.eye(SOLVED_SIDE, dtype=matrices.dtype), (n_leaves, len(blocks), 1, 1))
    for number, inner in enumerate(blocks):
        before, below, side = slice(inner.start), slice(inner.stop, size), inner.stop - inner.start
        column = matrices[:, inner.start :, inner]
        if number:
            column -= np.matmul(matrices[:, inner.start :, before], matrices[:, inner, before].swapaxes(1, 2))
        matrices[:, inner, inner] = factor = np.linalg.cholesky(matrices[:, inner, inner])
        inverses[:, number, :side, :side] = inverse = _inverse_by_substitution(factor)
        matrices[:, below, inner] = np.matmul(matrices[:, below, inner], inverse.swapaxes(1, 2))
    for inner in blocks:
        matrices[:, inner, inner.stop :] = 0.0
    return inverses


def diagonal_inverses(factor: Array) -> Array:
    """Inverses of the diagonal blocks of triangles (p, q, q), filled up with ones, shape (p, blocks, side, side)."""
    n_leaves, size, _ = factor.shape
    blocks = _diagonal_blocks(size)
    inverses = np.tile(np.eye(SOLVED_SIDE, dtype=factor.dtype), (n_leaves, len(blocks), 1, 1))
    for number, inner in enumerate(blocks):
        side = inner.stop - inner.start
        inverses[:, number, :side, :side] = factor[:, inner, inner]
    return _inverse_by_substitution(inverses.reshape(-1, SOLVED_SIDE, SOLVED_SIDE)).reshape(inverses.shape)


def _without_border(inverses: Array, size: int) -> Array:
    """Inverses of the diagonal blocks of factors (p, q, q), of those of the factors with a border."""
    number, row = divmod(size, SOLVED_SIDE)
    if row == 0:
        return inverses[:, :number]
    inverses[:, number, row] = np.eye(SOLVED_SIDE)[row]
    return inverses


def _cholesky(matrices: Array) -> Array:
    """Lower factors of bordered matrices (p, q + 1, q + 1); those that rounding has made indefinite are mended."""
    try:
        return np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return _careful_cholesky(matrices[0])[None]
        half = len(matrices) // 2
        return np.concatenate([_cholesky(matrices[:half]), _cholesky(matrices[half:])])


def _careful_cholesky(matrix: Array) -> Array:
    """Factor of a bordered matrix that is not positive definite: its inner part gets a larger diagonal until it is."""
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
