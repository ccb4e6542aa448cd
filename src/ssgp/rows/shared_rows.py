"""Rows in files that all processes of a machine map into their memory."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.rows.blocks import Rows

__all__ = ["SharedRows", "shared_rows"]

# A folder in memory, where a system has one, and room that is left there for others.
IN_MEMORY = Path("/dev/shm")
ROOM_LEFT = 2**29


@dataclass(frozen=True)
class SharedRows:
    """Rows in a folder.

    Attributes
    ----------
    folder : str
        Where the arrays are.
    weighted : bool
        Whether rows have weights.
    """

    folder: str
    weighted: bool

    def load(self) -> Rows:
        """The rows, none of which is read before it is needed."""
        X, y = self._array("X"), self._array("y")
        return Rows(X, y, self._array("weight") if self.weighted else None, np.array([0, len(y)]))

    def _array(self, name: str) -> Array:
        return np.asarray(np.load(Path(self.folder, f"{name}.npy"), mmap_mode="r"))


@contextmanager
def shared_rows(rows: Rows) -> Iterator[SharedRows]:
    """Context with a copy of the rows that processes can load."""
    arrays = {"X": rows.X, "y": rows.y, "weight": rows.weight}
    n_bytes = sum(values.nbytes for values in arrays.values() if values is not None)
    with tempfile.TemporaryDirectory(prefix="ssgp-", dir=_place_for(n_bytes), ignore_cleanup_errors=True) as folder:
        for name, values in arrays.items():
            if values is not None:
                np.save(Path(folder, f"{name}.npy"), values)
        yield SharedRows(folder, rows.weight is not None)


def _place_for(n_bytes: int) -> Path | None:
    """A folder in memory that has the room, None for the usual one."""
    try:
        return IN_MEMORY if shutil.disk_usage(IN_MEMORY).free > n_bytes + ROOM_LEFT else None
    except OSError:
        return None
