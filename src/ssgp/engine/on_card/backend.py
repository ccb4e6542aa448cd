"""PyTorch, typed as anything: types are checked without it, and the library runs without it."""

from importlib import import_module
from typing import Any

__all__ = ["Dtype", "Tensor", "torch"]

torch: Any = import_module("torch")
Tensor = Dtype = Any
