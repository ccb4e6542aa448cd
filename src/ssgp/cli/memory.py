"""Memory that a fit may take, and memory that a table needs."""

from ssgp._utils.memory import available_memory, parse_bytes
from ssgp.cli.errors import WrongUsage
from ssgp.forest.sizes import LEAST_MEMORY
from ssgp.tables.files import TableSource
from ssgp.tables.formats import without_compression

__all__ = ["default_memory", "memory_needed", "parse_memory"]

DEFAULT_SHARE = 0.5
# Memory of a number in a table that is read at once: in Arrow's table, in the encoder's array, in the regressor's.
BYTES_PER_VALUE = 40
# Length of a number in a text file.
CHARACTERS_PER_VALUE = 6
# Size of text over that of its compressed file.
COMPRESSION_RATIO = 5


def parse_memory(text: str) -> float:
    """Number of bytes, from a number of gigabytes or one with a unit.

    Examples
    --------
    >>> parse_memory("4"), parse_memory("512MB"), parse_memory("1.5 GiB")
    (4000000000.0, 512000000.0, 1610612736.0)
    """
    size = parse_bytes(text, "GB")
    if size is None or size < LEAST_MEMORY:
        raise WrongUsage(f"--memory: {text!r} is not an amount of at least 64 MiB, as in 4GB, 512MB or 1.5GiB")
    return size


def default_memory() -> float:
    """Half of the memory that is free, in bytes."""
    return DEFAULT_SHARE * available_memory()


def memory_needed(source: TableSource, n_columns: int) -> float:
    """Bytes that a fit to all rows at once takes, as far as the files tell; 0 where they do not."""
    if source.n_rows is not None:
        return float(BYTES_PER_VALUE * source.n_rows * n_columns)
    compressed = any(without_compression(file.name) != file.name for file in source.files)
    n_characters = (source.n_bytes or 0) * (COMPRESSION_RATIO if compressed else 1)
    return BYTES_PER_VALUE / CHARACTERS_PER_VALUE * n_characters * n_columns / len(source.column_names)
