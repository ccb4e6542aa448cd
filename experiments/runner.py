"""Runs the cells of a study: each in a process of its own, several at once, resumable, with the time that is left."""

import signal
import statistics
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Self

from experiments.store import Store
from experiments.study import AnyCell, Cell, Row, Study

__all__ = ["run"]

INTERRUPTED = 130
DIED = "its process died: out of memory?"
# A process sends it before it ends and is read after: it must fit into a pipe.
LONGEST_MESSAGE = 2000
# For a process that is given up, to clear away what it began.
GRACE_SECONDS = 5.0
# A fresh process per cell: its peak memory is the cell's, and no threads of BLAS or OpenMP were left to it.
CONTEXT = get_context("spawn")


def run(study: Study[AnyCell], store: Store[AnyCell], n_jobs: int = 1, again: bool = False) -> int:
    """Run the cells that have no rows yet; returns an exit code: 1 if some failed, 130 after Ctrl-C.

    The first Ctrl-C lets the cells that are running end, a second one gives them up; either way what is done is kept.

    Parameters
    ----------
    study : Study
        What to run.
    store : Store
        Where rows go.
    n_jobs : int
        Cells at once.
    again : bool
        Whether to run the cells that have rows, too.
    """
    done = set() if again else store.cells()
    todo = [cell for cell in study.cells if cell not in done]
    if len(todo) < len(study.cells):
        print(f"{len(study.cells) - len(todo)} of {len(study.cells)} cells are there already", flush=True)
    progress = _Progress(todo, n_jobs)
    with _Interrupts() as interrupts:
        try:
            _Runner(study, store, interrupts, progress.report).run(deque(todo), n_jobs)
        except KeyboardInterrupt:
            print("given up; finished cells are kept, run the same command to go on", flush=True)
            return INTERRUPTED
    if interrupts.count:
        print("stopped; finished cells are kept, run the same command to go on", flush=True)
        return INTERRUPTED
    return 1 if progress.failed else 0


@dataclass(frozen=True)
class _Running(Generic[AnyCell]):
    """A cell in its process.

    Attributes
    ----------
    cell : Cell
        What is measured.
    process : Process
        Where it is measured.
    receiver : Connection
        What the process sends when it has kept its rows: None, or what went wrong.
    start : float
        When it began.
    """

    cell: AnyCell
    process: Any
    receiver: Connection
    start: float

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return time.perf_counter() - self.start


@dataclass(frozen=True)
class _Runner(Generic[AnyCell]):
    """Runs cells in processes.

    Attributes
    ----------
    study, store
        As in `run`.
    interrupts : _Interrupts
        No new cells begin after one.
    report : callable
        Told of each cell that ended, its seconds and what went wrong.
    """

    study: Study[AnyCell]
    store: Store[AnyCell]
    interrupts: "_Interrupts"
    report: Callable[[AnyCell, float, str | None], None]

    def run(self, waiting: deque[AnyCell], n_jobs: int) -> None:
        """Run the cells that wait, so many at once."""
        running = list[_Running[AnyCell]]()
        try:
            while running or (waiting and not self.interrupts.count):
                while waiting and len(running) < n_jobs and not self.interrupts.count:
                    running.append(self._begin(waiting.popleft()))
                ended = wait([one.process.sentinel for one in running], timeout=1.0)
                for one in [one for one in running if one.process.sentinel in ended]:
                    running.remove(one)
                    self._end(one)
                self.interrupts.check()
        except KeyboardInterrupt:
            _give_up([one.process for one in running])
            raise

    def _begin(self, cell: AnyCell) -> _Running[AnyCell]:
        receiver, sender = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(target=_measure, args=(self.study.measure, self.store, cell, sender))
        start = time.perf_counter()
        with self.interrupts.ignored():
            process.start()
        sender.close()
        return _Running(cell, process, receiver, start)

    def _end(self, one: _Running[AnyCell]) -> None:
        """Report a cell whose process has ended; for one that died before it could tell, keep a row that says so."""
        one.process.join()
        try:
            error = one.receiver.recv()
        except (EOFError, OSError):
            error = _keep(self.store, one.cell, [], one.seconds, DIED)
        one.receiver.close()
        self.report(one.cell, one.seconds, error)


def _give_up(processes: list[Any]) -> None:
    """End processes, by force those that take long."""
    for process in processes:
        process.terminate()
    for process in processes:
        process.join(GRACE_SECONDS)
        process.kill()
        process.join()


def _measure(measure: Callable[[AnyCell], list[Row]], store: Store[AnyCell], cell: AnyCell, sender: Connection) -> None:
    """Measure a cell and keep its rows; a failure is a result too."""
    rows, message, start = list[Row](), None, time.perf_counter()
    try:
        rows = measure(cell)
    except Exception as error:  # whatever it is, the other cells go on
        message = _in_words(error)
    sender.send(_keep(store, cell, rows, time.perf_counter() - start, message))


def _keep(store: Store[AnyCell], cell: AnyCell, rows: list[Row], seconds: float, message: str | None) -> str | None:
    """Write a cell's rows; returns what went wrong with it, this included."""
    try:
        store.write(cell, rows, seconds, message)
    except Exception as error:  # a full disk, or values that Parquet has no type for
        return "; ".join(filter(None, [message, f"nothing was written: {_in_words(error)}"]))
    return message


def _in_words(error: Exception) -> str:
    return "".join(traceback.format_exception_only(error)).strip()[:LONGEST_MESSAGE]


class _Interrupts:
    """Counts Ctrl-C: the first is a wish to stop, the second an order, obeyed where `check` is called.

    An exception out of nowhere could come while a process is being started, and leave it running.
    """

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._caught)
        return self

    def __exit__(self, *exception: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def ignored(self) -> Iterator[None]:
        """Within it Ctrl-C does nothing, and processes that are started are deaf to it from their first moment."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, self._caught)

    def check(self) -> None:
        """Raise KeyboardInterrupt after the second Ctrl-C."""
        if self.count > 1:
            raise KeyboardInterrupt

    def _caught(self, *signalled: object) -> None:
        self.count += 1
        if self.count == 1:
            print("\nending after the cells that are running; press Ctrl-C again to give them up", flush=True)


class _Progress:
    """A line per cell, with the time left: cells like those that have ended are taken to last as long as they did."""

    def __init__(self, todo: Sequence[Cell], n_jobs: int) -> None:
        self._left, self._total, self._n_jobs, self.failed = list(todo), len(todo), n_jobs, 0
        self._lasted: dict[tuple[Any, ...], list[float]] = {}
        self._start = time.perf_counter()

    def report(self, cell: Cell, seconds: float, error: str | None) -> None:
        self._left.remove(cell)
        self.failed += error is not None
        self._lasted.setdefault(cell.alike, []).append(seconds)
        outcome = "done" if error is None else f"FAILED: {error}"
        so_far = _minutes(time.perf_counter() - self._start)
        print(
            f"[{self._total - len(self._left)}/{self._total}] {cell}: {outcome} in {_minutes(seconds)} "
            f"({so_far} so far, about {_minutes(self._seconds_left())} left)",
            file=sys.stderr if error else sys.stdout,
            flush=True,
        )

    def _seconds_left(self) -> float:
        usual = statistics.mean(seconds for lasted in self._lasted.values() for seconds in lasted)
        return sum(statistics.mean(self._lasted.get(cell.alike, [usual])) for cell in self._left) / self._n_jobs


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
