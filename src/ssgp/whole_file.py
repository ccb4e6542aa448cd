"""Files that are written whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["FilePath", "check_place", "whole_file"]

FilePath = str | os.PathLike[str]


def check_place(path: FilePath, what: str) -> None:
    """Refuse a place where no file can be, before anything is made."""
    if Path(path).is_dir():
        raise IsADirectoryError(f"cannot save {what} to {os.fspath(path)!r}: it is a folder, give the name of a file")
    if not Path(path).absolute().parent.is_dir():
        raise FileNotFoundError(f"cannot save {what} to {os.fspath(path)!r}: there is no such folder")


@contextmanager
def whole_file(path: FilePath) -> Iterator[Path]:
    """A path to write to, in the same folder: what is written takes the place of `path` if nothing raises.

    Readers see the old file or the new one, even where the machine stops half-way.
    """
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    mode = _usual_mode(target, part)
    try:
        yield part
        # Some libraries make files that nobody else may read.
        part.chmod(mode)
        _to_disk(part)
        os.replace(part, target)
        if os.name == "posix":
            _to_disk(target.parent)
    finally:
        part.unlink(missing_ok=True)


def _usual_mode(target: Path, beside: Path) -> int:
    """Permissions of the file that is replaced, or of any new file."""
    if target.exists():
        return target.stat().st_mode
    beside.touch()
    mode = beside.stat().st_mode
    beside.unlink()
    return mode


def _to_disk(path: Path) -> None:
    """Wait until the system has written a file, or a folder's list of files."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
