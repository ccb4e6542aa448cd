"""AIRLINE with one thread, two, four and so on: what more cores are worth to the forest and to boosted trees.

The last twentieth of the rows is the test. Cores busy are CPU seconds over seconds; speed-ups are over one thread.
Every cell runs in a process of its own and its row is kept at once: an interrupted run goes on where it stopped.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import parser, print_command, print_table, run_benchmark
from benchmarks.regressors import BOOSTING, FOREST, LIGHTGBM, METHODS, available, in_threads, make_regressor
from experiments.machine import peak_memory, voluntary_switches
from experiments.measures import timed
from experiments.study import Cell, Row, Study
from experiments.tables import TEST_SHARE, load_airline
from ssgp.metrics import rmse

__all__ = ["COLUMNS", "Fit", "cells", "measure", "powers_of_two", "with_speed_ups"]

LEAVES = 255
COLUMNS = ("method", "trees", "threads", "fit_s", "cpu_s", "busy", "switches", "peak_gb", "predict_s", "rmse")


@dataclass(frozen=True)
class Fit(Cell):
    """A method with so many threads on the first rows of the table; zero trees are as many as it has by itself."""

    rows: int
    predicted: int
    method: str
    trees: int
    threads: int

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the regressor."""
        if self.method == LIGHTGBM:
            return {"num_leaves": LEAVES, "n_estimators": self.trees}
        return {"max_iter": self.trees} if self.method == BOOSTING else {}


def powers_of_two(most: int) -> list[int]:
    """1, 2, 4 and so on, up to a number."""
    return [2**i for i in range(most.bit_length())]


def cells(
    rows: int, predicted: int, threads: Sequence[int], methods: Sequence[str], trees: dict[str, int]
) -> list[Fit]:
    """All methods with one number of threads before the next, so that peers are timed close together."""
    return [Fit(rows, predicted, method, trees.get(method, 0), n) for n in threads for method in methods]


def measure(folder: Path | None, cell: Fit) -> list[Row]:
    """Fit, predict and score with the cell's threads."""
    table = load_airline(folder, cell.rows)
    data = table.split(np.arange(len(table.y)) >= (1 - TEST_SHARE) * len(table.y))
    to_predict = data.X_train[np.arange(cell.predicted) % len(data.y_train)]
    loaded = peak_memory()
    model = make_regressor(cell.method, cell.threads, **cell.settings)
    with in_threads(cell.threads):
        fit = _used(lambda: model.fit(data.X_train, data.y_train))
        peak = peak_memory()
        _, predict_s = timed(lambda: model.predict(to_predict))
        mean = model.predict(data.X_test)
    return [{**fit, "peak_gb": peak, "loaded_gb": loaded, "predict_s": predict_s, "rmse": rmse(data.y_test, mean)}]


def _used(call: Callable[[], object]) -> Row:
    """What a call takes of the machine."""
    cpu, switches = time.process_time(), voluntary_switches()
    _, seconds = timed(call)
    cpu_s = time.process_time() - cpu
    now = voluntary_switches()
    return {
        "fit_s": seconds,
        "cpu_s": cpu_s,
        "busy": cpu_s / seconds,
        "switches": None if now is None or switches is None else now - switches,
    }


def with_speed_ups(rows: Sequence[Row]) -> list[Row]:
    """Rows with the speed-up of fit and prediction over one thread, None where that was not measured."""
    alone = {row["method"]: row for row in rows if row["threads"] == 1}

    def ratio(row: Row, name: str) -> float | None:
        one = alone.get(row["method"])
        return None if one is None else one[name] / row[name]

    return [{**row, "fit_speed_up": ratio(row, "fit_s"), "predict_speed_up": ratio(row, "predict_s")} for row in rows]


def main() -> None:
    line = parser(__doc__)
    threads = powers_of_two(os.cpu_count() or 1)
    line.add_argument("--rows", type=int, default=2_000_000, help="first rows of the table")
    line.add_argument("--predicted", type=int, default=1_000_000, help="means that are predicted")
    line.add_argument("--threads", type=int, nargs="+", default=threads, metavar="N", help="numbers of threads")
    line.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS, metavar="METHOD", help="methods")
    line.add_argument("--trees", type=int, default=3000, help=f"of LightGBM, with {LEAVES} leaves")
    line.add_argument("--boosting-trees", type=int, default=300, help="of histogram boosting")
    line.add_argument("--again", action="store_true", help="run cells that have a row already, too")
    flags = line.parse_args()
    trees = {FOREST: 0, LIGHTGBM: flags.trees, BOOSTING: flags.boosting_trees}
    chosen = cells(flags.rows, flags.predicted, flags.threads, available(flags.methods), trees)
    if not chosen:
        line.error("none of the methods is installed")
    print_command("cores")
    rows = run_benchmark("cores", Study(chosen, partial(measure, flags.data)), flags.again, COLUMNS)
    print("\nSpeed-up over one thread")
    print_table(with_speed_ups(rows), ("method", "threads", "fit_speed_up", "predict_speed_up"))


if __name__ == "__main__":
    main()
