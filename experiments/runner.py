"""Runs the cells of suites: several at once, resumable, with the time that is left."""

import signal
import statistics
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from pathlib import Path

from experiments.fits import run_cell
from experiments.store import Store
from experiments.suites import SUITES, Cell, Suite, cells, quick
from ssgp.engine.threads import one_blas_thread

__all__ = ["run"]

INTERRUPTED = 130
DIED = "its process died: out of memory?"


def run(names: list[str], store: Store, data: Path | None, is_quick: bool = False, n_jobs: int = 2) -> int:
    """Run the cells that have no results yet; returns an exit code: 1 if some failed, 130 after Ctrl-C.

    The first Ctrl-C lets the cells that are running end, a second one gives them up; either way what is done is kept.

    Parameters
    ----------
    names : list of str
        Suites.
    store : Store
        Where results go.
    data : path or None
        Folder with the tables.
    is_quick : bool
        Whether to run the suites reduced.
    n_jobs : int
        Cells at once; each uses one core, so that their times can be compared.
    """
    suites = {name: quick(SUITES[name]) if is_quick else SUITES[name] for name in names}
    wanted, there = [cell for suite in suites.values() for cell in cells(suite)], store.cells(is_quick)
    todo = [cell for cell in wanted if cell not in there]
    if len(todo) < len(wanted):
        print(f"{len(wanted) - len(todo)} of {len(wanted)} cells are there already", flush=True)
    progress = _Progress(todo, n_jobs)
    with _Interrupts() as interrupts:
        try:
            _Cells(suites, store, data, is_quick, interrupts, progress.report).run(todo, n_jobs)
        except KeyboardInterrupt:
            print("given up; finished cells are kept, run the same command to go on", flush=True)
            return INTERRUPTED
    if interrupts.count:
        print("stopped; finished cells are kept, run the same command to go on", flush=True)
        return INTERRUPTED
    return 1 if progress.failed else 0


@dataclass(frozen=True)
class _Cells:
    """Runs cells in processes of their own.

    Attributes
    ----------
    suites : dict of str to Suite
        What cells belong to.
    store, data, is_quick
        As in `run`.
    interrupts : _Interrupts
        No new cells begin after one.
    report : callable
        Told of each cell that ended, its seconds and what went wrong.
    """

    suites: dict[str, Suite]
    store: Store
    data: Path | None
    is_quick: bool
    interrupts: "_Interrupts"
    report: Callable[[Cell, float, str | None], None]

    def run(self, todo: list[Cell], n_jobs: int) -> None:
        """Run cells, several at once; those that were running when a process died are tried again, each alone."""
        waiting = deque(todo)
        while waiting and not self.interrupts.count:
            for cell in self._run_until_one_dies(waiting, n_jobs):
                if not self.interrupts.count:
                    self._try_alone(cell)

    def _try_alone(self, cell: Cell) -> None:
        start = time.perf_counter()
        if self._run_until_one_dies(deque([cell]), 1):
            seconds = time.perf_counter() - start
            self.report(cell, seconds, _keep(self.store, cell, [], seconds, self.is_quick, DIED))

    def _run_until_one_dies(self, waiting: deque[Cell], n_jobs: int) -> list[Cell]:
        """Run the cells that wait, until none is left or a process dies; returns those that were running then."""
        lost, running = list[Cell](), dict[Future, Cell]()
        with _workers(n_jobs) as pool:
            while True:
                while waiting and len(running) < n_jobs and not lost and not self.interrupts.count:
                    if not self._begin(pool, waiting[0], running):
                        return lost + list(running.values())
                    waiting.popleft()
                if not running:
                    return lost
                for future in wait(running, timeout=1.0, return_when=FIRST_COMPLETED).done:
                    cell = running.pop(future)
                    if isinstance(future.exception(), BrokenProcessPool):
                        lost.append(cell)
                    else:
                        self.report(cell, *future.result())
                self.interrupts.check()

    def _begin(self, pool: Executor, cell: Cell, running: dict[Future, Cell]) -> bool:
        """Begin a cell; whether the pool still takes any."""
        try:
            future = pool.submit(_run_one, self.suites[cell.suite], cell, self.store, self.data, self.is_quick)
        except BrokenProcessPool:
            return False
        running[future] = cell
        return True


