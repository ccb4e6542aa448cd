"""What the columns of a table hold, in words."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ssgp._utils.wording import may_be_years, number, quantity, short
from ssgp.plot.inputs import InputTable
from ssgp.tables.arrow_columns import Column, instants, numbers, texts
from ssgp.tables.encodings import MISSING_TIME, OneHot, TargetMeans, Time

__all__ = ["ColumnSummary", "summarize_columns"]

SHOWN_CATEGORIES = 3


@dataclass(frozen=True)
class ColumnSummary:
    """A line of the table of columns.

    Attributes
    ----------
    name : str
        Name of the column.
    values : str
        What the rows hold.
    becomes : str
        What the model gets of it.
    """

    name: str
    values: str
    becomes: str


def summarize_columns(inputs: InputTable) -> list[ColumnSummary]:
    """Summaries of all columns, in the order of the table."""
    return [ColumnSummary(name, _values(inputs, name), _becomes(inputs, name)) for name in inputs.names]


def _becomes(inputs: InputTable, name: str) -> str:
    encoding = inputs.encodings.get(name)
    return "as it is" if encoding is None else encoding.describe()


def _values(inputs: InputTable, name: str) -> str:
    column, encoding, holds = inputs.column(name), inputs.encodings.get(name), inputs.holds(name)
    if isinstance(encoding, Time):
        return _describe_times(column, encoding, name)
    if isinstance(encoding, OneHot | TargetMeans) or holds == "text":
        return _describe_categories(column)
    if holds in ("numbers", "truth values", "durations"):
        return _describe_numbers(numbers(column, name))
    return holds


def _describe_numbers(values: np.ndarray) -> str:
    present = values[np.isfinite(values)]
    if not len(present):
        return "no values"
    are_years = (present == np.round(present)).all() and may_be_years(present.min(), present.max())
    written = number if are_years else quantity
    low, middle, high = (written(value) for value in np.quantile(present, [0, 0.5, 1]))
    range_text = f"always {low}" if low == high else f"{low} to {high}, half of them up to {middle}"
    return range_text + _missing_note(len(values) - len(present))


def _describe_categories(column: Column) -> str:
    strings = texts(column).to_pylist()
    counts = Counter(text for text in strings if text is not None)
    missing = len(strings) - counts.total()
    if not counts:
        return "no values"
    if max(counts.values()) < 0.01 * len(strings):
        return f"{len(counts):,} different values{_missing_note(missing)}"
    frequent = sorted(counts, key=lambda text: (-counts[text], text))[:SHOWN_CATEGORIES]
    shares = ", ".join(f"{short(text)} {100 * counts[text] / len(strings):.0f} %" for text in frequent)
    more = len(counts) - len(frequent)
    return f"{shares}{f' and {more:,} more' if more else ''}{_missing_note(missing)}"


def _describe_times(column: Column, encoding: Time, name: str) -> str:
    clock, _ = instants(column, name, encoding.zone)
    present = clock[clock != MISSING_TIME]
    if not len(present):
        return "no values"
    form = "M8[s]" if encoding.median_day is None else "M8[m]"
    first, last = (str(np.datetime64(int(end), "us").astype(form)) for end in (present.min(), present.max()))
    if encoding.median_day is None:
        first, last = first.partition("T")[2], last.partition("T")[2]
    return f"{first.replace('T', ' ')} to {last.replace('T', ' ')}{_missing_note(len(clock) - len(present))}"


def _missing_note(n_missing: int) -> str:
    return f"; {n_missing:,} missing" if n_missing else ""
