"""AIRLINE 2M as the paper has it (2m = 40, 2,000 blocks, r = 5): time and peak memory of fit and prediction."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.common import Objective, options, run_benchmark
from experiments.machine import peak_memory
from experiments.measures import score, timed
from experiments.study import Cell, Row, Study
from experiments.tables import load_airline
from ssgp import SVBSSGPRegressor


@dataclass(frozen=True)
class Fit(Cell):
    """A fit to the first rows of the table."""

    rows: int
    objective: Objective
    seed: int


def measure(folder: Path | None, cell: Fit) -> list[Row]:
    table = load_airline(folder, cell.rows)
    data = table.split(np.arange(len(table.y)) >= int(0.95 * len(table.y)))
    loaded = peak_memory()
    model = SVBSSGPRegressor(20, objective=cell.objective, n_blocks=2000, n_draws=5, n_jobs=-1, random_state=cell.seed)
    _, fit_s = timed(lambda: model.fit(data.X_train, data.y_train))
    _, predict_s = timed(lambda: model.predict(data.X_test, return_std=True))
    peak = peak_memory()
    return [
        {
            **score(model, data.X_test, data.y_test),
            "rmse_of_mean": float(np.std(data.y_test)),
            "steps": model.n_iter_,
            "fit_s": fit_s,
            "predict_s": predict_s,
            "predicted_rows": len(data.y_test),
            "peak_gb": peak,
            "table_gb": loaded,
        }
    ]


def main() -> None:
    flags = options(__doc__, rows=2_000_000, objective="global", seed=0)
    cell = Fit(flags.rows, flags.objective, flags.seed)
    run_benchmark("airline", Study([cell], partial(measure, flags.data)))


if __name__ == "__main__":
    main()
