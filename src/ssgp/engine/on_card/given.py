"""Rows that a user has on a card already, in tensors of PyTorch or arrays of CuPy."""

from typing import Any

from ssgp._utils.foreign_arrays import is_tensor
from ssgp.engine.on_card.backend import Tensor, torch
from ssgp.engine.on_card.cards import Card

__all__ = ["rows_given_on"]


def rows_given_on(card: Card, X: Any, n_inputs: int) -> Tensor | None:  # noqa: ANN401
    """Rows (n, d) that are on the card, finite and of so many inputs, without a copy; None for all others.

    What is wrong with others is told once they are arrays.
    """
    tensor = _on_same_device(card, X)
    if tensor is None or tensor.layout != torch.strided or tensor.dtype not in (torch.float32, torch.float64):
        return None
    if tensor.ndim != 2 or not len(tensor) or tensor.shape[1] != n_inputs or not bool(tensor.isfinite().all()):
        return None
    return tensor


def _on_same_device(card: Card, X: Any) -> Tensor | None:  # noqa: ANN401
    """A tensor of the same memory, None where that is not on the card, or is an array of NumPy's."""
    if not is_tensor(X):
        if not (hasattr(X, "__cuda_array_interface__") and hasattr(X, "__dlpack__")):
            return None
        X = torch.from_dlpack(X)
    return X.detach() if X.device == torch.device(card.name) else None
