"""Features of leaves on a card: cosines, sines, a constant and linear functions of rows."""

from ssgp.engine.on_card.backend import Tensor, torch

__all__ = ["leaf_features"]


def leaf_features(
    X: Tensor,
    projection: Tensor,
    n_cosines: int,
    trend_inputs: Tensor | None = None,
    slopes: Tensor | None = None,
) -> Tensor:
    """Features of stacks of rows (..., n, d), shape (..., n, q).

    Parameters
    ----------
    X : tensor of shape (..., n, d)
        Rows.
    projection : tensor of shape (d + 1, q) or (d + 1, cosines + 1)
        Takes [x, 1] to the phases of cosines and to the trend, or to the constant alone.
    n_cosines : int
        2m.
    trend_inputs, slopes : tensors of shape (t,) or None
        Inputs of a trend that the projection does not have, and what they are multiplied with.
    """
    phi = torch.addmm(projection[-1], X.reshape(-1, X.shape[-1]), projection[:-1])
    phi[:, :n_cosines].cos_()
    phi = phi.reshape(*X.shape[:-1], -1)
    return phi if slopes is None else torch.cat([phi, X[..., trend_inputs] * slopes], dim=-1)
