"""Threads: over blocks and chunks of rows, with one BLAS thread inside small steps."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from math import inf
from time import monotonic
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import ThreadpoolController

__all__ = [
    "FastestThreads",
    "in_forked_process",
    "map_in_threads",
    "n_threads",
    "one_blas_thread",
    "openmp_threads",
    "with_one_blas_thread",
]

Item = TypeVar("Item")
Result = TypeVar("Result")

# Modules that load the libraries: two of linear algebra, and the one of OpenMP.
USERS_OF_THREADS = "numpy.linalg", "scipy.linalg", "sklearn.utils._openmp_helpers"
# A process with another number was forked from this one.
_first_process = os.getpid()


def n_threads(n_jobs: int | None) -> int:
    """Threads that a setting of `n_jobs` stands for; None is one."""
    return 1 if n_jobs in (None, 1) else max(1, effective_n_jobs(n_jobs))


def in_forked_process() -> bool:
    """Whether this process was forked from one that had the library."""
    return os.getpid() != _first_process


def map_in_threads(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None) -> list[Result]:
    """Results of a function for each item, in their order; with one BLAS thread where the caller has one."""
    items = list(items)
    number = min(n_threads(n_jobs), len(items)) if len(items) > 1 else 1
    if number < 2:
        return [function(item) for item in items]
    in_threads: Any = Parallel(number, prefer="threads", require="sharedmem")
    work = partial(with_one_blas_thread, function) if _blas_limit.holds_here() else function
    return list(in_threads(delayed(work)(item) for item in items))


def with_one_blas_thread(function: Callable[[Item], Result], item: Item) -> Result:
    """What a function returns, limited in the thread that calls it: some libraries count threads per calling thread."""
    with one_blas_thread():
        return function(item)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Context in which the linear algebra libraries use one thread.

    The number of threads belongs to the whole process. It is lowered when the first of all threads comes in, and
    raised to what it was when the last has left, whichever that is.
    """
    ticket = _Ticket()
    try:
        _blas_limit.enter(ticket)
        yield
    finally:
        _blas_limit.leave(ticket)


@contextmanager
def openmp_threads(most: int | None = None) -> Iterator[None]:
    """Context in which this thread's OpenMP loops, those of scikit-learn, use at most so many threads.

    A forked process has one: it inherits a pool of threads in which nobody is left, and a loop would wait for them.
    """
    before = [(library, library.get_num_threads()) for library in _libraries("openmp")]
    wanted = 1 if in_forked_process() else most
    try:
        for library, number in before:
            if wanted is not None and wanted < number:
                library.set_num_threads(wanted)
        yield
    finally:
        for library, number in before:
            library.set_num_threads(number)


class FastestThreads:
    """How many OpenMP threads do work soonest: as many as there are, or fewer where other programs keep cores busy.

    Short loops that are shared out wait for the last of their threads: one whose core is busy holds up all others, ten
    times as long as the work takes, or longer.

    Parameters
    ----------
    most : int
        The most threads.

    Attributes
    ----------
    best : int
        The number that has been fastest, or is tried next.
    """

    def __init__(self, most: int) -> None:
        self.best, self._seconds, self._next = most, inf, most

    @property
    def has_one_to_try(self) -> bool:
        """Whether there is a number that may be faster."""
        return self._next > 0 and self.best > 1

    def try_next(self, work: Callable[[], object]) -> None:
        """Do a work that takes some time, in the next number of threads: half as many as long as that is faster."""
        number, began = self._next, monotonic()
        with openmp_threads(number):
            work()
        seconds = monotonic() - began
        faster = seconds < self._seconds
        self._next = number // 2 if faster else 0
        if faster:
            self.best, self._seconds = number, seconds


@cache
def _libraries(user_api: str) -> tuple[Any, ...]:
    """Controllers of the libraries of a kind; found once, since looking them up costs milliseconds."""
    for user in USERS_OF_THREADS:
        # Libraries that are loaded later are not found.
        import_module(user)
    return tuple(ThreadpoolController().select(user_api=user_api).lib_controllers)


class _Ticket:
    """Of somebody who is inside; who has lost it has left."""


