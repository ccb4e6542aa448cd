"""Errors on the training rows themselves, each as if its row had been left out, on a card.

The formulas are those of `ssgp.engine.leave_one_out`.
"""

from ssgp.engine.on_card.backend import Tensor
from ssgp.engine.row_ridge import MOST_LEVERAGE

__all__ = ["leave_one_out"]


def leave_one_out(
    phi: Tensor,
    y: Tensor,
    weight: Tensor | None,
    node_weights: Tensor,
    inverse: Tensor,
    ridge: Tensor,
    moved: Tensor | None,
    move_on: bool,
) -> tuple[Tensor, Tensor | None]:
    """Errors (p, n) of the rows of a stack of nodes, each left out of its node and of the ancestors.

    Parameters and results are tensors of the shapes that `ssgp.engine.leave_one_out.leave_one_out` has.
    """
    error = y.to(phi.dtype) - (phi @ node_weights.to(phi.dtype)[:, :, None])[:, :, 0]
    along = phi @ inverse
    leverage = (along * phi).sum(dim=2)
    scale = ridge.to(phi.dtype)
    if moved is not None:
        error = error + scale[:, None] * (along * moved).sum(dim=2)
    if weight is not None:
        leverage = leverage * weight
    error = error / (1.0 - leverage.clamp(0.0, MOST_LEVERAGE))
    if not move_on:
        return error, None
    by_row = error if weight is None else error * weight
    along = along * by_row[:, :, None].to(phi.dtype)
    if moved is not None:
        along += moved @ (scale[:, None, None] * inverse)
    return error, along
