"""Progress of a command, shown as bars on a terminal or as lines elsewhere."""

import sys
import threading
import time
from typing import Any, Protocol, Self

from ssgp.cli.printing import tell

__all__ = ["Display", "LineDisplay", "NoDisplay", "TerminalDisplay"]

SECONDS_BETWEEN_LINES = 5.0


class Display(Protocol):
    """A context in which calls show progress."""

    def __enter__(self) -> Self:
        """Begin."""
        ...

    def __exit__(self, *raised: object) -> None:
        """End."""
        ...

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Show that `done` things of `total` are done, or of an unknown number; `what` is the name of one."""
        ...


class NoDisplay:
    """Shows nothing."""

    def __enter__(self) -> Self:
        """Nothing to begin."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Nothing to end."""

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Show nothing."""


class RateMeter:
    """Rates per second of everything that is counted; a rate starts again when its count does."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[float, int, int]] = {}

    def __call__(self, what: str, done: int) -> float | None:
        """Rate of a count that has reached `done`; None while there is no earlier count."""
        now = time.monotonic()
        started, first, last = self._counts.get(what, (now, done, done))
        if done < last:
            started, first = now, done
        self._counts[what] = started, first, done
        return (done - first) / (now - started) if done > first and now > started else None


class LineDisplay:
    """A line on standard error every few seconds, for logs."""

    def __init__(self, seconds_between: float = SECONDS_BETWEEN_LINES) -> None:
        self._seconds_between, self._rates, self._lock = seconds_between, RateMeter(), threading.Lock()
        self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        """Start the clock."""
        self._last_line = time.monotonic()
        return self

    def __exit__(self, *raised: object) -> None:
        """Nothing is left on the screen."""

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Print a line if the last one is long enough ago."""
        with self._lock:
            rate = self._rates(what, done)
            if time.monotonic() - self._last_line >= self._seconds_between:
                self._last_line = time.monotonic()
                tell(progress_line(what, done, total, rate), sys.stderr)


def progress_line(what: str, done: int, total: int | None, rate: float | None) -> str:
    """Text of progress: how far, how fast and how long to go.

    Examples
    --------
    >>> progress_line("step", 300, 1500, 30.0)
    'step 300 of 1,500, 30 a second, at most 40 s left'
    >>> progress_line("row", 65536, None, 32768.0)
    'row 65,536, 32,768 a second'
    """
    left = [] if total is None or rate is None else [f"at most {(total - done) / rate:.0f} s left"]
    return ", ".join([f"{what} {count_text(done, total)}", *rate_text(rate), *left])


def count_text(done: int, total: int | None) -> str:
    """Text of a count, and of how many there are to count."""
    return f"{done:,}" if total is None else f"{done:,} of {total:,}"


def rate_text(rate: float | None) -> list[str]:
    """Text of a rate in a list, empty where there is no rate."""
    return [] if rate is None else [f"{rate:,.{0 if rate >= 10 else 1}f} a second"]


class TerminalDisplay:
    """A bar for each count, with its rate and the time left, gone when all is done."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._rates, self._lock = RateMeter(), threading.Lock()
        self._bars: dict[str, Any] = {}
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
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
            rate = "".join(rate_text(self._rates(what, done)))
            texts: dict[str, Any] = {"count": count_text(done, total), "rate": rate}
            if what not in self._bars:
                self._bars[what] = self._progress.add_task(f"{what}s", total=total, **texts)
            self._progress.update(self._bars[what], completed=done, total=total, **texts)
