"""Targets and weights as numbers."""

import shlex
from typing import Any

import pyarrow as pa

from ssgp._utils.arrays import Array
from ssgp._utils.checks import is_number
from ssgp.cli.errors import CommandError
from ssgp.tables.arrow_columns import Column, family, numbers
from ssgp.tables.text_reading import LEAST_READINGS, read_text

__all__ = ["numeric_values"]


NUMERIC = ("numbers", "truth values", "durations", "nothing")


def numeric_values(column: Column, name: str, role: str = "the target") -> Array:
    """A column as floats, NaN where a value is missing; an error if it cannot have the role, such as the target."""
    holds = family(column.type)
    if holds == "text":
        reading = read_text(column, "auto")
        if reading is not None and reading.how == "numbers" and not reading.n_unreadable:
            return numbers(reading.values, name)
    if holds not in NUMERIC:
        texts = [text for text in map(_as_text, column) if text]
        example = next((text for text in texts if not is_number(text)), next(iter(texts), None))
        raise CommandError(
            f"column {name!r} cannot be {role}: it holds {holds}, such as {example!r}, and it has to hold numbers"
            f"{_remedy(texts, example)}"
        )
    return numbers(column.cast(pa.float64()) if holds == "nothing" else column, name)


def _remedy(texts: list[str], example: str | None) -> str:
    """What to do where all texts are numbers, and many different ones, but for the example."""
    if example is None or len(set(texts)) <= LEAST_READINGS:
        return ""
    others = all(text == example or is_number(text) for text in texts)
    return f"; in CSV files --na {shlex.quote(example)} takes it for missing" if others else ""


def _as_text(value: Any) -> str | None:  # noqa: ANN401  pyarrow.Scalar has no annotations
    """A value in words, None where it is missing; Arrow has times, and zones of times, that Python has not."""
    try:
        return str(value.as_py()) if value.is_valid else None
    except (OverflowError, ValueError, KeyError):
        return f"{value.type} beyond the year 9999, or of a time zone that nobody knows"