def _pool(n_jobs: int) -> Executor:
    """Fresh processes, so that BLAS and OpenMP threads do not get in their way, deaf to Ctrl-C."""
    return ProcessPoolExecutor(n_jobs, get_context("spawn"), _ignore_interrupts)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _workers(n_jobs: int) -> Iterator[Executor]:
    """A pool whose processes end at once where its cells are given up."""
    others = active_children()
    with _pool(n_jobs) as pool:
        try:
            yield pool
        except KeyboardInterrupt:
            # Leaving the pool waits for its processes, which are this one's new children.
            for process in active_children():
                if process not in others:
                    process.kill()
            raise


def _run_one(suite: Suite, cell: Cell, store: Store, data: Path | None, is_quick: bool) -> tuple[float, str | None]:
    """Run a cell and keep its rows; a failure is a result too. Returns seconds, and what went wrong."""
    start, rows, message = time.perf_counter(), list[dict](), None
    try:
        with one_blas_thread():
            rows = run_cell(suite, cell, data)
    except Exception as error:  # whatever it is, the other cells go on
        message = _in_words(error)
    seconds = time.perf_counter() - start
    return seconds, _keep(store, cell, rows, seconds, is_quick, message)


def _keep(
    store: Store, cell: Cell, rows: list[dict], seconds: float, is_quick: bool, message: str | None
) -> str | None:
    """Write a cell's rows; returns what went wrong with it, this included."""
    try:
        store.write(cell, rows, seconds, is_quick, message)
    except (OSError, ValueError) as error:
        return "; ".join(filter(None, [message, f"nothing was written: {_in_words(error)}"]))
    return message


def _in_words(error: Exception) -> str:
    return "".join(traceback.format_exception_only(error)).strip()


class _Interrupts:
    """Counts Ctrl-C: the first is a wish to stop, the second an order, obeyed where `check` is called.

    An exception out of nowhere could come while a process is being started, and leave it running.
    """

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> "_Interrupts":
        self._before = signal.signal(signal.SIGINT, self._caught)
        return self

    def __exit__(self, *exception: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def check(self) -> None:
        """Raise KeyboardInterrupt after the second Ctrl-C."""
        if self.count > 1:
            raise KeyboardInterrupt

    def _caught(self, *signalled: object) -> None:
        self.count += 1
        if self.count == 1:
            print("\nending after the cells that are running; press Ctrl-C again to give them up", flush=True)


class _Progress:
    """A line a cell, with the time left: cells like those that have ended are taken to last as long as they did."""

    def __init__(self, todo: list[Cell], n_jobs: int) -> None:
        self._left, self._total, self._n_jobs, self.failed = list(todo), len(todo), n_jobs, 0
        self._lasted: dict[tuple[str, ...], list[float]] = {}
        self._start = time.perf_counter()

    def report(self, cell: Cell, seconds: float, error: str | None) -> None:
        self._left.remove(cell)
        self.failed += error is not None
        self._lasted.setdefault(_kind(cell), []).append(seconds)
        outcome = "done" if error is None else f"FAILED: {error}"
        so_far = _minutes(time.perf_counter() - self._start)
        name = f"{cell.suite}, split {cell.split}, {cell.method}, {cell.kind}, r = {cell.n_draws}"
        print(
            f"[{self._total - len(self._left)}/{self._total}] {name}: {outcome} in {_minutes(seconds)} "
            f"({so_far} so far, about {_minutes(self._seconds_left())} left)",
            file=sys.stderr if error else sys.stdout,
            flush=True,
        )

    def _seconds_left(self) -> float:
        usual = statistics.mean(seconds for lasted in self._lasted.values() for seconds in lasted)
        return sum(statistics.mean(self._lasted.get(_kind(cell), [usual])) for cell in self._left) / self._n_jobs


def _kind(cell: Cell) -> tuple[str, ...]:
    return cell.suite, cell.method, cell.kind


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
