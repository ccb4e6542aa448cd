"""Arrays of PyTorch and CuPy, which may be on a GPU, as arrays of NumPy; neither library is imported for it."""

import sys
from typing import Any

__all__ = ["is_tensor", "on_host"]


def is_tensor(values: Any) -> bool:  # noqa: ANN401  a user's
    """Whether these are a tensor of PyTorch, which must have been imported then."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def on_host(values: Any) -> Any:  # noqa: ANN401
    """Tensors of PyTorch, and arrays that CuPy or Numba have on a GPU, as arrays of NumPy; all else as it is.

    Those on the processor are not copied.
    """
    if is_tensor(values):
        return _of_tensor(values)
    if hasattr(values, "__cuda_array_interface__"):
        fetch = getattr(values, "get", None) or getattr(values, "copy_to_host", None)
        return values if fetch is None else fetch()
    return values


def _of_tensor(tensor: Any) -> Any:  # noqa: ANN401
    try:
        return tensor.detach().cpu().numpy()
    except (TypeError, NotImplementedError, RuntimeError) as error:
        layout = "" if str(tensor.layout) == "torch.strided" else f" and the layout {tensor.layout}"
        raise ValueError(
            f"a tensor of {tensor.dtype}{layout} on the device {tensor.device} cannot be made an array "
            f"({str(error).splitlines()[0]}): give a dense one of torch.float32 or torch.float64"
        ) from error
