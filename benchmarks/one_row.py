"""Time of predicting one row with default forests of 1,000 and 10,000 rows (d = 8), beside a yardstick."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.common import options, run_benchmark
from benchmarks.step import seconds_of
from experiments.study import Cell, Row, Study
from ssgp import SpectralForestRegressor

D = 8
SIZES = (1000, 10_000)


@dataclass(frozen=True)
class Calls(Cell):
    """Repeated calls of every method."""

    calls: int


def forest(n_rows: int, names: list[str] | None = None) -> SpectralForestRegressor:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, D))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n_rows)
    return SpectralForestRegressor(random_state=0).fit(X if names is None else pd.DataFrame(X, columns=names), y)


def measure(cell: Calls) -> list[Row]:
    row, numbers = np.zeros((1, D)), np.ones(100_000)
    calls = {}
    for n in SIZES:
        model = forest(n)
        calls[f"{n}: mean"] = lambda model=model: model.predict(row)
        calls[f"{n}: mean and deviation"] = lambda model=model: model.predict(row, return_std=True)
        calls[f"{n}: interval"] = lambda model=model: model.predict_interval(row)
    names = [f"x{j}" for j in range(D)]
    named, frame = forest(SIZES[0], names), pd.DataFrame(row, columns=names)
    calls[f"{SIZES[0]}: mean of a frame's row"] = lambda: named.predict(frame)
    calls["yardstick: 100,000 cosines"] = lambda: np.cos(numbers)
    times = {name: seconds_of(call, cell.calls) for name, call in calls.items()}
    return [
        {"asked": name, "quiet_ms": 1e3 * least, "median_ms": 1e3 * median} for name, (least, median) in times.items()
    ]


def main() -> None:
    flags = options(__doc__, calls=2000)
    run_benchmark("one_row", Study([Calls(flags.calls)], measure), columns=("asked", "quiet_ms", "median_ms"))


if __name__ == "__main__":
    main()
