"""How much memory a fit may take, and how much a table needs."""

import re

from ssgp._utils.checks import available_memory
from ssgp.cli.errors import WrongUsage
from ssgp.forest.sizes import LEAST_MEMORY
from ssgp.tables.files import TableSource
from ssgp.tables.formats import without_compression

__all__ = ["default_memory", "memory_needed", "parse_memory"]

UNITS = {"": 1e9, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
DEFAULT_SHARE = 0.5
# Of a number in a table that is read at once: as Arrow has it, as the encoder makes it, as the regressor sorts it.
BYTES_A_VALUE = 40
# Characters of a number in a text file.
CHARACTERS = 6
# How much larger text is than its packed file.
PACKED = 5


def parse_memory(text: str) -> float:
    """Bytes, from a number of gigabytes or one with a unit.

    Examples
    --------
    >>> parse_memory("4"), parse_memory("512MB"), parse_memory("1.5 g")
    (4000000000.0, 512000000.0, 1500000000.0)
    """
    found = re.fullmatch(r"([0-9.]+)\s*([kmgt]?)b?", text.strip().lower())
    try:
        size = float(found[1]) * UNITS[found[2]] if found else 0.0
    except ValueError:
        size = 0.0
    if size < LEAST_MEMORY:
        raise WrongUsage(f"--memory: {text!r} is not an amount of at least 64 MiB, as in 4GB or 512MB")
    return size


def default_memory() -> float:
    """Half of what there is."""
    return DEFAULT_SHARE * available_memory()


def memory_needed(source: TableSource, n_columns: int) -> float:
    """Bytes that a fit to all rows at once takes, as far as the files tell; 0 where they do not."""
    if source.n_rows is not None:
        return float(BYTES_A_VALUE * source.n_rows * n_columns)
    packed = any(without_compression(file.name) != file.name for file in source.files)
    text = (source.n_bytes or 0) * (PACKED if packed else 1)
    return BYTES_A_VALUE / CHARACTERS * text * n_columns / len(source.column_names)
