"""Text as times: the ways in which people write dates, and which instants these are."""

import re
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ssgp._utils.arrays import Mask
from ssgp.tables.arrow_columns import compute

__all__ = ["ORDERS", "SHORT_YEAR", "order_parts", "parsed_clocks", "parsed_times"]

# Which of day and month is first where the year is last.
ORDERS = ("dayfirst", "monthfirst")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
FULL_MONTHS = (*("january", "february", "march", "april", "june", "july", "august", "september"), "sept")
FULL_MONTHS += ("october", "november", "december")
NAMES = "|".join(sorted([*MONTHS, *FULL_MONTHS], key=len, reverse=True))

MARK = r"[/.-]"
YEAR, ONE, TWO = r"(?P<year>\d{4})", r"(?P<first>\d{1,2})", r"(?P<second>\d{1,2})"
NAME = rf"(?P<name>(?i:{NAMES}))\.?"
CLOCK = (
    r"(?P<clock>(?:T| +|, )(?P<hours>\d{1,2}):(?P<minutes>\d{2})(?::(?P<seconds>\d{2})(?:\.(?P<fraction>\d{1,9}))?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?)?"
)
YEAR_LAST = rf"^{ONE}(?P<mark>{MARK}){TWO}{MARK}{YEAR}{CLOCK}$"
# 3/4/25 may be a day of the year 2025, or of 2003, or none.
SHORT_YEAR = rf"^\d{{1,2}}(?:/\d{{1,2}}/|-\d{{1,2}}-|\.\d{{1,2}}\.)\d{{2}}{CLOCK}$"
# As Arrow finds them in CSV files, also with fractions of a second.
TIME_OF_DAY = r"^(?P<hours>\d{2}):(?P<minutes>\d{2})(?::(?P<seconds>\d{2})(?:\.(?P<fraction>\d{1,9}))?)?(?P<half>)$"
# With the year first, or with the name of the month: 2024-01-31, 2024/1/31, 31 Jan 2024, 31-Jan-2024, January 31, 2024.
CLEAR = (
    rf"^{YEAR}{MARK}{ONE}{MARK}{TWO}{CLOCK}$",
    rf"^{TWO}[ -]{NAME}[ ,-]+{YEAR}{CLOCK}$",
    rf"^{NAME} {TWO},? +{YEAR}{CLOCK}$",
)
MONTHS_PER_YEAR, FIRST_YEAR = 12, 1970
SECOND = 1_000_000


def order_parts(texts: Any) -> Any:  # noqa: ANN401  pyarrow.Array has no annotations
    """Parts ``first``, ``second`` and ``mark`` of the dates whose year is last, one struct for each such text."""
    return compute.extract_regex(texts, YEAR_LAST).drop_null()


def parsed_times(texts: Any, order: str | None = None) -> tuple[Any, Mask]:  # noqa: ANN401
    """Texts as times in microseconds, null where they are none, and which of them are times, shapes (n,).

    Parameters
    ----------
    texts : pyarrow.Array of shape (n,)
        Strings.
    order : "dayfirst", "monthfirst" or None
        How to read dates whose year is last; None for dates that need no order.
    """
    instants, readable = np.zeros(len(texts), np.int64), np.zeros(len(texts), bool)
    for pattern in CLEAR if order is None else (YEAR_LAST,):
        parts = compute.extract_regex(texts, pattern)
        matched = np.flatnonzero(parts.is_valid().to_numpy(zero_copy_only=False))
        if len(matched):
            values, valid = _instants(_Parts(parts.take(pa.array(matched)), pattern), order)
            instants[matched[valid]], readable[matched[valid]] = values[valid], True
    return pa.array(instants, pa.timestamp("us"), mask=~readable), readable


def parsed_clocks(texts: Any) -> tuple[Any, Mask]:  # noqa: ANN401
    """Texts as times of day in microseconds, null where they are none, and which of them are times, shapes (n,)."""
    clocks, readable = np.zeros(len(texts), np.int64), np.zeros(len(texts), bool)
    parts = compute.extract_regex(texts, TIME_OF_DAY)
    matched = np.flatnonzero(parts.is_valid().to_numpy(zero_copy_only=False))
    if len(matched):
        clocks[matched], readable[matched] = _clock(_Parts(parts.take(pa.array(matched)), TIME_OF_DAY))
    return pa.array(np.where(readable, clocks, 0), mask=~readable).cast(pa.time64("us")), readable


class _Parts:
    """Parts of dates that match a pattern."""

    def __init__(self, parts: Any, pattern: str) -> None:  # noqa: ANN401
        self._parts, self._names = parts, set(re.compile(pattern).groupindex)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def text(self, name: str) -> Any:  # noqa: ANN401
        """A part of each date, empty where it has none."""
        return compute.struct_field(self._parts, name)

    def number(self, name: str) -> NDArray[np.int64]:
        """A part as a number, 0 where a date has none; shape (n,)."""
        text = self.text(name)
        return np.array(compute.if_else(compute.equal(text, ""), "0", text).cast(pa.int64()))


def _instants(parts: _Parts, order: str | None) -> tuple[NDArray[np.int64], Mask]:
    """Microseconds since 1970, and whether there is such a time, shapes (n,)."""
    year, (month, day) = parts.number("year"), _month_and_day(parts, order)
    months = (year - FIRST_YEAR) * MONTHS_PER_YEAR + month - 1
    first, following = (number.astype("datetime64[M]").astype("datetime64[D]") for number in (months, months + 1))
    valid = (year > 0) & (1 <= month) & (month <= MONTHS_PER_YEAR) & (1 <= day)
    valid &= day <= (following - first).astype(np.int64)
    clock, on_clock = _clock(parts)
    days = first.astype(np.int64) + day - 1
    return days * 86_400 * SECOND + clock, valid & on_clock


def _month_and_day(parts: _Parts, order: str | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if "name" in parts:
        short = compute.utf8_slice_codeunits(compute.utf8_lower(parts.text("name")), 0, 3)
        month = np.array(compute.index_in(short, pa.array(MONTHS, short.type))).astype(np.int64) + 1
        return month, parts.number("second")
    first, second = parts.number("first"), parts.number("second")
    return (second, first) if order == "dayfirst" else (first, second)


def _clock(parts: _Parts) -> tuple[NDArray[np.int64], Mask]:
    """Microseconds since midnight, and whether a clock shows these, shapes (n,)."""
    hours, minutes, seconds = (parts.number(name) for name in ("hours", "minutes", "seconds"))
    half = compute.utf8_lower(parts.text("half"))
    is_half, second_half = np.array(compute.not_equal(half, "")), np.array(compute.equal(half, "p"))
    valid = np.where(is_half, (1 <= hours) & (hours <= 12), hours < 24) & (minutes < 60) & (seconds < 60)
    hours = np.where(is_half, hours % 12 + 12 * second_half, hours)
    padded = compute.utf8_rpad(parts.text("fraction"), 6, "0")
    fraction = np.array(compute.utf8_slice_codeunits(padded, 0, 6).cast(pa.int64()))
    return ((hours * 60 + minutes) * 60 + seconds) * SECOND + fraction, valid
