"""Numbers as people write them."""

import math
from collections.abc import Sequence

__all__ = [
    "MINUS",
    "aligned",
    "literal",
    "may_be_years",
    "number",
    "percent",
    "quantity",
    "short",
    "tick",
    "unit_of",
    "with_unit",
]

MINUS = "\N{MINUS SIGN}"


def number(value: float, digits: int = 3) -> str:
    """A number with so many significant digits; long ones in groups of three, whole parts never rounded.

    Examples
    --------
    >>> [number(value) for value in (1234567.8, 2013.0, 27.841, 0.048312, 0.0, 1e-9, -2.5)]
    ['1,234,568', '2013', '27.8', '0.0483', '0', '1e-09', '−2.5']
    """
    if not math.isfinite(value):
        return "none"
    size = abs(value)
    text = _grouped(round(size)) if size >= 10 ** (digits - 1) else f"{size:.{digits}g}"
    return f"{MINUS}{text}" if value < 0 else text


def quantity(value: float, digits: int = 3) -> str:
    """An amount, never a year: as `number` writes it, in groups of three digits from a thousand on.

    Examples
    --------
    >>> [quantity(value) for value in (1234567.8, 5372.0, 27.841, -2.5)]
    ['1,234,568', '5,372', '27.8', '−2.5']
    """
    written = number(value, digits)
    whole = 1000 <= abs(value) < 10_000 and 10 ** (digits - 1) <= 1000
    return written[:-3] + "," + written[-3:] if whole and "." not in written and "," not in written else written


def may_be_years(low: float, high: float) -> bool:
    """Whether numbers from `low` to `high` may be years, which are written without commas.

    Examples
    --------
    >>> may_be_years(1999.0, 2024.0), may_be_years(80.0, 4983.0)
    (True, False)
    """
    return 1000 <= low <= high < 3000


def tick(value: float, _: int = 0) -> str:
    """A round number on an axis, written out.

    Examples
    --------
    >>> [tick(value) for value in (250000.0, 1250.0, 0.1 + 0.2, -50.0)]
    ['250,000', '1,250', '0.3', '−50']
    """
    text = f"{float(f'{abs(value):.10g}'):,.10g}"
    return f"{MINUS}{text}" if value < 0 else text


def _grouped(size: float) -> str:
    """A number in groups of three digits from five digits on: years and house numbers have none."""
    return f"{size:,.10g}" if size >= 10_000 else f"{size:.10g}"


def aligned(values: Sequence[float], digits: int = 3) -> list[str]:
    """Numbers of one line or column, all with the decimals that give the smallest of them so many digits.

    Examples
    --------
    >>> aligned([23.08, 28.0, 5.125]), aligned([13100.2, 5372.4], digits=4), aligned([float("inf"), -2.0])
    (['23.08', '28.00', '5.12'], ['13,100', '5,372'], ['inf', '−2.00'])
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    decimals = min(max(digits - 1 - math.floor(math.log10(min(sizes, default=1.0))), 0), 6)
    if max(sizes, default=1.0) >= 1e15:
        return [number(value, digits) for value in values]
    return [f"{value:,.{decimals}f}".replace("-", MINUS) for value in values]


def percent(share: float) -> str:
    """A share in per cent, with one digit.

    Examples
    --------
    >>> percent(0.9484)
    '94.8 %'
    """
    return f"{100 * share:.1f} %"


def short(text: str, length: int = 18) -> str:
    """A text, its end cut off where it is longer.

    Examples
    --------
    >>> short("Hartsfield-Jackson Atlanta", 10)
    'Hartsfiel…'
    """
    return text if len(text) <= length else text[: length - 1] + "…"


def literal(text: str) -> str:
    r"""A text that matplotlib shows as it is: between two dollar signs it would set a formula.

    Examples
    --------
    >>> print(literal("$10k-$20k"))
    \$10k-\$20k
    """
    return text.replace("$", r"\$")


def unit_of(target: str) -> str:
    """The unit in brackets at the end of a name, empty where there is none.

    Examples
    --------
    >>> unit_of("arrival delay (minutes)")
    'minutes'
    """
    return target[target.rindex("(") + 1 : -1] if target.endswith(")") and "(" in target else ""


def with_unit(label: str, target: str) -> str:
    """A label with the target's unit.

    Examples
    --------
    >>> with_unit("predicted deviation", "arrival delay (minutes)")
    'predicted deviation (minutes)'
    """
    return f"{label} ({unit_of(target)})" if unit_of(target) else label
