"""The way of rows from the root of trees of hyperplanes to their leaves, on a card, in several trees at once."""

from ssgp.engine.on_card.backend import Tensor, torch

__all__ = ["descend"]

# Numbers that are gathered at a time.
NUMBERS_AT_ONCE = 1 << 28


def descend(X: Tensor, directions: Tensor, thresholds: Tensor, children: Tensor) -> Tensor:
    """Leaf of each of n rows (n, d) in each of T trees, shape (T, n).

    Parameters
    ----------
    X : tensor of shape (n, d)
        Rows.
    directions, thresholds, children : tensors of shape (T, p - 1, d), (T, p - 1) and (p - 1, 2)
        As `ssgp.engine.descent.descend` has them.
    """
    n_trees, n_nodes = thresholds.shape
    if not n_nodes:
        return X.new_zeros((n_trees, len(X)), dtype=torch.int64)
    at_once = max(1, NUMBERS_AT_ONCE // (n_trees * X.shape[1]))
    parts = [_descend(part, directions, thresholds, children) for part in X.split(at_once)]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


def _descend(X: Tensor, directions: Tensor, thresholds: Tensor, children: Tensor) -> Tensor:
    n_trees, n_nodes = thresholds.shape
    at = X.new_zeros((n_trees, len(X)), dtype=torch.int64)
    root = n_nodes * torch.arange(n_trees, device=X.device)[:, None]
    directions, thresholds, flat = directions.flatten(0, 1), thresholds.ravel(), children.ravel()
    for _ in range(n_nodes.bit_length()):
        node = at.clamp(min=0)
        right = (X * directions[node + root]).sum(dim=2) >= thresholds[node + root]
        at = torch.where(at < 0, at, flat[2 * node + right])
    return -1 - at
