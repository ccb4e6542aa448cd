"""How commands print: nothing that a terminal would obey, and to streams that may be closed."""

import os
import shutil
import sys
from typing import IO, TextIO

from ssgp._utils.names import printable

__all__ = ["line_width", "open_streams", "silence", "tell"]

WIDEST_LINE = 118


def tell(text: str, stream: TextIO) -> None:
    """Print what is good to know. Where it can no longer be written, the work goes on without."""
    try:
        print(printable(text), file=stream, flush=True)
    except OSError:
        silence(stream)


def line_width() -> int:
    """How wide lines of the standard output may be: as the terminal is, but no wider than people read easily."""
    return min(shutil.get_terminal_size().columns, WIDEST_LINE) if sys.stdout.isatty() else WIDEST_LINE


def silence(stream: IO[str]) -> None:
    """Let what is still to be written to a stream vanish: its reader has left, and Python would complain at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        return


def open_streams() -> None:
    """Open the standard streams that were closed, as empty ones: a file must not take the place of one.

    What cannot be written in the encoding of a stream is written as in Python's strings.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
