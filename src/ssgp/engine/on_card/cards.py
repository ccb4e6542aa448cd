"""Where tensors live: a GPU by its name, what it says when it is missing or full."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np

from ssgp._utils.devices import WITHOUT_GPU, DeviceName
from ssgp._utils.machine_errors import DeviceError

__all__ = ["Card", "find_card"]

T = TypeVar("T")

LESS_TO_FIT = "set n_frequencies lower or n_sketches=1"
INSTALL = "pip install 'ssgp[gpu]'"
# One array of a stack of leaves takes at most one of so many parts of a card's memory.
MEMORY_SHARE = 64
# What counts as the memory of a card that is none.
MEMORY_WITHOUT_GPU = 1 << 31


@dataclass(frozen=True)
class Card:
    """A device of PyTorch.

    Attributes
    ----------
    name : str
        As PyTorch has it: "cuda:0".
    """

    name: str

    @property
    def is_gpu(self) -> bool:
        """Whether it is one, and not the processor."""
        return self.name != "cpu"

    @cached_property
    def memory(self) -> int:
        """Bytes of its memory, all of them: the same for every fit on the card."""
        return int(_torch().cuda.get_device_properties(self.name).total_memory) if self.is_gpu else MEMORY_WITHOUT_GPU

    @property
    def numbers_at_once(self) -> int:
        """Numbers in double precision of the largest array of a stack of leaves."""
        return self.memory // (8 * MEMORY_SHARE)

    def send(self, values: Any) -> Any:  # noqa: ANN401  an array, or a tensor on any device
        """Values as a tensor on the card, which is not copied where it is there already."""
        torch = _torch()
        if isinstance(values, np.ndarray):
            # PyTorch warns of arrays that must not be written, and would copy those in another byte order or layout.
            values = torch.from_numpy(np.require(values, requirements=["C", "W"]))
        return torch.as_tensor(values).to(self.name)

    def fetch(self, tensor: Any) -> Any:  # noqa: ANN401
        """The numbers of a tensor as an array."""
        return tensor.cpu().numpy()

    def run(self, work: Callable[[], T], instead: str = LESS_TO_FIT) -> T:
        """What a function returns that works on the card: in full single precision, and without gradients.

        Where the card is full, the error says what to do `instead`. Nothing that the function held stays there: the
        error knows nothing of where it came from.
        """
        torch = _torch()
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
        try:
            with torch.no_grad():
                return work()
        except torch.OutOfMemoryError as error:
            asked = str(error).partition("Tried to allocate ")[2].partition(". ")[0] or "more memory"
        finally:
            torch.set_float32_matmul_precision(before)
        raise MemoryError(self._full(asked, instead))

    def free(self) -> None:
        """Give memory that nothing uses any more back to the system."""
        if self.is_gpu:
            _torch().cuda.empty_cache()

    def _full(self, asked: str, instead: str) -> str:
        self.free()
        free, total = _torch().cuda.mem_get_info(self.name) if self.is_gpu else (0, self.memory)
        return (
            f"{self.name} has no room for {asked}: {free / 2**30:.1f} of its {total / 2**30:.1f} GiB are free. "
            f"Free memory that other programs hold there, {instead}, or use device='cpu'"
        )


def find_card(device: str) -> Card | None:
    """The card that a setting names; None for the processor, and for "auto" where there is no GPU to use."""
    if not DeviceName().is_satisfied_by(device):
        raise ValueError(f"device must be {DeviceName()}, got {device!r}")
    if device == "cpu":
        return None
    if device == WITHOUT_GPU:
        _check_installed(device)
        return Card("cpu")
    if device == "auto":
        usable = find_spec("torch") is not None and _torch().cuda.is_available()
        return Card("cuda:0") if usable else None
    _check_installed(device)
    _check_driver(device)
    number, count = int(device.partition(":")[2] or 0), _torch().cuda.device_count()
    if number >= count:
        raise ValueError(f"device={device!r}: there are {count} GPUs here, counted from cuda:0")
    return Card(f"cuda:{number}")


def _check_installed(device: str) -> None:
    if find_spec("torch") is None:
        raise ImportError(f"device={device!r} needs PyTorch: {INSTALL}, or use device='cpu'")


def _check_driver(device: str) -> None:
    """Raise an error that says why there is no GPU."""
    torch = _torch()
    if torch.version.cuda is None and torch.version.hip is None:
        raise DeviceError(
            f"device={device!r}: the installed PyTorch {torch.__version__} is built without CUDA. Install one with it "
            "(https://pytorch.org/get-started), or use device='cpu'"
        )
    try:
        torch.cuda.init()
    except RuntimeError as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise DeviceError(
            f"device={device!r}: PyTorch {torch.__version__}, built for CUDA {torch.version.cuda}, finds no GPU it "
            f"can use ({reason}). Look whether nvidia-smi lists one, update the driver if it is older than that CUDA, "
            "or use device='cpu'"
        ) from None


def _torch() -> Any:  # noqa: ANN401  imported where a card is asked for, and not before
    from ssgp.engine.on_card.backend import torch

    return torch