class _BlasLimit:
    """One thread for the linear algebra libraries while anybody is inside.

    `threadpoolctl` lets only the thread that has set a number set it again, and limits of several threads that are
    lifted in another order than they were set restore what the one found that the other had set. So who is inside
    is kept here, and numbers are kept once. They are kept until they are restored, so that whoever comes next makes
    good what an interrupt, which may come between any two lines, has left undone.
    """

    def __init__(self) -> None:
        self._lock, self._here = threading.RLock(), threading.local()
        # Threads of those who are inside, by their tickets.
        self._inside: WeakKeyDictionary[_Ticket, int] = WeakKeyDictionary()
        self._before: list[int] | None = None
        if hasattr(os, "register_at_fork"):
            # Nobody comes in or goes out meanwhile, so that the child finds all as it is.
            os.register_at_fork(
                before=self._lock.acquire, after_in_parent=self._lock.release, after_in_child=self._settle_in_child
            )

    def holds_here(self) -> bool:
        """Whether the calling thread is inside."""
        with self._lock:
            return threading.get_ident() in self._inside.values()

    def enter(self, ticket: _Ticket) -> None:
        """Come in, and lower the number where nobody is inside."""
        with self._lock:
            first_here, first = not self.holds_here(), not self._inside
            if self._before_here is None:
                self._here.before = _numbers(_blas_libraries(per_thread=True))
            if self._before is None:
                self._before = _numbers(_blas_libraries(per_thread=False))
            self._inside[ticket] = threading.get_ident()
            if first_here:
                _lower(_blas_libraries(per_thread=True))
            if first:
                _lower(_blas_libraries(per_thread=False))

    def leave(self, ticket: _Ticket) -> None:
        """Go out, whether or not one has come in, and restore the number where nobody is left inside."""
        with self._lock:
            self._inside.pop(ticket, None)
            if self._before_here is not None and not self.holds_here():
                _set(_blas_libraries(per_thread=True), self._before_here)
                self._here.before = None
            self._restore_if_empty()

    @property
    def _before_here(self) -> list[int] | None:
        return getattr(self._here, "before", None)

    def _restore_if_empty(self) -> None:
        if self._before is not None and not self._inside:
            _set(_blas_libraries(per_thread=False), self._before)
            self._before = None

    def _settle_in_child(self) -> None:
        """Only the thread that forked lives on."""
        here = threading.get_ident()
        for ticket, thread in list(self._inside.items()):
            if thread != here:
                del self._inside[ticket]
        self._restore_if_empty()
        self._lock.release()


@cache
def _blas_libraries(*, per_thread: bool) -> tuple[Any, ...]:
    """Linear algebra libraries whose number of threads belongs to the calling thread, or to the process."""
    return tuple(library for library in _libraries("blas") if _is_per_thread(library) == per_thread)


def _is_per_thread(library: Any) -> bool:  # noqa: ANN401  threadpoolctl has no types
    """Whether threadpoolctl sets the calling thread's number: newer versions do so for OpenBLAS over OpenMP."""
    return hasattr(library, "clear_controlling_thread") and getattr(library, "threading_layer", None) == "openmp"


def _numbers(libraries: tuple[Any, ...]) -> list[int]:
    return [library.get_num_threads() for library in libraries]


def _lower(libraries: tuple[Any, ...]) -> None:
    _set(libraries, [1] * len(libraries))


def _set(libraries: tuple[Any, ...], numbers: list[int]) -> None:
    """Set numbers of threads from any thread, and leave the libraries to whoever comes next."""
    if not libraries:
        return
    _let_any_thread_set(libraries)
    for library, number in zip(libraries, numbers, strict=True):
        library.set_num_threads(number)
    _let_any_thread_set(libraries)


def _let_any_thread_set(libraries: tuple[Any, ...]) -> None:
    """Undo that `threadpoolctl`, in newer versions, keeps others than the first from setting the number."""
    for kind in {type(library) for library in libraries}:
        if hasattr(kind, "clear_controlling_thread"):
            kind.clear_controlling_thread(force=True)


_blas_limit = _BlasLimit()
