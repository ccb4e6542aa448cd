"""Threads: over blocks and chunks of rows, with one BLAS thread inside small steps."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import ThreadpoolController

__all__ = ["map_in_threads", "n_threads", "one_blas_thread"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_in_use = Lock()


def n_threads(n_jobs: int | None) -> int:
    """Threads that a setting of `n_jobs` stands for; None is one."""
    return max(1, effective_n_jobs(n_jobs or 1))


def map_in_threads(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None) -> list[Result]:
    """Results of a function for each item, in their order."""
    items = list(items)
    if len(items) < 2 or n_threads(n_jobs) == 1:
        return [function(item) for item in items]
    in_threads: Any = Parallel(n_jobs, prefer="threads", require="sharedmem")
    return list(in_threads(delayed(function)(item) for item in items))


@cache
def _controller() -> ThreadpoolController:
    """Found once: looking the libraries up costs milliseconds."""
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Context in which the linear algebra libraries use one thread.

    The number of threads belongs to the whole process. Whoever comes first lowers it and, being
    the one who knows what it was, raises it again; who comes meanwhile leaves it alone. Limits
    set and lifted by several threads in any other order could leave the process at one for good.
    """
    if not _in_use.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _in_use.release()
