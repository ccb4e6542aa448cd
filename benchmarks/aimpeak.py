"""AIMPEAK in the authors' own split and blocks, at m = 20, gamma = 0 and 20 draws."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.common import OBJECTIVES, Objective, options, print_table, run_benchmark
from experiments.measures import score, timed
from experiments.study import Cell, Row, Study
from experiments.tables import load_aimpeak
from ssgp import SVBSSGPRegressor

AVERAGED = ("rmse", "mnlp", "coverage", "fit_s")


@dataclass(frozen=True)
class Fits(Cell):
    """Fits to the authors' blocks and to those of a tree."""

    objective: Objective
    seed: int


def make(cell: Fits, n_blocks: int | Literal["auto"] = "auto") -> SVBSSGPRegressor:
    return SVBSSGPRegressor(
        20, objective=cell.objective, gamma=0.0, n_draws=20, n_blocks=n_blocks, n_jobs=-1, random_state=cell.seed
    )


def measure(folder: Path | None, cell: Fits) -> list[Row]:
    table = load_aimpeak(folder)
    data, test, blocks = table.split(), table.test, table.blocks
    assert test is not None
    assert blocks is not None
    model, fit_s = timed(lambda: make(cell).fit(data.X_train, data.y_train, blocks=blocks[~test]))
    common = {"steps": model.n_iter_, "fit_s": fit_s}
    rows = [
        {"test rows by": way, **common, **score(model, data.X_test, data.y_test, blocks=labels)}
        for way, labels in (("authors' label", blocks[test]), ("nearest block", None))
    ]
    model, fit_s = timed(lambda: make(cell, n_blocks=200).fit(data.X_train, data.y_train))
    common = {"steps": model.n_iter_, "fit_s": fit_s}
    return [*rows, {"test rows by": "own 200 blocks", **common, **score(model, data.X_test, data.y_test)}]


def means(rows: Sequence[Row]) -> Iterator[Row]:
    """Means over seeds."""
    for objective, way in dict.fromkeys((row["objective"], row["test rows by"]) for row in rows):
        alike = [row for row in rows if (row["objective"], row["test rows by"]) == (objective, way)]
        average = {name: float(np.mean([row[name] for row in alike])) for name in AVERAGED}
        yield {"objective": objective, "test rows by": way, "seeds": len(alike), **average}


def main() -> None:
    flags = options(__doc__, seeds=5)
    cells = [Fits(objective, seed) for objective in OBJECTIVES for seed in range(flags.seeds)]
    rows = run_benchmark("aimpeak", Study(cells, partial(measure, flags.data)))
    print("\nMeans over seeds")
    print_table(list(means(rows)))


if __name__ == "__main__":
    main()
