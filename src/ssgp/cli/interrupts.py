"""A counter of Ctrl-C: regressors return a usable model when it is pressed, and a command has to know that it was."""

import signal
from types import FrameType
from typing import Self

__all__ = ["InterruptCounter"]


class InterruptCounter:
    """A context that counts presses of Ctrl-C, each of which raises `KeyboardInterrupt` as ever.

    Attributes
    ----------
    pressed : int
        Number of presses so far.
    """

    def __init__(self) -> None:
        self.pressed = 0

    def __enter__(self) -> Self:
        """Begin to count."""
        self._before = signal.signal(signal.SIGINT, self._count)
        return self

    def __exit__(self, *raised: object) -> None:
        """Leave everything as it was."""
        signal.signal(signal.SIGINT, self._before)

    def _count(self, number: int, frame: FrameType | None) -> None:
        self.pressed += 1
        signal.default_int_handler(number, frame)
