"""What a fit has finished, kept in a folder: a fit that was killed goes on from there to the same model."""

import json
import os
import re
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ssgp._utils.whole_file import FilePath, whole_file

__all__ = ["Checkpoint", "checksum"]

T = TypeVar("T")

ABOUT = "fit.json"
# Frequencies, trees of a trial, and trees with all rows: a file of any other name is not a checkpoint's own.
PART = r"(learned|(fold-\d+|few|all)-\d+)\.safetensors"
OWN = re.compile(rf"fit\.json|{PART}")
# Files that were being written when a fit was killed.
UNFINISHED = re.compile(rf"\.(fit\.json|{PART})\.[0-9a-f]+\.part")
# What every fit says of itself.
ALWAYS_TOLD = {"seed", "number of rows", "version of ssgp"}


class Checkpoint:
    """A folder of finished parts, or, without one, nothing that lasts.

    Parameters
    ----------
    folder : path-like or None
        Made if it is not there.
    """

    def __init__(self, folder: FilePath | None) -> None:
        self._folder = None if folder is None else Path(folder)
        self._closed = False
        if self._folder is None or not self._folder.exists():
            return
        if not self._folder.is_dir():
            raise NotADirectoryError(f"checkpoint must be a folder; {os.fspath(self._folder)!r} is a file")
        # A kill while the first file was written leaves its part behind.
        if not self._known() and any(not UNFINISHED.fullmatch(path.name) for path in self._folder.iterdir()):
            raise ValueError(f"checkpoint {os.fspath(self._folder)!r} has other files in it; choose an empty folder")

    @property
    def lasts(self) -> bool:
        """Whether there is a folder."""
        return self._folder is not None

    def same_seed(self, drawn: int) -> int:
        """The seed of the fit that is gone on with, for one that has none of its own."""
        return self._known().get("seed", drawn)

    def begin(self, about: Mapping[str, Any]) -> None:
        """Say which fit this is; parts of another one in the folder are an error that tells the difference."""
        if self._folder is None:
            return
        known, own = self._known(), json.loads(json.dumps(about, default=lambda value: value.item()))
        different = [name for name in own if known.get(name, own[name]) != own[name]]
        if different:
            name = different[0]
            raise ValueError(
                f"checkpoint {os.fspath(self._folder)!r} belongs to another fit: {name} was {known[name]!r} there and "
                f"is {own[name]!r} now; choose another folder, or delete this one to begin anew"
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        if not known:
            with whole_file(self._folder / ABOUT) as part:
                part.write_text(json.dumps(own), encoding="utf-8")

    def read(self, name: str) -> Any:  # noqa: ANN401  what was written
        """A finished part, None where it is not there, or would not go with what was cut short."""
        from ssgp.saving.model_files import read_object

        path = self._path(name)
        return read_object(path) if path is not None and not self._closed and path.exists() else None

    def close(self) -> None:
        """Keep and read nothing from now on: a part was cut short, and what follows from it is not the model."""
        self._closed = True

    def write(self, name: str, value: Any) -> None:  # noqa: ANN401
        """Keep a part, made of what saved models are made of."""
        from ssgp.saving.model_files import write_object

        path = self._path(name)
        if path is not None and not self._closed:
            write_object(value, path, {})

    def once(self, name: str, compute: Callable[[], T]) -> T:
        """A finished part, computed and kept where it is not there."""
        value = self.read(name)
        if value is None:
            value = compute()
            self.write(name, value)
        return value

    def delete(self) -> None:
        """Remove what was kept, and the folder if nothing else is in it."""
        if self._folder is not None:
            with suppress(OSError):
                for path in list(self._folder.iterdir()):
                    if OWN.fullmatch(path.name) or UNFINISHED.fullmatch(path.name):
                        path.unlink(missing_ok=True)
                self._folder.rmdir()

    def _path(self, name: str) -> Path | None:
        return None if self._folder is None else self._folder / f"{name}.safetensors"

    def _known(self) -> dict[str, Any]:
        """What is said of the fit whose parts are there."""
        if self._folder is None or not (self._folder / ABOUT).exists():
            return {}
        with suppress(ValueError):
            found = json.loads((self._folder / ABOUT).read_text(encoding="utf-8"))
            if isinstance(found, dict) and found.keys() >= ALWAYS_TOLD:
                return found
        return {}


def checksum(array: NDArray[Any] | None, before: int = 0) -> int:
    """A number that tells arrays apart; of parts one after the other it is that of the whole."""
    return before if array is None else zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, before)
