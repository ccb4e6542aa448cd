"""Finished parts of a fit, kept in a folder: a fit that was killed goes on from there to the same model."""

import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from ssgp._utils.whole_file import FilePath, whole_file
from ssgp.saving.contents import Rule
from ssgp.saving.folder_lock import LOCK_FILE, FolderLock
from ssgp.saving.kinds import Kinds
from ssgp.saving.model_files import read_object, write_object

__all__ = ["Checkpoint", "delete_checkpoint", "kept_setting"]

T = TypeVar("T")

IDENTITY = "fit.json"
# Frequencies, trees of a fold, and trees with all rows: a file of any other name does not belong to a checkpoint.
PART = r"(learned|(fold-\d+|few|all)-\d+)\.safetensors"
PART_OR_IDENTITY = re.compile(rf"fit\.json|{PART}")
# Files that were being written when a fit was killed.
UNFINISHED = re.compile(rf"\.(fit\.json|{PART})\.[0-9a-f]+\.part")
# Entries of every identity.
REQUIRED = {"seed", "number of rows", "version of ssgp"}


class Checkpoint:
    """A folder of finished parts of a fit.

    Parameters
    ----------
    folder : path-like
        Made if it is not there.
    kinds : Kinds
        Classes that the parts may be made of.
    """

    def __init__(self, folder: FilePath, kinds: Kinds) -> None:
        self._folder, self._kinds, self._closed = Path(folder), kinds, False
        self._lock: FolderLock | None = None
        if not self._folder.exists():
            return
        if not self._folder.is_dir():
            raise NotADirectoryError(f"checkpoint must be a folder; {os.fspath(self._folder)!r} is a file")
        if not self._identity() and any(not _may_be_left(path.name) for path in self._folder.iterdir()):
            raise ValueError(f"checkpoint {os.fspath(self._folder)!r} has other files in it; choose an empty folder")
        # Before the table is read, which may take long.
        self._lock = FolderLock(self._folder)

    def same_seed(self, drawn: int) -> int:
        """Seed of the fit whose parts are there, or the one that was drawn."""
        return self._identity().get("seed", drawn)

    def begin(self, identity: Callable[[], Mapping[str, Any]]) -> None:
        """Say which fit this is; parts of another one in the folder are an error that tells the difference."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = self._lock or FolderLock(self._folder)
        there, here = self._identity(), json.loads(json.dumps(identity(), default=_plain))
        different = [name for name in here if there.get(name, here[name]) != here[name]]
        if different:
            name = different[0]
            raise ValueError(
                f"checkpoint {os.fspath(self._folder)!r} belongs to another fit: {name} was {there[name]!r} there and "
                f"is {here[name]!r} now; choose another folder, or delete this one to begin anew"
            )
        if not there:
            with whole_file(self._folder / IDENTITY) as part:
                part.write_text(json.dumps(here), encoding="utf-8")

    def once(self, name: str, compute: Callable[[], T], expected: Rule) -> T:
        """A finished part, computed and kept where it is not there; a file of anything else is refused."""
        path = self._folder / f"{name}.safetensors"
        if not self._closed and path.exists():
            return read_object(path, self._kinds, expected)
        value = compute()
        if not self._closed:
            write_object(value, path, {})
        return value

    def close(self) -> None:
        """Keep and read nothing from now on: a part was cut short, and what follows from it is not the model."""
        self._closed = True

    def release(self) -> None:
        """Let other fits use the folder; this one is over."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _identity(self) -> dict[str, Any]:
        return _identity_in(self._folder)


def _identity_in(folder: Path) -> dict[str, Any]:
    """Identity of the fit whose parts are there, empty if there is none."""
    if not (folder / IDENTITY).exists():
        return {}
    with suppress(ValueError):
        identity = json.loads((folder / IDENTITY).read_text(encoding="utf-8"))
        if isinstance(identity, dict) and identity.keys() >= REQUIRED and _is_seed(identity["seed"]):
            return identity
    return {}


def _plain(value: Any) -> Any:  # noqa: ANN401  of NumPy
    """A number or an array of numbers as JSON has them."""
    return value.tolist()


def _is_seed(value: Any) -> bool:  # noqa: ANN401  as JSON has it
    return type(value) is int and 0 <= value < 2**32


def kept_setting(folder: FilePath | None, name: str) -> Any:  # noqa: ANN401  as JSON has it
    """A setting of the fit whose parts a folder holds; None where there are none."""
    if folder is None:
        return None
    return _identity_in(Path(folder)).get(name)


def delete_checkpoint(folder: FilePath) -> None:
    """Remove the parts that a folder holds, and the folder if nothing else is in it; not if another fit uses them."""
    with suppress(OSError):
        lock = FolderLock(folder)
        try:
            for path in list(Path(folder).iterdir()):
                if PART_OR_IDENTITY.fullmatch(path.name) or UNFINISHED.fullmatch(path.name):
                    path.unlink(missing_ok=True)
        finally:
            lock.release()
        if os.name != "posix":
            # Elsewhere it went with the lock, and what is there now is that of a fit which has begun since.
            Path(folder, LOCK_FILE).unlink(missing_ok=True)
        Path(folder).rmdir()


def _may_be_left(name: str) -> bool:
    """Whether a file may be what a fit leaves behind that is killed before it has written the first file."""
    return name == LOCK_FILE or UNFINISHED.fullmatch(name) is not None
