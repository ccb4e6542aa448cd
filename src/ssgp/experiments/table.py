"""Table 1: errors after convergence, beside the paper's."""

from dataclasses import dataclass

import numpy as np

from ssgp.experiments.store import Results
from ssgp.experiments.suites import AUTHORS

__all__ = ["COLUMNS", "Line", "table_lines"]

METHODS = (
    "sVBSSGP",
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
COLUMNS = ("table", "method", "RMSE", "MNLP", "fit (s)", "splits", "RMSE, authors' split", "the paper's RMSE")


@dataclass(frozen=True)
class Line:
    """Errors of a method on a table.

    Attributes
    ----------
    suite, method : str
        Which.
    rmse, mnlp, seconds : tuple of float
        Mean and deviation over random splits.
    n_splits : int
        Number of random splits.
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
    authors: float | None
    paper: float | None

    def texts(self) -> list[str]:
        """Cells of the table."""
        return [
            self.suite.upper(),
            self.method,
            "{:.2f} ± {:.2f}".format(*self.rmse),
            "{:.2f} ± {:.2f}".format(*self.mnlp),
            f"{self.seconds[0]:.1f}" if self.seconds[0] < 10 else f"{self.seconds[0]:.0f}",
            str(self.n_splits),
            "" if self.authors is None else f"{self.authors:.2f}",
            "" if self.paper is None else f"{self.paper:.2f}",
        ]


def table_lines(results: Results) -> list[Line]:
    """Lines for every method that has results."""
    suites = dict.fromkeys(results.where().values("suite"))
    lines = [_line(results, suite, method) for suite in suites for method in METHODS]
    return [line for line in lines if line is not None]


def converged(results: Results, suite: str, method: str) -> Results:
    """Where a method ended: its run to convergence, or, where it has none, the end of its traced run."""
    own = results.where(suite=suite, method=method)
    ended = own.where(kind="converged")
    if not ended.rows and own.rows:
        ended = own.where(iteration=max(own.values("iteration")), n_draws=max(own.values("n_draws")))
    return ended.where(gamma=0.0) if method == "sVBSSGP" else ended


def _line(results: Results, suite: str, method: str) -> Line | None:
    ended = converged(results, suite, method)
    random = [row for row in ended.rows if row["split"] != AUTHORS]
    if not random:
        return None
    authors = ended.where(split=AUTHORS).values("rmse")
    rmse, mnlp, seconds = (
        (float(np.mean(values)), float(np.std(values)))
        for values in ([row[name] for row in random] for name in ("rmse", "mnlp", "train_s"))
    )
    paper = PAPER.get((suite, method))
    return Line(suite, method, rmse, mnlp, seconds, len(random), authors[0] if authors else None, paper)
