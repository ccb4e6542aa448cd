"""Targets and weights as numbers."""

import pyarrow as pa

from ssgp._utils.arrays import Array
from ssgp.cli.errors import CommandError
from ssgp.tables.arrow_columns import Column, family, numbers

__all__ = ["numeric_values"]


NUMERIC = ("numbers", "truth values", "durations", "nothing")


def numeric_values(column: Column, name: str, role: str = "the target") -> Array:
    """A column as floats, NaN where a value is missing; an error if it cannot have the role, such as the target."""
    holds = family(column.type)
    if holds not in NUMERIC:
        example = next((value for value in column.to_pylist() if not _is_number(value)), None)
        raise CommandError(
            f"column {name!r} cannot be {role}: it holds {holds}, such as {str(example)!r}, and it has to hold numbers"
        )
    return numbers(column.cast(pa.float64()) if holds == "nothing" else column, name)


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return value is None
    return True
