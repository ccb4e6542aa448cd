"""Rows in files that all processes of a machine map into their memory."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib.externals.loky.backend import resource_tracker

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
    place = _place_for(n_bytes)
    with (
        tempfile.TemporaryDirectory(prefix="ssgp-", dir=place, ignore_cleanup_errors=True) as folder,
        _removed_if_killed(folder),
    ):
        for name, values in arrays.items():
            if values is not None:
                np.save(Path(folder, f"{name}.npy"), values)
        yield SharedRows(folder, rows.weight is not None)


@contextmanager
def _removed_if_killed(folder: str) -> Iterator[None]:
    """Context of a folder that goes with this process even where it is killed: else its memory would not come back.

    A process that loky has beside its workers looks after it.
    """
    # It takes no names of many hundred characters.
    with suppress(ValueError):
        resource_tracker.register(folder, "folder")
    try:
        yield
    finally:
        with suppress(ValueError):
            resource_tracker.unregister(folder, "folder")


def _place_for(n_bytes: int) -> Path | None:
    """A folder in memory that has the room, None for the usual one."""
    try:
        return IN_MEMORY if shutil.disk_usage(IN_MEMORY).free > n_bytes + ROOM_LEFT else None
    except OSError:
        return None
