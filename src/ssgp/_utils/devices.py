"""Names of what a model is fitted by, as a parameter."""

import re
from typing import Any

from sklearn.utils._param_validation import StrOptions

__all__ = ["WITHOUT_GPU", "DeviceName"]

# PyTorch's own arithmetic on the processor, through the same code: for tests on machines without a GPU.
WITHOUT_GPU = "torch:cpu"
CUDA = re.compile(r"cuda(:\d{1,3})?")


class DeviceName(StrOptions):
    """The processor, a GPU by its name, or whichever there is."""

    def __init__(self) -> None:
        super().__init__({"cpu", "cuda", "auto"})

    def is_satisfied_by(self, val: Any) -> bool:  # noqa: ANN401
        """Whether it is such a name."""
        return isinstance(val, str) and (val in {"cpu", "auto", WITHOUT_GPU} or CUDA.fullmatch(val) is not None)

    def __str__(self) -> str:
        return "a str: 'cpu', 'auto', 'cuda', or 'cuda:1' for the second GPU"
