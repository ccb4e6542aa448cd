"""Who shares out the parts of a fit: threads, or processes where many threads would wait for the interpreter."""

import multiprocessing
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from functools import partial
from itertools import islice, pairwise
from typing import Any, Protocol, TypeVar

from joblib.externals.loky.process_executor import ProcessPoolExecutor
from joblib.parallel import get_active_backend

from ssgp.engine.threads import in_forked_process, with_one_blas_thread

__all__ = ["KeptThreads", "ProcessWorkers", "ThreadWorkers", "Workers", "process_workers"]

Item = TypeVar("Item")
Result = TypeVar("Result")

# Fewer threads than these keep as many cores busy.
LEAST_PROCESSES = 4
# Items that wait for each worker, so that none waits for an item.
WAITING = 2
# Processes that have had nothing to do for so many seconds end.
IDLE_SECONDS = 60
# Linear algebra has one thread in each process.
ONE_THREAD = {
    **{f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP", "BLIS")},
    "VECLIB_MAXIMUM_THREADS": "1",
}


class Workers(Protocol):
    """Workers that a function is shared out to."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Results for each item, in their order; of an iterator, items are asked for when somebody is free."""
        ...


class ThreadWorkers:
    """So many threads.

    Parameters
    ----------
    number : int
        Threads; one is the calling thread.
    """

    def __init__(self, number: int = 1) -> None:
        self.number = number

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Results for each item, in their order, with one thread of linear algebra in each."""
        if self.number < 2:
            return [function(item) for item in items]
        with ThreadPoolExecutor(self.number) as pool:
            return _collect(pool.submit, partial(with_one_blas_thread, function), items, self.number)


class KeptThreads:
    """So many threads that stay until they are ended, for parts of a step that takes a millisecond.

    Parameters
    ----------
    number : int
        Threads; the calling thread is one of them.
    """

    def __init__(self, number: int = 1) -> None:
        self.number = number
        self._others: ThreadPoolExecutor | None = None

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Results for each item, in their order; neighbours are done by the same thread."""
        n_shares = min(self.number, len(items))
        if n_shares < 2:
            return _each(function, items)
        self._others = self._others or ThreadPoolExecutor(self.number - 1)
        bounds = [len(items) * i // n_shares for i in range(n_shares + 1)]
        own, *others = [items[first:last] for first, last in pairwise(bounds)]
        each = partial(_each, function)
        futures = [self._others.submit(with_one_blas_thread, each, share) for share in others]
        results = each(own)
        return results + [result for future in futures for result in future.result()]

    def end(self) -> None:
        """End the threads; who maps again starts others."""
        if self._others is not None:
            self._others.shutdown()
        self._others = None


class ProcessWorkers:
    """So many processes, which functions and items are sent to.

    Parameters
    ----------
    number : int
        Processes.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._n_ended = 0

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Results for each item, in their order; from this process where the others have died."""
        items, n_ended = list(items), self._n_ended
        try:
            submit = _pool.of(self.number).submit
            return _collect(submit, partial(with_one_blas_thread, function), items, self.number)
        except (BrokenExecutor, OSError):
            if self._n_ended > n_ended:
                raise
            return ThreadWorkers().map(function, items)

    def end(self) -> None:
        """End the processes, and whoever waits for their results."""
        self._n_ended += 1
        _pool.close()


def _each(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    return [function(item) for item in items]


def _collect(
    submit: Callable[..., Future[Result]], function: Callable[[Item], Result], items: Iterable[Item], number: int
) -> list[Result]:
    """Results in order, of items that are submitted a few ahead of the workers."""
    source, results = iter(items), list[Result]()
    futures = deque(submit(function, item) for item in islice(source, WAITING * number))
    try:
        while futures:
            results.append(futures.popleft().result())
            futures.extend(submit(function, item) for item in islice(source, 1))
    finally:
        for future in futures:
            future.cancel()
    return results


class _Pool:
    """The processes of this process; they stay for the next fit until they have been idle for long."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executor: ProcessPoolExecutor | None = None
        self._number = 0

    def of(self, number: int) -> ProcessPoolExecutor:
        """At least so many processes."""
        with self._lock:
            broken = self._executor is not None and self._executor._flags.broken is not None
            if self._executor is None or broken or self._number < number:
                self._end()
                self._executor = ProcessPoolExecutor(
                    number, timeout=IDLE_SECONDS, initializer=_ignore_interrupts, env=ONE_THREAD
                )
                self._number = number
            return self._executor

    def close(self) -> None:
        """End the processes."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, kill_workers=True)
        self._executor, self._number = None, 0


_pool = _Pool()


def _ignore_interrupts() -> None:
    """Ctrl-C is for the process that shares out the work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def process_workers(number: int, first_task: Callable[[], Any]) -> ProcessWorkers | None:
    """So many processes, which are started in the background with a task that imports what they will need.

    None where they are not worth it, where joblib's `parallel_config` asks for threads, and in a process that must not
    have any of its own.
    """
    if number < LEAST_PROCESSES or in_forked_process() or multiprocessing.current_process().daemon:
        return None
    backend: Any = get_active_backend()[0]
    if getattr(backend, "uses_threads", False):
        return None
    try:
        executor = _pool.of(number)
        for _ in range(number):
            executor.submit(first_task)
    except (BrokenExecutor, ImportError, OSError):
        # A system without processes, or without semaphores, has threads.
        _pool.close()
        return None
    return ProcessWorkers(number)
