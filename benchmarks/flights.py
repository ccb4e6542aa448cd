"""The demo's flights at m = 20, 256 blocks and 5 draws: test conditionals from local to global, beside boosting."""

from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from common import Clock, held_out_deviation, options, record, score
from ssgp import SVBSSGPRegressor
from ssgp.datasets import Split, load_flights

SETTINGS: dict[str, Any] = {"n_frequencies": 20, "n_blocks": 256, "n_draws": 5, "n_jobs": -1}


def ours(data: Split, seed: int, objective: Literal["global", "local"] = "global") -> list[dict]:
    clock = Clock()
    model = SVBSSGPRegressor(**SETTINGS, objective=objective, random_state=seed)
    with clock("fit"):
        model.fit(data.X_train, data.y_train)
    rows = []
    for gamma in (0.0,) if model.objective == "local" else (0.0, 0.3, 1.0):
        with clock("predict"):
            mean, std = model.predict(data.X_test, return_std=True, gamma=gamma)
        rows.append(
            {
                "model": f"sVBSSGP {model.objective}",
                "seed": seed,
                "gamma": gamma,
                **score(data.y_test, mean, std),
                "steps": model.n_iter_,
                "fit_s": clock.seconds["fit"],
                "predict_s": clock.seconds["predict"],
            }
        )
    return rows


def boosting(data: Split) -> dict:
    clock, make = Clock(), partial(HistGradientBoostingRegressor, random_state=0)
    model = make()
    with clock("fit"):
        model.fit(data.X_train, data.y_train)
    std = np.full(len(data.y_test), held_out_deviation(make, data.X_train, data.y_train))
    with clock("predict"):
        mean = model.predict(data.X_test)
    times = {"fit_s": clock.seconds["fit"], "predict_s": clock.seconds["predict"]}
    return {"model": "histogram boosting", **score(data.y_test, mean, std), **times}


def main() -> None:
    flags = options(__doc__, seeds=3)
    data = load_flights()
    rows = [row for seed in range(flags.seeds) for row in ours(data, seed)]
    rows += [row for seed in range(flags.seeds) for row in ours(data, seed, objective="local")]
    record("flights", [*rows, boosting(data)])


if __name__ == "__main__":
    main()
