"""How far a command has come, from the counts of what it does one after another."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["FITTING", "FITTING_A_FOREST", "REPORT", "ROWS", "WAITING", "Course", "Stage", "Standing"]


@dataclass(frozen=True)
class Stage:
    """A part of a command's work, which a count follows.

    Attributes
    ----------
    label : str
        What is done, in words.
    share : float
        Share of the work that is left when the stage begins which it usually takes; 0 for one in which nothing is done.
    after : str
        What is done once the count is complete, which nothing counts; empty where that is nothing.
    """

    label: str
    share: float
    after: str = ""


# Stages by what is counted.
WAITING: Mapping[str, Stage] = {"second": Stage("waiting for workers", 0.0)}
_READING = Stage("reading rows", 0.1)
FITTING: Mapping[str, Stage] = {"row": _READING, "step": Stage("learning", 1.0)}
_TREES = Stage("fitting trees", 0.6, "choosing and calibrating")
FITTING_A_FOREST: Mapping[str, Stage] = {
    "row": _READING,
    "step": Stage("learning frequencies", 0.4),
    "fitted row": _TREES,
    "tree": _TREES,
    **WAITING,
}
REPORT: Mapping[str, Stage] = {"part": Stage("writing the report", 1.0)}
ROWS: Mapping[str, Stage] = {"row": Stage("predicting rows", 1.0), **WAITING}


@dataclass(frozen=True)
class Standing:
    """How far a command has come.

    Attributes
    ----------
    label : str
        What is being done, in words.
    count : str
        The count of it, in words.
    share : float or None
        Share of all the work that is done; None where nobody knows.
    seconds_left : float or None
        Seconds until the end, if what is left takes as long as its share says; None where nobody knows.
    """

    label: str
    count: str
    share: float | None
    seconds_left: float | None

    @property
    def text(self) -> str:
        """The standing as one line.

        Examples
        --------
        >>> Standing("fitting trees", "tree 5 of 16", 0.625, 90.0).text
        'fitting trees: tree 5 of 16, 62 % done, about 1 min 30 s left'
        """
        done = [] if self.share is None else [f"{100 * self.share:.0f} % done"]
        left = [] if self.seconds_left is None else [left_text(self.seconds_left)]
        return f"{self.label}: {', '.join([self.count, *done, *left])}"


class Course:
    """Follows counts that come one after another, also again from the start, by a share that never goes back.

    Parameters
    ----------
    stages : mapping of str to Stage
        Stages by what is counted.
    """

    def __init__(self, stages: Mapping[str, Stage]) -> None:
        self._stages, self._started = stages, time.monotonic()
        self._what, self._done, self._total = "", 0, None
        self._begin = self._end = self._share = 0.0
        self._passes: dict[str, int] = {}
        self._stage_started = self._started

    def __call__(self, what: str, done: int, total: int | None) -> Standing | None:
        """Where the command is when `done` things of `total` are done; None where another count says it better."""
        stage = self._stages.get(what) or Stage(f"{what}s", 1.0)
        if not stage.share:
            return Standing(stage.label, f"{what} {count_text(done, total)}", self._share, None)
        if self._is_within(what, stage):
            return None
        if what != self._what or total != self._total or (2 * done <= self._done and done < self._done):
            self._enter(what, stage)
        self._what, self._done, self._total = what, done, total
        if total:
            self._share = max(self._share, self._begin + (self._end - self._begin) * min(done / total, 1.0))
        label = stage.after if stage.after and done == total else self._label(stage)
        count = f"{what} {count_text(done, total)}{self._rate(what, done)}"
        return Standing(label, count, self._share if total else None, self._seconds_left() if total else None)

    def _is_within(self, what: str, stage: Stage) -> bool:
        """Whether a finer count of the same stage is being followed."""
        return bool(self._what) and what != self._what and self._stages.get(self._what) is stage

    def _enter(self, what: str, stage: Stage) -> None:
        self._begin = self._share = self._end
        self._end = self._begin + stage.share * (1.0 - self._begin)
        self._passes[stage.label] = self._passes.get(stage.label, 0) + 1
        self._done, self._stage_started = 0, time.monotonic()

    def _label(self, stage: Stage) -> str:
        number = self._passes[stage.label]
        return stage.label if number == 1 else f"{stage.label} again"

    def _rate(self, what: str, done: int) -> str:
        """Rows a second: of steps and trees nobody needs to know."""
        seconds = time.monotonic() - self._stage_started
        return f", {done / seconds:,.0f} a second" if what == "row" and done and seconds > 0 else ""

    def _seconds_left(self) -> float | None:
        seconds = time.monotonic() - self._started
        return seconds * (1.0 - self._share) / self._share if self._share > 0 and seconds > 0 else None


def count_text(done: int, total: int | None) -> str:
    """Text of a count, and of how many there are to count."""
    return f"{done:,}" if total is None else f"{done:,} of {total:,}"


def left_text(seconds: float) -> str:
    """Text of the time that is left.

    Examples
    --------
    >>> left_text(0.2), left_text(42.3), left_text(200.0), left_text(7300.0)
    ('about 1 s left', 'about 42 s left', 'about 3 min 20 s left', 'about 2 h 2 min left')
    """
    whole = max(round(seconds), 1)
    if whole < 60:
        return f"about {whole} s left"
    minutes = (
        f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {round(whole % 3600 / 60)} min"
    )
    return f"about {minutes} left"
