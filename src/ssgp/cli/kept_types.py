"""Types of the columns of text files that are kept beside predictions."""

from pathlib import Path

import pyarrow as pa

from ssgp.tables.arrow_columns import Column, compute
from ssgp.tables.files import TableFileError, TableSource
from ssgp.tables.formats import FORMATS, Csv, Types

__all__ = ["holds_types", "kept_types"]

# Numbers that are names: 007 is not 7.
LEADING_ZERO = r"^\s*[+-]?0\d"


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
