"""Warnings of values that are not as in fit: at once, or once for all batches of a table."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from ssgp._utils.warning import warn_user
from ssgp.tables.text_reading import ORDERS, TextReading

__all__ = [
    "Told",
    "collected",
    "tell_all",
    "tell_unknown",
    "tell_unreadable",
    "told_once",
    "untold",
    "warn_of_unread_dates",
]


@dataclass
class Told:
    """What there is to tell of a table.

    Attributes
    ----------
    n_rows : int
        Rows that were looked at.
    unknown : Counter
        Rows whose values fit never saw, by column.
    unreadable : dict of TextReading
        Text that was read as numbers or times, by column, with the counts of all batches.
    filled : bool
        Whether training rows give values for those that are unknown.
    """

    n_rows: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    unreadable: dict[str, TextReading] = field(default_factory=dict)
    filled: bool = False

    def add(self, name: str, reading: TextReading) -> None:
        """Count the values of a batch."""
        before = self.unreadable.get(name)
        if before is not None:
            reading = replace(
                reading,
                n_unreadable=before.n_unreadable + reading.n_unreadable,
                n_present=before.n_present + reading.n_present,
                example=before.example if before.n_unreadable else reading.example,
            )
        self.unreadable[name] = reading

    def add_all(self, others: "Told") -> None:
        """Count the values of other batches, which come after these."""
        self.n_rows += others.n_rows
        self.unknown.update(others.unknown)
        for name, reading in others.unreadable.items():
            self.add(name, reading)
        self.filled = self.filled or others.filled

    def warn(self) -> None:
        """Warn of what there is to tell."""
        for name, reading in self.unreadable.items():
            if reading.n_unreadable:
                _warn_of_unreadable(name, reading)
        if self.unknown.total():
            _warn_of_unknown(self.unknown, self.n_rows, self.filled)


_TOLD: ContextVar[Told | None] = ContextVar("told", default=None)


@contextmanager
def told_once() -> Iterator[None]:
    """Context of the batches of a table, at whose end all that there is to tell of their values is told."""
    with collected() as told:
        yield
    told.warn()


@contextmanager
def untold() -> Iterator[None]:
    """Context of rows that have been told of already."""
    with collected():
        yield


@contextmanager
def collected() -> Iterator[Told]:
    """Context whose value has, at its end, all that there is to tell of values within; nothing is told."""
    told = Told()
    token = _TOLD.set(told)
    try:
        yield told
    finally:
        _TOLD.reset(token)


def tell_all(told: Told) -> None:
    """Tell of what was collected elsewhere."""
    here = _TOLD.get()
    if here is None:
        told.warn()
    else:
        here.add_all(told)


def tell_unreadable(name: str, reading: TextReading) -> None:
    """Tell of text that reads as no numbers, or times, in a column that holds these."""
    told = _TOLD.get()
    if told is not None:
        told.add(name, replace(reading, values=None))
    elif reading.n_unreadable:
        _warn_of_unreadable(name, reading)


def tell_unknown(counts: Mapping[str, int], n_rows: int, filled: bool) -> None:
    """Tell of so many rows, by column, of these whose values fit never saw, and whether they are `filled`."""
    told = _TOLD.get()
    if told is not None:
        told.n_rows += n_rows
        told.unknown.update(counts)
        told.filled = filled
    elif any(counts.values()):
        _warn_of_unknown(counts, n_rows, filled)


def warn_of_unread_dates(name: str, reason: str, example: str) -> None:
    """Warn of text that reads as dates and is learned from as text."""
    if "months" in reason:
        remedy = "dates='dayfirst' or 'monthfirst' of a TableEncoder (--dates) says which are first"
    else:
        remedy = "write years in full, or give times"
    warn_user(f"column {name!r} has dates such as {example!r}, and {reason}: it is taken for text; {remedy}")


def _warn_of_unreadable(name: str, reading: TextReading) -> None:
    what = "times" if reading.how in ORDERS else reading.how
    warn_user(
        f"column {name!r} is text that reads as {what}, but for {reading.n_unreadable:,} of {reading.n_present:,} "
        f"values ({reading.n_unreadable / reading.n_present:.2%}), such as {reading.example!r}, which are taken as "
        f"missing; kinds={{{name!r}: 'category'}} of a TableEncoder (--kind) takes the text as it is"
    )


def _warn_of_unknown(counts: Mapping[str, int], n_rows: int, filled: bool) -> None:
    parts = [f"{name!r} in {count:,} of {n_rows:,} ({count / n_rows:.1%})" for name, count in counts.items() if count]
    if filled:
        treatment = "These rows get mixtures over the values that similar training rows have there"
    else:
        treatment = "A median or a mean stands for them, and intervals of these rows may be too narrow"
    warn_user(
        "rows have values that fit never saw, or miss some where hardly any were missing in fit: column "
        f"{', '.join(parts)}. {treatment}"
    )
