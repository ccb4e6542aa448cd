"""Tables of commands: how their text is written, by options or as it was found, and columns that only count rows."""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from ssgp.cli.errors import WrongUsage, one_line
from ssgp.cli.notes import Notes
from ssgp.cli.output import Output
from ssgp.tables.csv_text import SEPARATORS, CsvText
from ssgp.tables.files import TableSource, open_table
from ssgp.tables.formats import Csv

__all__ = ["open_data", "open_like_training", "parse_text", "row_counts"]

NAMED_SEPARATORS = {"tab": "\t", r"\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "pipe": "|"}
DECIMALS = (".", ",")
# What a column is called that had no name, by itself and by pandas.
NAMELESS = re.compile(r"|Unnamed: \d+")


def parse_text(separator: str | None, decimal: str | None, missing: Sequence[str] | None) -> CsvText:
    """How CSV files are written, from the options ``--sep``, ``--decimal`` and ``--na``."""
    sign = None if separator is None else NAMED_SEPARATORS.get(separator, separator)
    if sign is not None and not (len(sign) == 1 and sign.isascii() and sign not in '"\r\n\0'):
        raise WrongUsage(f"--sep: {separator!r} is not a single sign, as in ';' or '|', or tab")
    if decimal is not None and decimal not in DECIMALS:
        raise WrongUsage(f"--decimal: {decimal!r} is neither '.' nor ','")
    if decimal is not None and decimal == sign:
        raise WrongUsage(f"--decimal: {decimal!r} separates the columns (--sep); it cannot be both")
    return CsvText(sign, decimal, tuple(missing or ()))


def open_data(data: str, text: CsvText, output: Output) -> TableSource:
    """The table, and a message where its text is found to be written in another way than is usual."""
    source = open_table(data, separator=text.separator, decimal=text.decimal, missing=text.missing)
    found = source.text
    if found is not None and found != CsvText():
        columns = [] if found.separator is None else [f"{SEPARATORS[found.separator]} between columns (--sep)"]
        decimals = [] if found.decimal is None else ["decimal commas (--decimal)"]
        output.say(f"{one_line(data)}: found {' and '.join([*columns, *decimals])}")
    return source


def open_like_training(data: str, text: CsvText, notes: Notes, output: Output) -> TableSource:
    """The table for a saved model; without ``--na`` values are missing in text files as they were in fit."""
    source = open_data(data, text, output)
    if text.missing or not notes.missing or not isinstance(source.files[0].format, Csv):
        return source
    return open_table(data, separator=text.separator, decimal=text.decimal, missing=notes.missing)


def row_counts(source: TableSource, names: Iterable[str]) -> list[str]:
    """Columns without a name that count the rows from zero, as indices do that were written with a table."""
    nameless = [name for name in names if NAMELESS.fullmatch(name)]
    first = next(source.batches(nameless), None) if nameless else None
    if first is None or first.num_rows < 2:
        return []
    counted = list(range(first.num_rows))
    return [name for name in nameless if np.array_equal(first[name].to_pylist(), counted)]
