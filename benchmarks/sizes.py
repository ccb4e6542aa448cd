"""Short tables and wide ones: seconds of a fit, milliseconds of one row, and how good the predictions are.

Short ones are rows of AIRLINE where a data folder is given, of the flights that come with a package elsewhere. Wide
ones are drawn: the target is a nonlinear function of five of the columns, with noise. All settings are defaults, but
for the threads. Deviations of boosted trees are constant, from residuals on rows held out, which their seconds do not
count. Every cell runs in a process of its own and its row is kept at once: an interrupted run goes on where it stopped.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import parser, print_command, run_benchmark
from benchmarks.regressors import FOREST, METHODS, available, in_threads, make_regressor
from experiments.machine import peak_memory
from experiments.measures import LEVEL, held_out_deviation, score, score_distribution, timed
from experiments.study import Cell, Row, Study
from experiments.tables import FOLDER_VARIABLE, load_airline
from ssgp.datasets import Split, load_flights
from ssgp.distributions import NormalDistribution

__all__ = ["Length", "Width", "draw_wide", "measure_length", "measure_width", "milliseconds", "table_of"]

Array = NDArray[np.float64]
LENGTHS = (100, 1000, 3000, 10_000)
WIDTHS = (200, 1000, 5000)
WIDE_ROWS = 2000
TEST_ROWS = 10_000
# Rows of AIRLINE, which are in random order, that lengths and the test are taken from.
DRAWN_ROWS = 200_000
NOISE = 0.3
CALLS = 200
SCORES = ("fit_s", "rmse", "mnlp", "coverage", "peak_gb")
OF_ONE_ROW = ("mean_ms", "least_mean_ms", "interval_ms", "least_interval_ms")


@dataclass(frozen=True)
class Length(Cell):
    """A method on so many rows of a table."""

    table: str
    rows: int
    method: str
    threads: int


@dataclass(frozen=True)
class Width(Cell):
    """A method on a drawn table of so many columns."""

    rows: int
    columns: int
    method: str
    threads: int


def table_of(folder: Path | None) -> str:
    """AIRLINE where there is a data folder, the flights elsewhere."""
    return "airline" if folder is not None or os.environ.get(FOLDER_VARIABLE) else "flights"


def real_rows(table: str, folder: Path | None, n_rows: int) -> Split:
    """So many rows to learn from, drawn at random, the fewer among the more, and test rows that are always the same."""
    if table == "airline":
        whole = load_airline(folder, DRAWN_ROWS)
        X, y, names = whole.X, whole.y, whole.feature_names
    else:
        flights = load_flights()
        X, y, names = flights.X_train, flights.y_train, flights.feature_names
    drawn = np.random.default_rng(0).permutation(len(y))
    test, train = drawn[:TEST_ROWS], drawn[TEST_ROWS : TEST_ROWS + n_rows]
    return Split(X[train], y[train], X[test], y[test], names)


def draw_wide(n_rows: int, n_columns: int, seed: int = 0) -> Split:
    """Normal inputs and a target of five of them, with noise; half of the rows drawn are the test."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2 * n_rows, n_columns))
    a, b, c, d, e = X[:, np.linspace(0, n_columns - 1, 5).astype(int)].T
    y = np.sin(2 * a) + b * c + 0.5 * d * d + e + NOISE * rng.standard_normal(2 * n_rows)
    names = tuple(f"x{j}" for j in range(n_columns))
    return Split(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], names)


def milliseconds(call: Callable[[], object], n_calls: int) -> tuple[float, float]:
    """Median and least of many calls; the first, which may prepare something, does not count."""
    call()
    times = 1e3 * np.array([timed(call)[1] for _ in range(n_calls)])
    return float(np.median(times)), float(times.min())


def measure_length(folder: Path | None, cell: Length) -> list[Row]:
    """Fit, score, and predict one row many times."""
    data = real_rows(cell.table, folder, cell.rows)
    with in_threads(cell.threads):
        model, row = _fit_and_score(cell.method, cell.threads, data)
        one = data.X_test[:1]
        row["mean_ms"], row["least_mean_ms"] = milliseconds(lambda: model.predict(one), CALLS)
        if cell.method == FOREST:
            interval = partial(model.predict_interval, one, LEVEL)
            row["interval_ms"], row["least_interval_ms"] = milliseconds(interval, CALLS)
    return [row]


def measure_width(cell: Width) -> list[Row]:
    """Fit and score."""
    data = draw_wide(cell.rows, cell.columns)
    with in_threads(cell.threads):
        return [_fit_and_score(cell.method, cell.threads, data)[1]]


def _fit_and_score(method: str, n_threads: int, data: Split) -> tuple[Any, Row]:
    """A fitted model, and how good it is; what scoring takes does not count."""
    make = partial(make_regressor, method, n_threads)
    loaded = peak_memory()
    model, fit_s = timed(lambda: make().fit(data.X_train, data.y_train))
    peak = peak_memory()
    if method == FOREST:
        scores = score(model, data.X_test, data.y_test)
    else:
        mean, std = model.predict(data.X_test), held_out_deviation(make, data.X_train, data.y_train)
        scores = score_distribution(data.y_test, NormalDistribution.of(mean, np.full(len(mean), std)))
    return model, {"fit_s": fit_s, **scores, "peak_gb": peak, "loaded_gb": loaded}


def main() -> None:
    line = parser(__doc__)
    line.add_argument("--lengths", type=int, nargs="*", default=list(LENGTHS), metavar="ROWS", help="rows")
    line.add_argument("--widths", type=int, nargs="*", default=list(WIDTHS), metavar="COLUMNS", help="columns")
    line.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS, metavar="METHOD", help="methods")
    line.add_argument("--threads", type=int, default=2, help="threads of every method")
    line.add_argument("--again", action="store_true", help="run cells that have a row already, too")
    flags = line.parse_args()
    methods, table, threads = available(flags.methods), table_of(flags.data), flags.threads
    lengths = [Length(table, rows, method, threads) for rows in flags.lengths for method in methods]
    widths = [Width(WIDE_ROWS, columns, method, threads) for columns in flags.widths for method in methods]
    print_command("sizes")
    _run("sizes", lengths, partial(measure_length, flags.data), flags.again, ("table", "rows", *SCORES, *OF_ONE_ROW))
    _run("widths", widths, measure_width, flags.again, ("rows", "columns", *SCORES))


def _run(
    benchmark: str, cells: Sequence[Any], measure: Callable[[Any], list[Row]], again: bool, columns: Sequence[str]
) -> None:
    """Run a study if there is anything in it."""
    if cells:
        run_benchmark(benchmark, Study(cells, measure), again, ("method", *columns))


if __name__ == "__main__":
    main()
