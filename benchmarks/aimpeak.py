"""AIMPEAK in the authors' own split and blocks, at m = 20, gamma = 0 and 20 draws."""

import numpy as np
from common import Clock, columns, options, record, score

from ssgp import SVBSSGPRegressor

INPUTS = ["t", "m1", "m2", "m3", "m4", "m5"]


def main() -> None:
    flags = options(__doc__, seeds=5)
    table = columns(flags.data, "aimpeak.parquet", [*INPUTS, "speed_kmh", "split", "block"])
    X, y, test, blocks = table[:, :6], table[:, 6], table[:, 7] == 1, table[:, 8]
    rows = []
    for objective in ("global", "local"):
        for seed in range(flags.seeds):
            clock = Clock()
            model = SVBSSGPRegressor(20, objective=objective, gamma=0.0, n_draws=20, n_jobs=-1, random_state=seed)
            with clock("fit"):
                model.fit(X[~test], y[~test], blocks=blocks[~test])
            mean, std = model.predict(X[test], return_std=True, blocks=blocks[test])
            times = {"steps": model.n_iter_, "fit_s": clock.seconds["fit"]}
            rows.append({"objective": objective, "seed": seed, **score(y[test], mean, std), **times})
    for objective in ("global", "local"):
        own = [row for row in rows if row["objective"] == objective]
        means = {name: float(np.mean([row[name] for row in own])) for name in ("rmse", "mnlp", "coverage", "fit_s")}
        rows.append({"objective": objective, "seed": "mean", **means})
    record("aimpeak", rows)


if __name__ == "__main__":
    main()
