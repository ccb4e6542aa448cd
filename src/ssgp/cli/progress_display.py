"""Progress of a command, shown as one bar on a terminal or as lines elsewhere."""

import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, Protocol, Self

from ssgp.cli.course import ROWS, Course, Stage, left_text
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


class LineDisplay:
    """A line on standard error every few seconds, for logs.

    Parameters
    ----------
    stages : mapping of str to Stage
        Stages of the command, by what is counted.
    seconds_between : float or None
        Least seconds from one line to the next, None for the usual ones.
    """

    def __init__(self, stages: Mapping[str, Stage] = ROWS, seconds_between: float | None = None) -> None:
        self._seconds_between = SECONDS_BETWEEN_LINES if seconds_between is None else seconds_between
        self._course, self._lock = Course(stages), threading.Lock()
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
            standing = self._course(what, done, total)
            if standing is not None and time.monotonic() - self._last_line >= self._seconds_between:
                self._last_line = time.monotonic()
                tell(standing.text, sys.stderr)


class TerminalDisplay:
    """One bar that only moves forward, with what is being done and the time left; gone when all is done.

    Parameters
    ----------
    stages : mapping of str to Stage
        Stages of the command, by what is counted.
    """

    def __init__(self, stages: Mapping[str, Stage] = ROWS) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn
        from rich.text import Text

        self._course, self._lock, self._bar = Course(stages), threading.Lock(), None
        left = self._left

        class TimeLeft(ProgressColumn):
            """Seconds that are left, which go on counting down between two counts."""

            def render(self, task: Any) -> Text:  # noqa: ANN401
                return Text(left())

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[done]}"),
            TextColumn("{task.fields[count]}"),
            TimeLeft(),
            console=Console(stderr=True),
            transient=True,
        )
        self._ends: float | None = None

    def __enter__(self) -> Self:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(self, *raised: object) -> None:
        """Take the bar away."""
        self._progress.stop()

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Move the bar."""
        with self._lock:
            standing = self._course(what, done, total)
            if standing is None:
                return
            self._ends = None if standing.seconds_left is None else time.monotonic() + standing.seconds_left
            share = standing.share
            texts: Any = {"count": standing.count, "done": "" if share is None else f"{100 * share:3.0f} %"}
            whole: Any = {"total": None if share is None else 1.0, "completed": share or 0.0}
            if self._bar is None:
                self._bar = self._progress.add_task(standing.label, **whole, **texts)
            self._progress.update(self._bar, description=standing.label, **whole, **texts)

    def _left(self) -> str:
        return "" if self._ends is None else left_text(self._ends - time.monotonic())
