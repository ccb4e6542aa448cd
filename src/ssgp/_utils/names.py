"""Names in messages: which is meant by one that is not there, and which there are."""

import difflib
import unicodedata
from collections.abc import Sequence

__all__ = ["hint", "listed", "printable"]

# Control characters, which terminals obey, what no encoding can write, and separators of lines and paragraphs,
NOT_PRINTED = ("Cc", "Cs", "Zl", "Zp")
# and characters that change the direction of text.
DIRECTIONS = ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI")
MARKS = "\u061c\u200e\u200f"


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
    return printable(", ".join(names[:most]) or "none") + more


def printable(text: str) -> str:
    r"""Text in which characters that a terminal would obey are written as in Python's strings; lines stay lines.

    Examples
    --------
    >>> print(printable("a\x1b[2J\nb"))
    a\x1b[2J
    b
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(character if _is_printed(character) else ascii(character)[1:-1] for character in text)


def _is_printed(character: str) -> bool:
    if character == "\n":
        return True
    turns = character in MARKS or unicodedata.bidirectional(character) in DIRECTIONS
    return not turns and unicodedata.category(character) not in NOT_PRINTED
