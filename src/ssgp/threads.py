"""One BLAS thread inside small steps: parallelism here is over blocks and chunks of rows."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import Lock

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]


class _SharedLimit:
    """The number of BLAS threads belongs to the process: first in lowers it, last out restores it."""

    def __init__(self) -> None:
        self._lock, self._depth, self._limit = Lock(), 0, ExitStack()
        self._controller: ThreadpoolController | None = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._controller is None:  # looking the libraries up costs milliseconds: once
                self._controller = ThreadpoolController()
            if self._depth == 0:
                self._limit.enter_context(self._controller.limit(limits=1, user_api="blas"))
            self._depth += 1
        try:
            yield
        finally:
            with self._lock:
                self._depth -= 1
                if self._depth == 0:
                    self._limit.close()


_limit = _SharedLimit()


def one_blas_thread() -> AbstractContextManager[None]:
    """Context in which the linear algebra libraries use one thread."""
    return _limit()
