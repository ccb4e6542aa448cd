"""Types of the columns of text files that are kept beside predictions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from ssgp.tables.arrow_columns import Column, compute, is_plain_number
from ssgp.tables.files import TableFileError, TableSource
from ssgp.tables.formats import FORMATS, Csv, Types

__all__ = ["Codes", "codes_of", "holds_types", "kept_types"]

# Numbers that are names: 007 is not 7.
LEADING_ZERO = r"^\s*[+-]?0\d"
WHOLE = r"^\s*[+-]?\d+\s*$"


def holds_types(path: str) -> bool:
    """Whether files of that name say what their columns hold; where they do not, text is kept as it is."""
    return not isinstance(FORMATS[Path(path).suffix.lower()], Csv)


def kept_types(source: TableSource, names: list[str]) -> Types:
    """Types of columns of text files that all their values can be read as, and written again; others stay text."""
    if not names or not isinstance(source.files[0].format, Csv):
        return {}
    guessed = {field.name: field.type for field in source.schema(names) if field.type not in (pa.string(), pa.null())}
    return {name: kind for name, kind in guessed.items() if _holds(source, name, kind)}


def _holds(source: TableSource, name: str, kind: pa.DataType) -> bool:
    """Whether all values of a column can be read as a type without loss."""
    try:
        for _ in source.with_types({name: kind}).batches([name]):
            pass
    except TableFileError:
        return False
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return True
    texts = (batch[name] for batch in source.with_types({name: pa.string()}).batches([name]))
    return not any(_names_something(column) for column in texts)


def _names_something(column: Column) -> bool:
    found = compute.match_substring_regex(column, LEADING_ZERO)
    return bool(compute.any(found).as_py())


@dataclass(frozen=True)
class Codes:
    """A column of codes such as 007 that a model takes for numbers, while the text is kept.

    Attributes
    ----------
    kind : pyarrow.DataType
        Type of the numbers.
    missing : tuple of str
        Text that stands for missing numbers.
    """

    kind: pa.DataType
    missing: tuple[str, ...]

    def numbers(self, column: Column) -> Column:
        """The text (n,) as numbers."""
        rows = pa.array(np.arange(len(column)), mask=~self.present(column))
        return compute.utf8_trim_whitespace(column).take(rows).cast(self.kind)

    def present(self, column: Column) -> NDArray[np.bool_]:
        """Which values (n,) are there."""
        missing = compute.is_in(column, value_set=pa.array(self.missing, column.type), skip_nulls=False)
        return column.is_valid().to_numpy() & ~missing.to_numpy()


def codes_of(source: TableSource, names: Sequence[str]) -> dict[str, Codes]:
    """Those of these columns of text files, read as numbers, in which all are whole and some have zeros in front."""
    form = source.files[0].format
    if not isinstance(form, Csv):
        return {}
    missing = (*pyarrow.csv.ConvertOptions().null_values, *form.text.missing_numbers)
    numbers = {name: kind for name, kind in source.types.items() if name in names and is_plain_number(kind)}
    codes = {name: Codes(kind, missing) for name, kind in numbers.items()}
    return {name: found for name, found in codes.items() if _are_codes(source, name, found)}


def _are_codes(source: TableSource, name: str, codes: Codes) -> bool:
    found = False
    for batch in source.with_types({name: pa.string()}).batches([name]):
        present = batch[name].filter(pa.array(codes.present(batch[name])))
        if not compute.all(compute.match_substring_regex(present, WHOLE), min_count=0).as_py():
            return False
        found = found or _names_something(present)
    return found
