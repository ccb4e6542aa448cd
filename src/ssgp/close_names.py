"""Which name is meant by one that is not there."""

import difflib
from collections.abc import Sequence

__all__ = ["hint"]


def hint(name: str, names: Sequence[str]) -> str:
    """A hint at the name that may be meant, empty where none is close.

    Examples
    --------
    >>> hint("carier", ["origin", "carrier"])
    " (is 'carrier' meant?)"
    >>> hint("x", ["origin", "carrier"])
    ''
    """
    close = difflib.get_close_matches(name, names, 1) or [other for other in names if other.lower() == name.lower()]
    return f" (is {close[0]!r} meant?)" if close else ""
