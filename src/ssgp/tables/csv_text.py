"""How the text of CSV files is written: what separates columns and decimals, and what stands for missing values."""

import csv
import io
import re
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

__all__ = ["SEPARATORS", "CsvText", "found_text", "peeked"]

# What separates columns where commas do not, and what people call it.
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
# Text at the beginning of a file that is looked at.
LOOKED_AT = 1 << 16
DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
WHOLE_NUMBER = re.compile(r"[+-]?\d+")
# 1,234 may be a thousand and more.
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")


@dataclass(frozen=True)
class CsvText:
    """How a CSV file is written.

    Attributes
    ----------
    separator, decimal : str or None
        What separates columns, and decimals; None where the text is to tell.
    missing : tuple of str
        Text that stands for missing values, besides what always does.
    """

    separator: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] = ()

    @property
    def missing_numbers(self) -> list[str]:
        """Text that stands for missing values among numbers: whole ones also with a decimal, -999.0 for -999."""
        sign = self.decimal or "."
        whole = [text for text in self.missing if WHOLE_NUMBER.fullmatch(text)]
        return [*self.missing, *(f"{text}{sign}0" for text in whole)]


class _Rejoined:
    """A file of which the beginning has been read already, and is read again."""

    closed = False

    def __init__(self, start: bytes, rest: Any) -> None:  # noqa: ANN401
        self._start, self._rest = start, rest

    def read(self, size: int = -1) -> bytes:
        """So many bytes, all by default."""
        if not self._start:
            return self._rest.read() if size < 0 else self._rest.read(size)
        first = self._start if size < 0 else self._start[:size]
        self._start = self._start[len(first) :]
        left = size - len(first)
        return first + (self._rest.read() if size < 0 else self._rest.read(left) if left else b"")

    def readable(self) -> bool:
        """Whether it can be read."""
        return True


def peeked(data: BinaryIO) -> tuple[bytes, Any]:
    """The beginning of a file, and the file, still at its beginning."""
    start = data.read(LOOKED_AT)
    if data.seekable():
        data.seek(0)
        return start, data
    return start, _Rejoined(start, data)


def found_text(start: bytes, given: CsvText, usual: str) -> CsvText:
    r"""What was given, completed by what the beginning of a file tells; without good reason as `usual`, with points.

    Another separator is taken where the usual one finds a single column, or lines of different lengths, which could not
    be read. Decimal commas are looked for where columns are not separated by the usual sign, nor by commas.

    Examples
    --------
    >>> found_text(b"size;price\n1;0,5\n2;1,25\n", CsvText(), ",")
    CsvText(separator=';', decimal=',', missing=())
    """
    text = start.decode("utf-8", "replace").removeprefix("\ufeff")
    whole = len(start) < LOOKED_AT
    separator = given.separator or _separator(text, whole, usual)
    may_be_comma = separator not in (usual if given.separator is None else ",", ",")
    decimal = given.decimal or ("," if may_be_comma and _has_decimal_commas(_lines(text, separator, whole)) else ".")
    return replace(given, separator=separator, decimal=decimal)


def _separator(text: str, whole: bool, usual: str) -> str:
    if _n_columns(_lines(text, usual, whole)) > 1:
        return usual
    numbers = {other: _n_columns(_lines(text, other, whole)) for other in SEPARATORS if other != usual}
    most = max(numbers.values())
    best = [separator for separator, number in numbers.items() if number == most]
    return best[0] if most > 1 and len(best) == 1 else usual


def _lines(text: str, separator: str, whole: bool) -> list[list[str]]:
    """Fields of the lines that are complete, and not empty; none where they cannot be told apart."""
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error:
        return []
    return [line for line in (lines if whole else lines[:-1]) if line]


def _n_columns(lines: list[list[str]]) -> int:
    """Number of columns; 0 where lines differ, or where there are only names."""
    lengths = {len(line) for line in lines}
    return lengths.pop() if len(lines) > 1 and len(lengths) == 1 else 0


def _has_decimal_commas(lines: list[list[str]]) -> bool:
    """Whether some values can only be numbers with a decimal comma, and none are numbers with a point."""
    values = [value.strip() for line in lines[1:] for value in line if "," in value or "." in value]
    if any(map(DECIMAL_POINT.fullmatch, values)):
        return False
    return any(DECIMAL_COMMA.fullmatch(value) and not THOUSANDS.fullmatch(value) for value in values)
