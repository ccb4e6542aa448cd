"""The global and the local objective with default settings on small tables; targets in their standard deviations."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.common import OBJECTIVES, Objective, options, run_benchmark
from experiments.measures import score, timed
from experiments.study import Cell, Row, Study
from experiments.tables import SMALL, SPLITS
from ssgp import SVBSSGPRegressor


@dataclass(frozen=True)
class Fit(Cell):
    """A fit to a table's fold 0."""

    table: str
    objective: Objective
    seed: int


def measure(folder: Path | None, cell: Fit) -> list[Row]:
    data = SPLITS[cell.table](folder, 0)
    scale = float(np.std(data.y_train))
    model = SVBSSGPRegressor(objective=cell.objective, random_state=cell.seed)
    _, fit_s = timed(lambda: model.fit(data.X_train, data.y_train / scale))
    return [{**score(model, data.X_test, data.y_test / scale), "fit_s": fit_s}]


def main() -> None:
    flags = options(__doc__, seeds=2, tables=",".join((*SMALL, "kin40k")))
    cells = [
        Fit(table, objective, seed)
        for table in flags.tables.split(",")
        for objective in OBJECTIVES
        for seed in range(flags.seeds)
    ]
    run_benchmark("objectives", Study(cells, partial(measure, flags.data)))


if __name__ == "__main__":
    main()
