"""Names in messages: which is meant by one that is not there, and which there are."""

import difflib
from collections.abc import Sequence

__all__ = ["hint", "listed"]


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


def listed(names: Sequence[str], most: int = 30) -> str:
    """Names with commas between them, the first ones if there are many.

    Examples
    --------
    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "none") + more
