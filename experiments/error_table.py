"""Errors of all methods at the end of learning, over random splits."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from experiments.comparisons import deviation, ended, random_splits
from experiments.store import Results
from experiments.suites import EVALUATION
from experiments.tables import AUTHORS

__all__ = ["COLUMNS", "PAPER", "Line", "notes", "table_lines"]

METHODS = (
    "sVBSSGP",
    "sVBSSGP, even k-means",
    "sVBSSGP, fixed hyperparameters",
    "sVBSSGP, local objective",
    "PIC+",
    "DTC+",
    "VSSGP",
    "SSGP",
    "exact GP, some rows",
    "spectral forest",
)
PAPER = {
    ("aimpeak", "sVBSSGP"): 4.73,
    ("aimpeak", "DTC+"): 12.46,
    ("aimpeak", "PIC+"): 6.15,
    ("aimpeak", "SSGP"): 11.30,
    ("aimpeak", "VSSGP"): 9.46,
    ("airline", "sVBSSGP"): 22.18,
    ("airline", "DTC+"): 39.60,
    ("airline", "PIC+"): 33.40,
    ("airline", "VSSGP"): 39.49,
}
# Marks times that end with the last step.
TRACED = " *"
COLUMNS = ("table", "method", "RMSE", "MNLP", "fit (s)", "splits", "RMSE, authors' split", "the paper's RMSE")


@dataclass(frozen=True)
class Line:
    """Errors of a method on a table.

    Attributes
    ----------
    suite, method : str
        Names of the two.
    rmse, mnlp, seconds : tuple of float
        Mean and deviation over random splits; the latter is nan for one.
    n_splits : int
        Number of random splits.
    n_stopped : int
        In how many of them learning stopped by itself.
    steps : int
        Most steps that were taken.
    traced : bool
        Whether this is the end of the traced runs.
    authors : float or None
        RMSE on the authors' split.
    paper : float or None
        RMSE in the paper.
    """

    suite: str
    method: str
    rmse: tuple[float, float]
    mnlp: tuple[float, float]
    seconds: tuple[float, float]
    n_splits: int
    n_stopped: int
    steps: int
    traced: bool
    authors: float | None
    paper: float | None

    def texts(self) -> list[str]:
        """Cells of the table."""
        seconds = f"{self.seconds[0]:.1f}" if self.seconds[0] < 10 else f"{self.seconds[0]:.0f}"
        return [
            self.suite.upper(),
            self.method,
            self._with_deviation(self.rmse),
            self._with_deviation(self.mnlp),
            seconds + (TRACED if self.traced else ""),
            str(self.n_splits),
            "" if self.authors is None else f"{self.authors:.2f}",
            "" if self.paper is None else f"{self.paper:.2f}",
        ]

    def _with_deviation(self, measure: tuple[float, float]) -> str:
        return "{:.2f} ± {:.2f}".format(*measure) if self.n_splits > 1 else f"{measure[0]:.2f}"


def table_lines(results: Results) -> list[Line]:
    """Lines for every method that has results."""
    run = set(results.where().values("suite"))
    suites = [suite for suite in EVALUATION if suite in run]
    lines = [_line(results, suite, method) for suite in suites for method in METHODS]
    return [line for line in lines if line is not None]


def notes(lines: list[Line]) -> list[str]:
    """What a reader of these lines has to know of how their runs ended."""
    texts = ["Means and deviations over random splits. The spectral forest and the local objective are this library's."]
    given = [line for line in lines if not line.traced and line.n_stopped < line.n_splits]
    traced = [line for line in lines if line.traced]
    if given:
        texts.append(f"Stopped after a fixed number of steps, not by themselves: {_listed(given, _length)}.")
    if traced:
        texts.append(
            f"As they were at the end of the traced runs: {_listed(traced, _length)}. Their times, marked with"
            f"{TRACED}, are of learning alone, without the final pass over all rows, which other times have."
        )
    return texts


def _listed(lines: list[Line], about: Callable[[Line], str]) -> str:
    """Methods, table by table."""
    by_suite: dict[str, list[str]] = {}
    for line in lines:
        by_suite.setdefault(line.suite.upper(), []).append(f"{line.method} ({about(line)})")
    return "; ".join(f"{suite}: {', '.join(methods)}" for suite, methods in by_suite.items())


def _length(line: Line) -> str:
    part = f", {line.n_splits - line.n_stopped} of {line.n_splits} splits" if line.n_stopped else ""
    return f"{line.steps:,}{part}"


def _line(results: Results, suite: str, method: str) -> Line | None:
    rows = ended(results, suite, method)
    random = random_splits(rows)
    if not random.rows:
        return None
    authors = rows.where(split=AUTHORS).values("rmse")
    rmse, mnlp, seconds = (
        (float(np.mean(values)), deviation(values))
        for values in (random.values(name) for name in ("rmse", "mnlp", "train_s"))
    )
    return Line(
        suite,
        method,
        rmse,
        mnlp,
        seconds,
        n_splits=len(random.rows),
        n_stopped=sum(random.values("converged")),
        steps=max(random.values("steps")),
        traced="trace" in random.values("kind"),
        authors=authors[0] if authors else None,
        paper=PAPER.get((suite, method)),
    )
