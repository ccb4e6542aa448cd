"""What a command prints: text for people, or one JSON object for programs."""

import json
import math
import sys
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from ssgp._utils.names import printable
from ssgp._utils.wording import MINUS, aligned
from ssgp.cli.course import ROWS, Stage
from ssgp.cli.errors import one_line
from ssgp.cli.printing import tell
from ssgp.cli.progress_display import Display, LineDisplay, NoDisplay, TerminalDisplay

__all__ = ["Output", "amount", "duration", "glossary", "plain_numbers", "table_lines"]


class Output:
    """Where messages, warnings, progress and results go.

    Messages and results go to the standard output, warnings and progress to standard error.

    Parameters
    ----------
    quiet : bool
        Whether to print nothing but errors and answers.
    as_json : bool
        Whether to print one JSON object, at the end, and nothing else; warnings are in it.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self._silent, self._as_json = quiet or as_json, as_json
        self._warnings: list[str] = []

    def say(self, text: str) -> None:
        """Print a message."""
        if not self._silent:
            tell(text, sys.stdout)

    def warn(self, text: str) -> None:
        """Print a warning, and keep it for the JSON object."""
        self._warnings.append(text)
        if not self._silent:
            tell(f"ssgp: warning: {text}", sys.stderr)

    def result(self, results: dict[str, Any], text: str) -> None:
        """Print what the command did: results as JSON for programs, or text for people."""
        if self._as_json:
            self.answer(results, text)
        else:
            self.say(text)

    def answer(self, results: dict[str, Any], text: str) -> None:
        """Print what the command was asked for, and writes to no file: printed even if quiet."""
        if self._as_json:
            print(json.dumps(_finite({**results, "warnings": self._warnings}), allow_nan=False), flush=True)
        else:
            print(printable(text), flush=True)

    def progress(self, stages: Mapping[str, Stage] = ROWS) -> Display:
        """Display of progress through these stages: a bar on a terminal, a line every few seconds elsewhere."""
        if self._silent:
            return NoDisplay()
        return TerminalDisplay(stages) if sys.stderr.isatty() else LineDisplay(stages)

    @contextmanager
    def warnings_as_messages(self, names: Mapping[str, str] = MappingProxyType({})) -> Iterator[None]:
        """Context in which the library's warnings are printed as those of the command, one line each.

        `names` has the command's words for the names of arguments.
        """

        def show(message: Warning | str, *_: object, **__: object) -> None:
            text = one_line(message)
            for argument, word in names.items():
                text = text.replace(argument, word)
            self.warn(text)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = show
            yield


def _finite(value: Any) -> Any:  # noqa: ANN401
    """The same values with None for infinity and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def amount(number: int, what: str) -> str:
    """A number of things, in words.

    Examples
    --------
    >>> amount(1, "row"), amount(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """A time in words.

    Examples
    --------
    >>> duration(0.318), duration(42.0), duration(200.0), duration(7260.0)
    ('0.3 s', '42 s', '3 min 20 s', '2 h 1 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def plain_numbers(values: Sequence[float], digits: int = 4) -> list[str]:
    """Numbers of one line, written out with the same decimals.

    Examples
    --------
    >>> plain_numbers([13100.4, -5372.2]), plain_numbers([0.25])
    (['13,100', '-5,372'], ['0.2500'])
    """
    # Not every terminal has the sign for minus.
    return [text.replace(MINUS, "-") for text in aligned(values, digits)]


def table_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines of a table: the first column to the left, numbers to the right.

    Examples
    --------
    >>> print(table_lines(["", "RMSE"], [["model", "1.25"], ["mean", "13.5"]]))
           RMSE
    model  1.25
    mean   13.5
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for first, *others in (header, *rows):
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def glossary(meanings: Mapping[str, str], width: int) -> str:
    """Terms and what they mean, in lines of at most `width` characters.

    Examples
    --------
    >>> print(glossary({"RMSE": "typical error of the mean", "R2": "share explained"}, 22))
    RMSE   typical error
           of the mean
    R2     share explained
    """
    column = max(map(len, meanings)) + 3
    # A narrow terminal breaks the lines itself: there is no room for two columns.
    room = max(width, column + 12)
    lines = (
        textwrap.fill(meaning, room, initial_indent=term.ljust(column), subsequent_indent=" " * column)
        for term, meaning in meanings.items()
    )
    return "\n".join(lines)
