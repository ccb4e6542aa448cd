"""What a worker of a command's own cluster does first: it leaves Ctrl-C, which reaches it too, to the command."""

import signal
import threading
from typing import Any

__all__ = ["dask_setup"]


def dask_setup(worker: Any) -> None:  # noqa: ANN401
    """Called by Dask, with the worker."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
