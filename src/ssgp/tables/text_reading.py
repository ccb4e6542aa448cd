"""Columns of text whose values read as numbers, dates or truth values, as those columns."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ssgp._utils.arrays import Mask
from ssgp.tables.arrow_columns import Column, compute
from ssgp.tables.time_texts import ORDERS, SHORT_YEAR, order_parts, parsed_clocks, parsed_times

__all__ = ["ORDERS", "READINGS", "TextReading", "have_dots", "read_as", "read_text", "unread_dates"]

DECIMAL_COMMAS = "numbers with decimal commas"
# All ways to read text.
READINGS = ("numbers", DECIMAL_COMMAS, "times", "times with a time zone", "times of day", "truth values", *ORDERS)

# Codes such as 007 are names, and no numbers; 1,250.50, $3 and 12 % are numbers.
PLAIN = r"(?:[1-9]\d*|0)?(?:\.\d*)?(?:[eE][+-]?\d+)?"
IN_THOUSANDS = r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?"
WITH_COMMA = r"(?:[1-9]\d{0,2}(?:\.\d{3})+|[1-9]\d*|0)?(?:,\d*)?(?:[eE][+-]?\d+)?"
CURRENCY = "[$\N{EURO SIGN}\N{POUND SIGN}\N{YEN SIGN}]"
NUMBER, NUMBER_WITH_COMMA = (
    rf"^(?P<outer>[+-]?)(?:(?P<before>{CURRENCY}) ?(?P<inner>[+-]?))? ?"
    rf"(?P<digits>{digits}) ?(?P<after>(?:%|{CURRENCY})?)$"
    for digits in (f"{PLAIN}|{IN_THOUSANDS}", WITH_COMMA)
)
DIGIT_FIRST = r"^[.,]?\d"
PERCENT = "%"
TRUTH = r"^(?i:true|false)$"
DATE = r"\d{4}-\d{2}-\d{2}"
CLOCK = r"[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?"
TIME = rf"^{DATE}({CLOCK})?$"
TIME_IN_ZONE = rf"^{DATE}{CLOCK}(Z|[+-]\d{{2}}(:?\d{{2}})?)$"
# Share of the values that may be no numbers, or times, where all others are: more different ones than categories have.
MOST_UNREADABLE = 0.05
LEAST_READINGS = 10
MOST_MONTHS = 12
# Values, none of which can be read, that are no numbers, whatever fit has seen.
LEAST_REFUSED = 20


@dataclass(frozen=True)
class TextReading:
    """A column of text, read.

    Attributes
    ----------
    values : column
        Numbers or times, null where the text is none, or is missing.
    how : str
        One of `READINGS`.
    n_unreadable, n_present : int
        Number of values that are no such text, and of those that are not missing.
    example : str or None
        One that is no such text.
    """

    values: Column
    how: str
    n_unreadable: int
    n_present: int
    example: str | None


def read_text(column: Column, dates: str) -> TextReading | None:
    """Text as numbers, times or truth values, None where it reads as none of these.

    All but a twentieth of the values have to be; the way that leaves the fewest is taken. `dates` is one of `ORDERS`,
    or "auto" where days beyond the twelfth, or dots, tell which it is.
    """
    texts = _Texts(column)
    if not texts.n_present:
        return None
    orders = texts.possible_orders() if dates == "auto" else [dates]
    best = None
    for how in [*READINGS[: -len(ORDERS)], *(orders if len(orders) == 1 else [])]:
        reading = texts.read(how)
        if reading is None or not texts.accepts(reading) or (best and best.n_unreadable <= reading.n_unreadable):
            continue
        best = reading
        if not best.n_unreadable:
            break
    return best


def unread_dates(column: Column) -> tuple[str, str] | None:
    """Why text that reads as dates is not taken for these, and one of them; None where it does not read so."""
    texts = _Texts(column)
    if not texts.n_present:
        return None
    orders = texts.possible_orders()
    reading = texts.read(orders[0]) if len(orders) > 1 else None
    if reading is not None and texts.accepts(reading):
        return "nothing tells days from months", texts.first_like(reading.values)
    return texts.with_short_years()


def have_dots(column: Column) -> bool:
    """Whether all dates whose year is last have dots, and there are some."""
    parts = order_parts(compute.utf8_trim_whitespace(column.cast(pa.large_string())).combine_chunks())
    return len(parts) > 0 and _all_have_dots(parts)


def _all_have_dots(parts: Any) -> bool:  # noqa: ANN401
    return compute.all(compute.equal(compute.struct_field(parts, "mark"), ".")).as_py()


def read_as(column: Column, how: str, gaps: bool = False) -> TextReading | None:
    """Text as it was read in fit, or None where it cannot be what fit has seen.

    More than a twentieth that cannot be read is refused. Where there may be `gaps`, that is refused only of many values
    of which none can be read: among few, as in a row alone, the gaps that all of a table has may be many.
    """
    texts = _Texts(column)
    if not texts.n_present:
        return texts.nothing(how)
    reading = texts.read(how)
    if gaps:
        return texts.nothing(how) if reading is None and texts.n_present < LEAST_REFUSED else reading
    return reading if reading is None or reading.n_unreadable <= MOST_UNREADABLE * reading.n_present else None


class _Texts:
    """The values of a column of text, each once."""

    def __init__(self, column: Column) -> None:
        encoded = column.cast(pa.large_string()).combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks() if encoded.num_chunks != 1 else encoded.chunk(0)
        self._codes, self._texts = encoded.indices, compute.utf8_trim_whitespace(encoded.dictionary)
        self._empty = compute.equal(self._texts, "").to_numpy(zero_copy_only=False)
        counts = np.bincount(self._codes.drop_null().to_numpy(), minlength=len(self._texts))
        self._counts = np.where(self._empty, 0, counts)
        self.n_present = int(self._counts.sum())

    def possible_orders(self) -> list[str]:
        """Orders of day and month that all dates may have."""
        parts = order_parts(self._texts)
        if not len(parts):
            return []
        first, second = (np.array(compute.struct_field(parts, name).cast(pa.int64())) for name in ("first", "second"))
        if _all_have_dots(parts):
            return ["dayfirst"]
        return [order for order, month in zip(ORDERS, (second, first), strict=True) if month.max() <= MOST_MONTHS]

    def read(self, how: str) -> TextReading | None:
        """All values, read in one way; None where none is such text, or a date that there is not."""
        try:
            values, readable = self._values(how)
        except pa.ArrowInvalid:
            return None
        present = self._counts > 0
        if not (readable & present).any():
            return None
        unreadable = np.flatnonzero(present & ~readable)
        example = self._texts[int(unreadable[0])].as_py() if len(unreadable) else None
        n_unreadable = int(self._counts[unreadable].sum())
        return TextReading(pa.chunked_array([values.take(self._codes)]), how, n_unreadable, self.n_present, example)

    def nothing(self, how: str) -> TextReading:
        """All values as gaps."""
        present = np.flatnonzero(self._counts)
        example = self._texts[int(present[0])].as_py() if len(present) else None
        gaps = pa.chunked_array([pa.nulls(len(self._codes))])
        return TextReading(gaps, how, self.n_present, self.n_present, example)

    def accepts(self, reading: TextReading) -> bool:
        """Whether so many values can be read that the column is one of numbers, or of times."""
        if reading.how == DECIMAL_COMMAS and not (self._many(reading) and self._matches(",").any()):
            # A few values such as 1,2 may be pairs.
            return False
        if not reading.n_unreadable:
            return True
        return self._many(reading) and reading.n_unreadable <= MOST_UNREADABLE * reading.n_present

    def with_short_years(self) -> tuple[str, str] | None:
        """Why dates whose years have two digits are not read, and one of them, if nearly all values are such."""
        short = self._matches(SHORT_YEAR) & (self._counts > 0)
        if not short.any() or self._counts[short].sum() < (1 - MOST_UNREADABLE) * self.n_present:
            return None
        return "years of two digits are not read", self._texts[int(np.argmax(short))].as_py()

    def first_like(self, values: Column) -> str:
        """The text of the first of these values that is not missing."""
        row = int(np.argmax(values.is_valid().to_numpy()))
        return self._texts[self._codes[row].as_py()].as_py()

    def _many(self, reading: TextReading) -> bool:
        return len(compute.unique(reading.values)) > LEAST_READINGS

    def _numbers(self, commas: bool) -> tuple[Any, Mask]:
        """Numbers, all with the same sign of a currency, or in percent, or all without."""
        parts = compute.extract_regex(self._texts, NUMBER_WITH_COMMA if commas else NUMBER)
        outer, before, inner, digits, after = (compute.struct_field(parts, i) for i in range(5))
        sign = compute.binary_join_element_wise(outer, inner, pa.scalar("", outer.type))
        readable = np.array(compute.fill_null(compute.match_substring_regex(digits, DIGIT_FIRST), False))
        readable &= np.array(compute.fill_null(compute.less_equal(compute.utf8_length(sign), 1), False))
        units = compute.binary_join_element_wise(before, after, pa.scalar("", before.type)).to_pylist()
        counts = Counter[str]()
        for unit, count in zip(np.array(units, dtype=object)[readable], self._counts[readable], strict=True):
            counts[unit] += int(count)
        unit = counts.most_common(1)[0][0] if counts else ""
        readable &= np.array([other == unit for other in units], dtype=bool)
        digits = compute.replace_substring(digits, "." if commas else ",", "")
        if commas:
            digits = compute.replace_substring(digits, ",", ".")
        plain = compute.binary_join_element_wise(sign, digits, pa.scalar("", sign.type))
        values = plain.take(pa.array(np.arange(len(readable)), mask=~readable)).cast(pa.float64())
        return compute.divide(values, 100.0) if unit == PERCENT else values, readable

    def _values(self, how: str) -> tuple[Any, Mask]:
        """Each value once, read in one way, and which of them can be."""
        if how in ("numbers", DECIMAL_COMMAS):
            return self._numbers(commas=how == DECIMAL_COMMAS)
        if how == "truth values":
            readable = self._matches(TRUTH)
            return compute.equal(compute.utf8_lower(self._only(readable)), "true"), readable
        return parsed_clocks(self._texts) if how == "times of day" else self._times(how)

    def _times(self, how: str) -> tuple[Any, Mask]:
        if how in ORDERS:
            return parsed_times(self._texts, how)
        in_zone = how == "times with a time zone"
        readable = self._matches(TIME_IN_ZONE if in_zone else TIME)
        if not in_zone and not readable[self._counts > 0].all():
            return parsed_times(self._texts)
        try:
            return self._only(readable).cast(pa.timestamp("us", "UTC" if in_zone else None)), readable
        except pa.ArrowInvalid:
            # A date that there is not.
            return parsed_times(self._texts)

    def _matches(self, pattern: str) -> Mask:
        return compute.match_substring_regex(self._texts, pattern).to_numpy(zero_copy_only=False)

    def _only(self, readable: Mask) -> Any:  # noqa: ANN401  pyarrow.Array has no annotations
        """The values that can be read, null for others."""
        return self._texts.take(pa.array(np.arange(len(readable)), mask=~readable))
