"""How far a command is, shown on a terminal or told in lines."""

import sys
import threading
import time
from typing import Any, Protocol, Self

__all__ = ["Display", "LineDisplay", "NoDisplay", "TerminalDisplay"]

# Seconds between two lines.
LINES_APART = 5.0


class Display(Protocol):
    """A context in which calls say what is done, how much of it, and how much there is to do if that is known."""

    def __enter__(self) -> Self:
        """Begin."""
        ...

    def __exit__(self, *raised: object) -> None:
        """End."""
        ...

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """So many of something are done; `what` is the name of one."""
        ...


class NoDisplay:
    """Shows nothing."""

    def __enter__(self) -> Self:
        """Nothing to begin."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Nothing to end."""

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Say nothing."""


class Pace:
    """How many are done a second of each thing that is counted; begins anew when a count does."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[float, int, int]] = {}

    def __call__(self, what: str, done: int) -> float | None:
        """So many are done now; None while there is nothing to compare with."""
        now = time.monotonic()
        began, first, last = self._counts.get(what, (now, done, done))
        if done < last:
            began, first = now, done
        self._counts[what] = began, first, done
        return (done - first) / (now - began) if done > first and now > began else None


class LineDisplay:
    """A line on standard error now and then, for logs."""

    def __init__(self, apart: float = LINES_APART) -> None:
        self._apart, self._pace, self._lock = apart, Pace(), threading.Lock()
        self._told = time.monotonic()

    def __enter__(self) -> Self:
        """Start the clock."""
        self._told = time.monotonic()
        return self

    def __exit__(self, *raised: object) -> None:
        """Nothing is left on the screen."""

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Print a line if the last one is some time ago."""
        with self._lock:
            rate = self._pace(what, done)
            if time.monotonic() - self._told >= self._apart:
                self._told = time.monotonic()
                print(progress_line(what, done, total, rate), file=sys.stderr, flush=True)


def progress_line(what: str, done: int, total: int | None, rate: float | None) -> str:
    """How far, how fast and how long to go.

    Examples
    --------
    >>> progress_line("step", 300, 1500, 30.0)
    'step 300 of 1,500, 30 a second, at most 40 s left'
    >>> progress_line("row", 65536, None, 32768.0)
    'row 65,536, 32,768 a second'
    """
    left = [] if total is None or rate is None else [f"at most {(total - done) / rate:.0f} s left"]
    return ", ".join([f"{what} {counted(done, total)}", *speed(rate), *left])


def counted(done: int, total: int | None) -> str:
    """How many of how many."""
    return f"{done:,}" if total is None else f"{done:,} of {total:,}"


def speed(rate: float | None) -> list[str]:
    """A rate in words, if there is one."""
    return [] if rate is None else [f"{rate:,.{0 if rate >= 10 else 1}f} a second"]


class TerminalDisplay:
    """A bar for each thing that is done, with its rate and the time left, gone when all is done."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._pace, self._lock = Pace(), threading.Lock()
        self._bars: dict[str, Any] = {}
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[counted]}"),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=Console(stderr=True),
            transient=True,
        )

    def __enter__(self) -> Self:
        """Show the bars."""
        self._progress.start()
        return self

    def __exit__(self, *raised: object) -> None:
        """Take the bars away."""
        self._progress.stop()

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Move a bar."""
        with self._lock:
            said: dict[str, Any] = {"counted": counted(done, total), "rate": "".join(speed(self._pace(what, done)))}
            if what not in self._bars:
                self._bars[what] = self._progress.add_task(f"{what}s", total=total, **said)
            self._progress.update(self._bars[what], completed=done, total=total, **said)
