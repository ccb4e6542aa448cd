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
    refused, target = f"cannot save {what} to {os.fspath(path)!r}", Path(os.path.realpath(path))
    if os.path.isdir(target):
        raise IsADirectoryError(f"{refused}: it is a folder, give the name of a file")
    if os.path.exists(target) and not os.path.isfile(target):
        raise FileExistsError(f"{refused}: it is a device or a pipe, give the name of a file")
    if not os.path.isdir(target.parent):
        raise FileNotFoundError(f"{refused}: there is no such folder")
    _check_writable(target, refused)


def _check_writable(target: Path, refused: str) -> None:
    """Make a file beside it: permissions alone do not tell of full disks, or of systems that take no files."""
    part = _beside(target)
    try:
        part.touch(exist_ok=False)
    except OSError as error:
        raise type(error)(f"{refused}: no file can be made there ({error.strerror})") from error
    part.unlink()


@contextmanager
def whole_file(path: FilePath) -> Iterator[Path]:
    """A path to write to, in the same folder: what is written takes the place of `path` if nothing raises.

    Readers see the old file or the new one, even where the machine stops half-way.
    """
    target = Path(os.path.realpath(path))
    part = _beside(target)
    mode = _usual_mode(target, part)
    try:
        yield part
        _to_disk(part)
        # Some libraries make files that nobody else may read; what is replaced may be a file that nobody may write.
        part.chmod(mode)
        os.replace(part, target)
        if os.name == "posix":
            _to_disk(target.parent)
    finally:
        part.unlink(missing_ok=True)


def _beside(target: Path) -> Path:
    """A name that nothing has, in the same folder."""
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")


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
