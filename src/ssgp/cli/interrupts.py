"""Signals that end a command."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

__all__ = ["Terminated", "terminable"]

# Those by which a system, or a terminal that is closed, asks a program to end; Windows has not both.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Terminated(BaseException):
    """The system asked the command to end. Nobody catches it but the command: files it was writing are removed.

    Attributes
    ----------
    number : int
        Number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def exit_code(self) -> int:
        """What shells say of a program that a signal ended."""
        return 128 + self.number


@contextmanager
def terminable() -> Iterator[None]:
    """Context in which signals that end a program raise `Terminated`; those that are ignored still are."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in ENDING}
    caught = [number for number, handler in before.items() if handler is signal.SIG_DFL]
    try:
        for number in caught:
            signal.signal(number, _terminate)
        yield
    finally:
        for number in caught:
            signal.signal(number, before[number])


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    # Once is enough: a second one must not interrupt the cleaning up.
    signal.signal(number, signal.SIG_IGN)
    raise Terminated(number)
