"""The global and the local objective with default settings on small tables; targets in their standard deviations."""

from typing import Literal

import numpy as np

from common import Clock, options, record, score
from ssgp import SVBSSGPRegressor
from tables import SMALL, TABLES, Table

OBJECTIVES: tuple[Literal["global", "local"], ...] = ("global", "local")


def cell(data: Table, objective: Literal["global", "local"], seed: int) -> dict:
    scale, clock = float(np.std(data.y_train)), Clock()
    with clock("fit"):
        model = SVBSSGPRegressor(objective=objective, random_state=seed).fit(data.X_train, data.y_train / scale)
    mean, std = model.predict(data.X_test, return_std=True)
    return {**score(data.y_test / scale, mean, std), "fit_s": clock.seconds["fit"]}


def main() -> None:
    given = options(__doc__, seeds=2)
    for table in (*SMALL, "kin40k"):
        data = TABLES[table](given.data, 0)
        rows = [
            {"table": table, "objective": objective, "seed": seed, **cell(data, objective, seed)}
            for objective in OBJECTIVES
            for seed in range(given.seeds)
        ]
        record("objectives", rows)


if __name__ == "__main__":
    main()
