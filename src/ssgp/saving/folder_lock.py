"""A folder that one fit uses at a time, in whatever process."""

import os
import socket
from contextlib import suppress
from pathlib import Path

from ssgp._utils.whole_file import FilePath

__all__ = ["LOCK_FILE", "FolderInUseError", "FolderLock"]

LOCK_FILE = "fit.lock"
# Where Windows locks a byte, which nobody can then read: far behind what the file says.
LOCKED_BYTE = 1 << 20
# Times that the file may be gone once it is locked, as others take it away that have used the folder.
MOST_TRIES = 100


class FolderInUseError(BlockingIOError):
    """A folder that another fit is using."""


class FolderLock:
    """The right to use a folder, which the system takes back when the process ends, however it does.

    A file in the folder says who has it. Where files cannot be locked, as on some networks, everybody has the right.

    Parameters
    ----------
    folder : path-like
        The folder, which must exist.
    """

    def __init__(self, folder: FilePath) -> None:
        self._path = Path(folder) / LOCK_FILE
        self._descriptor: int | None = None
        self._is_ours = False
        try:
            self._take()
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let others use the folder."""
        try:
            if self._is_ours and os.name == "posix":
                # While it is ours: whoever waits for this very file sees that it is gone.
                self._path.unlink(missing_ok=True)
        finally:
            descriptor, self._descriptor, self._is_ours = self._descriptor, None, False
            if descriptor is not None:
                os.close(descriptor)

    def _take(self) -> None:
        """Lock the file that is in the folder now, not one that its last owner took away."""
        for _ in range(MOST_TRIES):
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            if not _lock(self._descriptor):
                break
            self._is_ours = self._is_in_place(self._descriptor)
            if self._is_ours:
                self._say_whose(self._descriptor)
                return
            self.release()
        raise self._in_use()

    @staticmethod
    def _say_whose(descriptor: int) -> None:
        # The folder is ours whether or not there is room to say so.
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())

    def _is_in_place(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self._path.stat())
        except FileNotFoundError:
            return False

    def _in_use(self) -> FolderInUseError:
        return FolderInUseError(
            f"another fit ({self._owner()}) is using the checkpoint {os.fspath(self._path.parent)!r}; wait for it to "
            "end, or choose another folder"
        )

    def _owner(self) -> str:
        try:
            return self._path.read_text(encoding="utf-8", errors="replace")[:200] or "in another process"
        except OSError:
            return "in another process"


def _lock(descriptor: int) -> bool:
    """Lock an open file, where files can be; False where somebody else has."""
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            os.lseek(descriptor, LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            os.lseek(descriptor, 0, os.SEEK_SET)
    except (BlockingIOError, PermissionError):
        return False
    except (ImportError, OSError):
        return True
    return True
