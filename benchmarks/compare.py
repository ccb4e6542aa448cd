"""The spectral forest beside its peers: error, density, calibration, time and memory, in one run on one machine.

Every cell (table, method, fold) runs in a process of its own, so that its peak memory is its own, and its row is kept
at once: an interrupted run goes on where it stopped. ``python -m benchmarks.compare_report`` makes the table and the
figure from the rows.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import parser, run_benchmark
from experiments.machine import peak_memory
from experiments.measures import LEVEL, score_calibration, score_distribution
from experiments.study import Cell, Row, Study
from experiments.tables import SMALL, SPLITS

__all__ = ["COLUMNS", "FOLDS", "SUITE", "Comparison", "cells", "measure"]

FOLDS = 3
EVERYWHERE = ["spectral forest", "LightGBM", "LightGBM tuned", "LightGBM quantile", "CatBoost", "histogram boosting"]
SUITE: dict[str, list[str]] = {
    **{name: [*EVERYWHERE, "quantile forest", "NGBoost", "exact GP", "SVGP"] for name in SMALL},
    "kin40k": [*EVERYWHERE, "quantile forest", "NGBoost", "exact GP", "SVGP"],
    "aimpeak": [*EVERYWHERE, "quantile forest", "LightGBM 127 x 3000", "NGBoost", "SVGP"],
    "blog": [*EVERYWHERE, "quantile forest", "NGBoost"],
    "flights": [*EVERYWHERE, "LightGBM 255 x 300", "LightGBM 255 x 2000"],
    "airline": ["spectral forest", "CatBoost", "LightGBM 255 x 3000", "LightGBM 1023 x 600"],
}
VARIANTS = ["forest, exact covariances", "forest, not shrunk"]
VARIANT_TABLES = ["flights", "aimpeak", "kin40k", "elevators"]
FOLDED = (*SMALL, "kin40k")
# What is shown of a cell, with the digits after the point in the report.
COLUMNS = {
    "rmse": 4,
    "mnlp": 3,
    "crps": 4,
    "coverage": 3,
    "coverage_50": 3,
    "coverage_80": 3,
    "coverage_90": 3,
    "coverage_99": 3,
    "pit_distance": 3,
    "fit_s": 1,
    "predict_s": 2,
    "peak_gb": 2,
}


@dataclass(frozen=True)
class Comparison(Cell):
    """A method on a fold of a table."""

    table: str
    method: str
    fold: int

    @property
    def alike(self) -> tuple[str, ...]:
        """Table and method."""
        return self.table, self.method

    def __str__(self) -> str:
        return f"{self.table}, {self.method}, fold {self.fold}"


def cells(tables: list[str], methods: list[str], n_folds: int) -> list[Comparison]:
    """What is to be run: whole tables first, so that peers are timed close together."""
    return [
        Comparison(table, method, fold)
        for table in tables
        for fold in range(n_folds if table in FOLDED else 1)
        for method in [*SUITE[table], *(VARIANTS if table in VARIANT_TABLES else [])]
        if not methods or method in methods
    ]


def measure(folder: Path | None, cell: Comparison) -> list[Row]:
    """Fit and score one method on one split."""
    # Needs packages of the extra `peers`, which the report does not.
    from benchmarks.peers import METHODS

    data = SPLITS[cell.table](folder, cell.fold)
    loaded = peak_memory()
    outcome = METHODS[cell.method](data)
    row: dict[str, Any] = {
        "n_train": len(data.y_train),
        "n_test": len(data.y_test),
        **score_distribution(data.y_test, outcome.predicted),
        **score_calibration(data.y_test, outcome.predicted),
        "width": float(np.diff(outcome.predicted.interval(LEVEL)).mean()),
        "target_deviation": float(data.y_train.std()),
        "fit_s": outcome.fit_s,
        "predict_s": outcome.predict_s,
        "peak_gb": peak_memory(),
        "loaded_gb": loaded,
    }
    return [row | outcome.about]


def main() -> None:
    line = parser(__doc__)
    line.add_argument("--tables", nargs="*", default=list(SUITE), choices=list(SUITE), metavar="TABLE", help="tables")
    line.add_argument("--methods", nargs="*", default=[], metavar="METHOD", help="methods; all where none is named")
    line.add_argument("--folds", type=int, default=FOLDS, help="of the tables that have folds")
    line.add_argument("--again", action="store_true", help="run cells that have a row already, too")
    flags = line.parse_args()
    chosen = cells(flags.tables, flags.methods, flags.folds)
    if not chosen:
        line.error(f"none of the methods {', '.join(flags.methods)} is run on {', '.join(flags.tables)}")
    study = Study(chosen, partial(measure, flags.data))
    run_benchmark("compare", study, flags.again, ("table", "method", "fold", *COLUMNS))


if __name__ == "__main__":
    main()
