"""Ridge regressions of many leaves at once on a card, see `ssgp.engine.ridge`: factors are in double precision."""

from dataclasses import dataclass
from math import inf

from ssgp.engine.on_card.backend import Dtype, Tensor, torch
from ssgp.engine.ridge import LEAST_RIDGE

__all__ = ["CardSolution", "factorize", "inverse_of_factor", "solve_ridge", "sum_products"]

# What is added to the diagonal of a matrix that rounding has made indefinite, relative to its mean, and how it grows.
FIRST_JITTER, MORE_JITTER = 1e-12, 100.0


@dataclass(frozen=True)
class CardSolution:
    """Models of p leaves: tensors of the shapes that `ssgp.engine.ridge.RidgeSolution` has, in double precision."""

    weights: Tensor
    sketch: Tensor
    rss: Tensor
    ridge: Tensor
    factor: Tensor


def sum_products(phi: Tensor, y: Tensor, weight: Tensor | None, double: bool) -> Tensor:
    """Sums over rows of outer products of [phi, y], shape (p, q + 1, q + 1), in double precision.

    Parameters
    ----------
    phi : tensor of shape (p, n, q)
        Features, zero for fillers.
    y : tensor of shape (p, n)
        Targets.
    weight : tensor of shape (p, n) or None
        Weights of the rows, None for ones.
    double : bool
        Whether products are summed in double precision, or in that of the features.
    """
    n_leaves, _, size = phi.shape
    phi = phi.double() if double else phi
    weighted = phi if weight is None else phi * weight[:, :, None].to(phi.dtype)
    target = (y if weight is None else weight * y).to(phi.dtype)
    products = phi.new_empty((n_leaves, size + 1, size + 1), dtype=torch.float64)
    products[:, :size, :size] = phi.mT @ weighted
    moment = (target[:, None] @ phi)[:, 0]
    products[:, size, :size] = moment
    products[:, :size, size] = moment
    products[:, size, size] = (y.double() * target.double()).sum(dim=1)
    return products


def solve_ridge(products: Tensor, prior: Tensor | None, ridge: float, signs: Tensor) -> CardSolution:
    """Models of leaves from sums over their rows.

    Parameters
    ----------
    products : tensor of shape (p, q + 1, q + 1), double precision
        See `sum_products`.
    prior : tensor of shape (p, q) or None
        Prior means of the weights, None for zeros.
    ridge : float
        Noise variance over the weights' prior variance.
    signs : tensor of shape (k, q)
        Rows that the covariances are sketched with: random ones with E signs^T signs = I, or the identity.
    """
    size = signs.shape[-1]
    gram, moment, square = products[:, :size, :size], products[:, :size, size], products[:, size, size]
    if prior is not None:
        explained = (gram @ prior[:, :, None])[:, :, 0]
        square = square - 2.0 * (moment * prior).sum(dim=1) + (explained * prior).sum(dim=1)
        moment = moment - explained
    ridges = torch.clamp(LEAST_RIDGE * gram.diagonal(dim1=1, dim2=2).sum(dim=1), min=ridge)
    factor = factorize(gram, ridges)
    whitened = torch.linalg.solve_triangular(factor, moment[:, :, None], upper=False)
    right = torch.cat([whitened, signs.T.expand(len(factor), size, len(signs))], dim=2)
    solved = torch.linalg.solve_triangular(factor.mT, right, upper=True)
    weights = solved[:, :, 0]
    return CardSolution(
        weights=weights if prior is None else weights + prior,
        sketch=solved[:, :, 1:].mT,
        rss=torch.clamp(square - (whitened[:, :, 0] ** 2).sum(dim=1), min=0.0),
        ridge=ridges,
        factor=factor,
    )


def factorize(gram: Tensor, ridges: Tensor) -> Tensor:
    """Lower Cholesky factors of matrices (p, q, q) plus ridges (p,) on their diagonals.

    Those that rounding has made indefinite get larger diagonals until they are not.
    """
    matrices = gram + torch.diag_embed(ridges[:, None].expand(gram.shape[:2]))
    factor, failed = torch.linalg.cholesky_ex(matrices)
    jitter = FIRST_JITTER
    while bool(failed.any()):
        if jitter == inf:
            raise ArithmeticError("sums over the rows of a leaf are not finite: look for extreme values in X or y")
        at = torch.nonzero(failed)[:, 0]
        mean = matrices[at].diagonal(dim1=1, dim2=2).abs().mean(dim=1)
        more = torch.diag_embed((jitter * mean)[:, None].expand(-1, gram.shape[1]))
        factor[at], again = torch.linalg.cholesky_ex(matrices[at] + more)
        failed[at], jitter = again, jitter * MORE_JITTER
    return factor


def inverse_of_factor(factor: Tensor, dtype: Dtype) -> Tensor:
    """A^-1 (p, q, q) from the lower Cholesky factors of A, in the precision in which rows are left out."""
    identity = torch.eye(factor.shape[1], dtype=factor.dtype, device=factor.device).expand(factor.shape)
    root = torch.linalg.solve_triangular(factor, identity, upper=False).to(dtype)
    return root.mT @ root
