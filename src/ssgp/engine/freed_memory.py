"""Memory that was freed, given back to the system."""

import ctypes
from functools import cache
from typing import Any

__all__ = ["give_back"]


@cache
def _trim() -> Any:  # noqa: ANN401  a function of the C library
    """The function of the GNU C library that does it; others need none."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return lambda pad: 0


def give_back() -> None:
    """Let the system have what was freed.

    The GNU C library keeps freed arrays of some megabytes for each thread, and work on a long file in many threads
    would in time keep as much as the whole file.
    """
    _trim()(0)
