"""Files that are written whole or not at all."""

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["NO_ROOM", "FilePath", "check_place", "os_errors", "whole_file"]

FilePath = str | os.PathLike[str]
# Places where a path stands for what a process has open, /dev/stdout among them.
OPEN_FILES = ("/dev/std", "/dev/fd/", "/proc/self/", "/proc/thread-self/")
# More links one after the other are not followed by Linux either.
MOST_LINKS = 40
# Errors of a disk that takes no more; EDQUOT is not everywhere.
NO_ROOM = {
    errno.ENOSPC: "the disk is full",
    getattr(errno, "EDQUOT", errno.ENOSPC): "the disk is full, or the user's share of it",
    errno.EFBIG: "files of that size are not allowed there",
}
# What Windows calls a full disk.
WINDOWS_NO_ROOM = (39, 112)


def check_place(path: FilePath, what: str) -> None:
    """Refuse a place where no file can be, before anything is made."""
    refused, target = f"cannot save {what} to {os.fspath(path)!r}", Path(os.path.realpath(path))
    if os.path.isdir(target):
        raise IsADirectoryError(f"{refused}: it is a folder, give the name of a file")
    if _leads_through_device(path) or (os.path.exists(target) and not os.path.isfile(target)):
        raise FileExistsError(f"{refused}: it is a device or a pipe, give the name of a file")
    if not os.path.isdir(target.parent):
        raise FileNotFoundError(f"{refused}: there is no such folder")
    _check_writable(target, refused)


def _leads_through_device(path: FilePath) -> bool:
    """Whether a path is, or links to, one that stands for an open file: what is replaced would not be what is open."""
    at = os.path.abspath(path)
    for _ in range(MOST_LINKS):
        if at.startswith(OPEN_FILES):
            return True
        if not os.path.islink(at):
            return False
        at = os.path.abspath(os.path.join(os.path.dirname(at), os.readlink(at)))
    return False


def _check_writable(target: Path, refused: str) -> None:
    """Make a file beside it: permissions alone do not tell of full disks, or of systems that take no files."""
    part = _beside(target)
    try:
        part.touch(exist_ok=False)
    except OSError as error:
        raise type(error)(f"{refused}: no file can be made there ({error.strerror})") from error
    finally:
        _remove(part)


@contextmanager
def os_errors(kind: type[Exception]) -> Iterator[None]:
    """Context in which errors of a library that tell of the system's, by its number, are raised as `OSError`."""
    try:
        yield
    except kind as error:
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        full = os.name == "nt" and int(number[1]) in WINDOWS_NO_ROOM
        raise OSError(errno.ENOSPC if full else int(number[1]), str(error)) from error


@contextmanager
def whole_file(path: FilePath, n_bytes: int = 0) -> Iterator[Path]:
    """A path to write to, in the same folder: what is written takes the place of `path` if nothing raises.

    Readers see the old file or the new one, even where the machine stops half-way. `n_bytes` is how large the file will
    be at least, for the error of a full disk.
    """
    with _no_room_told(path, n_bytes), _replaced(path) as part:
        yield part


@contextmanager
def _no_room_told(path: FilePath, n_bytes: int) -> Iterator[None]:
    """Context in which the error of a full disk names the place, the room that is needed and the room there was."""
    folder = os.path.dirname(os.path.realpath(path))
    free = shutil.disk_usage(folder).free if os.path.isdir(folder) else 0
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        needed = f"needs at least {n_bytes / 1e6:,.1f} MB, and the folder" if n_bytes else "did not fit, and the folder"
        raise OSError(
            error.errno,
            f"cannot write {os.fspath(path)!r}: {NO_ROOM[error.errno]}. The file {needed} {folder!r} had "
            f"{free / 1e6:,.1f} MB free",
        ) from error


@contextmanager
def _replaced(path: FilePath) -> Iterator[Path]:
    """A path beside another, whose place it takes if nothing raises."""
    target = Path(os.path.realpath(path))
    part = _beside(target)
    try:
        mode = _usual_mode(target, part)
        yield part
        _to_disk(part)
        # Some libraries make files that nobody else may read; what is replaced may be a file that nobody may write.
        part.chmod(mode)
        os.replace(part, target)
        if os.name == "posix":
            _to_disk(target.parent)
    finally:
        _remove(part)


def _remove(part: Path) -> None:
    # Where it cannot be removed it was not made, and what happened before says more.
    with suppress(OSError):
        part.unlink()


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
