"""Folders that are there whole or not at all."""

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ssgp._utils.whole_file import FilePath

__all__ = ["check_new_folder", "folder_beside", "names_a_folder", "whole_folder"]

# Seconds for which others may still write to a folder that is removed, until each finds that it is gone.
REMOVAL_SECONDS = 10.0


def names_a_folder(path: FilePath) -> bool:
    """Whether a path is to be a folder: it is one, ends as one, or has no suffix."""
    name = os.fspath(path)
    return os.path.isdir(name) or name.endswith(("/", os.sep)) or not Path(name).suffix


def check_new_folder(path: FilePath) -> None:
    """Refuse a place where no new folder can be; one that is empty counts as new."""
    refused, target = f"cannot write a folder {os.fspath(path)!r}", Path(os.path.realpath(path))
    if os.path.lexists(target) and not target.is_dir():
        raise FileExistsError(f"{refused}: there is a file of that name")
    if target.is_dir() and any(target.iterdir()):
        raise FileExistsError(f"{refused}: there is one, which is not empty; choose another name")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{refused}: there is no folder {os.fspath(target.parent)!r} for it to be in")
    try:
        with folder_beside(path):
            pass
    except OSError as error:
        raise type(error)(f"{refused}: none can be made there ({error.strerror})") from error


@contextmanager
def whole_folder(path: FilePath) -> Iterator[Path]:
    """A folder to write to, beside `path`: it takes that name if nothing raises, and else is gone."""
    target = Path(os.path.realpath(path))
    with folder_beside(target) as part:
        yield part
        if target.is_dir():
            # Not all systems let a folder take the place of an empty one; one that is not empty is an error.
            target.rmdir()
        part.rename(target)


@contextmanager
def folder_beside(path: FilePath) -> Iterator[Path]:
    """A new folder in the same folder as a path, which is gone at the end."""
    target = Path(os.path.realpath(path))
    folder = target.with_name(f".{target.name}.{secrets.token_hex(4)}.parts")
    try:
        folder.mkdir()
        yield folder
    finally:
        _remove(folder)


def _remove(folder: Path) -> None:
    with suppress(OSError):
        # Who still writes finds nothing of the old name, and no new files race their removal.
        folder = folder.rename(folder.with_suffix(".gone"))
    deadline = time.monotonic() + REMOVAL_SECONDS
    while folder.exists() and time.monotonic() < deadline:
        with suppress(OSError):
            shutil.rmtree(folder)
            return
        time.sleep(0.1)
