"""AIMPEAK in the authors' own split and blocks, at m = 20, gamma = 0 and 20 draws."""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from common import Clock, options, record, score
from experiments.tables import load_aimpeak
from ssgp import SVBSSGPRegressor


def fit(objective: Literal["global", "local"], seed: int, n_blocks: int | Literal["auto"] = "auto") -> SVBSSGPRegressor:
    return SVBSSGPRegressor(
        20, objective=objective, gamma=0.0, n_draws=20, n_blocks=n_blocks, n_jobs=-1, random_state=seed
    )


def main() -> None:
    flags = options(__doc__, seeds=5)
    table = load_aimpeak(flags.data)
    X, y, test, blocks = table.X, table.y, table.test, table.blocks
    assert test is not None
    assert blocks is not None
    rows = []
    for objective in ("global", "local"):
        for seed in range(flags.seeds):
            clock = Clock()
            with clock("fit"):
                model = fit(objective, seed).fit(X[~test], y[~test], blocks=blocks[~test])
            about = {"objective": objective, "seed": seed, "steps": model.n_iter_, "fit_s": clock.seconds["fit"]}
            for which, known in (("authors' label", blocks[test]), ("nearest block", None)):
                mean, std = model.predict(X[test], return_std=True, blocks=known)
                rows.append({"test rows by": which, **about, **score(y[test], mean, std)})
            with clock("fit"):
                model = fit(objective, seed, n_blocks=200).fit(X[~test], y[~test])
            mean, std = model.predict(X[test], return_std=True)
            about |= {"steps": model.n_iter_, "fit_s": clock.seconds["fit"]}
            rows.append({"test rows by": "own 200 blocks", **about, **score(y[test], mean, std)})
    record("aimpeak", rows)
    print("\nMeans over seeds")
    record("aimpeak-means", list(means(rows)))


def means(rows: list[dict]) -> Iterator[dict]:
    for key in dict.fromkeys((row["objective"], row["test rows by"]) for row in rows):
        own = [row for row in rows if (row["objective"], row["test rows by"]) == key]
        figures = ("rmse", "mnlp", "coverage", "fit_s")
        average = {name: float(np.mean([row[name] for row in own])) for name in figures}
        yield {"objective": key[0], "test rows by": key[1], "seeds": len(own), **average}


if __name__ == "__main__":
    main()
