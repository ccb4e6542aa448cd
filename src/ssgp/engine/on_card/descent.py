"""The way of rows from the root of a tree of hyperplanes to their leaves, on a card."""

from ssgp.engine.on_card.backend import Tensor, torch

__all__ = ["descend"]

# Numbers that are gathered at a time.
NUMBERS_AT_ONCE = 1 << 28


def descend(X: Tensor, directions: Tensor, thresholds: Tensor, children: Tensor) -> Tensor:
    """Leaf of each of n rows (n, d) in one tree, shape (n,).

    Parameters
    ----------
    X : tensor of shape (n, d)
        Rows.
    directions, thresholds, children : tensors of shape (p - 1, d), (p - 1,) and (p - 1, 2)
        As `ssgp.engine.descent.descend` has them, of one tree.
    """
    if not len(thresholds):
        return X.new_zeros(len(X), dtype=torch.int64)
    at_once = max(1, NUMBERS_AT_ONCE // X.shape[1])
    parts = [_descend(part, directions, thresholds, children) for part in X.split(at_once)]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _descend(X: Tensor, directions: Tensor, thresholds: Tensor, children: Tensor) -> Tensor:
    at = X.new_zeros(len(X), dtype=torch.int64)
    flat = children.ravel()
    for _ in range(len(thresholds).bit_length()):
        node = at.clamp(min=0)
        right = (X * directions[node]).sum(dim=1) >= thresholds[node]
        at = torch.where(at < 0, at, flat[2 * node + right])
    return -1 - at
