"""The demo's flights at m = 20, 256 blocks and 5 draws: test conditionals from local to global, beside boosting."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.common import OBJECTIVES, Objective, options, run_benchmark
from experiments.measures import held_out_deviation, score, score_distribution, timed
from experiments.study import Cell, Row, Study
from ssgp import SVBSSGPRegressor
from ssgp.datasets import Split, load_flights
from ssgp.distributions import NormalDistribution

SETTINGS: dict[str, Any] = {"n_frequencies": 20, "n_blocks": 256, "n_draws": 5, "n_jobs": -1}
# Test conditionals of each objective; the local one has a single model.
GAMMAS: dict[Objective, tuple[float, ...]] = {"global": (0.0, 0.3, 1.0), "local": (0.0,)}
SPARSE_SPECTRUM: dict[str, Objective] = {f"sVBSSGP {objective}": objective for objective in OBJECTIVES}
BOOSTING = "histogram boosting"


@dataclass(frozen=True)
class Fit(Cell):
    """A fit to the flights."""

    model: str
    seed: int


def measure(cell: Fit) -> list[Row]:
    data = load_flights()
    return [boosting(data, cell.seed)] if cell.model == BOOSTING else sparse_spectrum(data, cell)


def sparse_spectrum(data: Split, cell: Fit) -> list[Row]:
    objective = SPARSE_SPECTRUM[cell.model]
    model = SVBSSGPRegressor(**SETTINGS, objective=objective, random_state=cell.seed)
    _, fit_s = timed(lambda: model.fit(data.X_train, data.y_train))
    rows = []
    for gamma in GAMMAS[objective]:
        _, predict_s = timed(partial(model.predict, data.X_test, return_std=True, gamma=gamma))
        scores = score(model, data.X_test, data.y_test, gamma=gamma)
        rows.append({"gamma": gamma, **scores, "steps": model.n_iter_, "fit_s": fit_s, "predict_s": predict_s})
    return rows


def boosting(data: Split, seed: int) -> Row:
    make = partial(HistGradientBoostingRegressor, random_state=seed)
    model, fit_s = timed(lambda: make().fit(data.X_train, data.y_train))
    mean, predict_s = timed(lambda: model.predict(data.X_test))
    std = held_out_deviation(make, data.X_train, data.y_train)
    scores = score_distribution(data.y_test, NormalDistribution.of(mean, np.full(len(mean), std)))
    return {**scores, "fit_s": fit_s, "predict_s": predict_s}


def main() -> None:
    flags = options(__doc__, seeds=3)
    cells = [Fit(model, seed) for model in SPARSE_SPECTRUM for seed in range(flags.seeds)]
    run_benchmark("flights", Study([*cells, Fit(BOOSTING, 0)], measure))


if __name__ == "__main__":
    main()
