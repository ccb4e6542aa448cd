"""Runs the cells of suites: several at once, resumable, with the time that is left."""

import signal
import statistics
import sys
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path

from ssgp.experiments.fits import run_cell
from ssgp.experiments.store import Store
from ssgp.experiments.suites import SUITES, Cell, Suite, cells, quick
from ssgp.threads import one_blas_thread

__all__ = ["run"]


def run(names: list[str], store: Store, data: Path | None, is_quick: bool = False, n_jobs: int = 2) -> int:
    """Run the cells that have no results yet; returns how many failed.

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
    failed = 0
    with _Interrupts() as interrupts, _pool(n_jobs) as pool:
        progress = _Progress(todo, n_jobs)
        try:
            for cell, (seconds, error) in _results(pool, todo, suites, store, data, is_quick, n_jobs, interrupts):
                failed += error is not None
                progress.report(cell, seconds, error)
        except KeyboardInterrupt:
            for process in list(pool._processes.values()):
                process.terminate()
            print("given up; finished cells are kept, run the same command to go on", flush=True)
            return failed
    if interrupts.count:
        print("stopped; finished cells are kept, run the same command to go on", flush=True)
    return failed


def _pool(n_jobs: int) -> ProcessPoolExecutor:
    """Fresh processes, so that BLAS and OpenMP threads do not get in their way, deaf to Ctrl-C."""
    return ProcessPoolExecutor(n_jobs, get_context("spawn"), _ignore_interrupts)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _results(
    pool: ProcessPoolExecutor,
    todo: list[Cell],
    suites: dict[str, Suite],
    store: Store,
    data: Path | None,
    is_quick: bool,
    n_jobs: int,
    interrupts: "_Interrupts",
) -> Iterator[tuple[Cell, tuple[float, str | None]]]:
    """Cells as they end, with their seconds and what went wrong; no new ones begin after an interrupt."""
    waiting, running = iter(todo), dict[Future, Cell]()
    while True:
        while len(running) < n_jobs and not interrupts.count:
            cell = next(waiting, None)
            if cell is None:
                break
            running[pool.submit(_run_one, suites[cell.suite], cell, store, data, is_quick)] = cell
        if not running:
            return
        for future in wait(running, timeout=1.0, return_when=FIRST_COMPLETED).done:
            yield running.pop(future), future.result()


def _run_one(suite: Suite, cell: Cell, store: Store, data: Path | None, is_quick: bool) -> tuple[float, str | None]:
    """Run a cell and keep its rows; a failure is a result too. Returns seconds, and what went wrong."""
    start, rows, message = time.perf_counter(), list[dict](), None
    try:
        with one_blas_thread():
            rows = run_cell(suite, cell, data)
    except Exception as error:  # whatever it is, the other cells go on
        message = "".join(traceback.format_exception_only(error)).strip()
    seconds = time.perf_counter() - start
    store.write(cell, rows, seconds, is_quick, message)
    return seconds, message


class _Interrupts:
    """Counts Ctrl-C: the first is a wish to stop, the second an order."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> "_Interrupts":
        self._before = signal.signal(signal.SIGINT, self._caught)
        return self

    def __exit__(self, *exception: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _caught(self, *signalled: object) -> None:
        self.count += 1
        if self.count > 1:
            raise KeyboardInterrupt
        print("\nending after the cells that are running; press Ctrl-C again to give them up", flush=True)


class _Progress:
    """A line a cell, with the time left: cells like those that have ended are taken to last as long as they did."""

    def __init__(self, todo: list[Cell], n_jobs: int) -> None:
        self._left, self._total, self._n_jobs = list(todo), len(todo), n_jobs
        self._lasted: dict[tuple[str, ...], list[float]] = {}
        self._start = time.perf_counter()

    def report(self, cell: Cell, seconds: float, error: str | None) -> None:
        self._left.remove(cell)
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
