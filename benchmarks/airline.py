"""AIRLINE 2M as the paper has it (2m = 40, 2,000 blocks, r = 5): time and peak memory of fit and prediction."""

import numpy as np

from common import Clock, options, peak_memory, record, score
from experiments.tables import load_airline
from ssgp import SVBSSGPRegressor


def main() -> None:
    flags = options(__doc__, rows=2_000_000, objective="global", seed=0)
    table = load_airline(flags.data, flags.rows)
    X, y = table.X, table.y
    n_train = int(0.95 * len(y))
    loaded, clock = peak_memory(), Clock()
    model = SVBSSGPRegressor(
        20, objective=flags.objective, n_blocks=2000, n_draws=5, n_jobs=-1, random_state=flags.seed
    )
    with clock("fit"):
        model.fit(X[:n_train], y[:n_train])
    with clock("predict"):
        mean, std = model.predict(X[n_train:], return_std=True)
    baseline = float(np.std(y[n_train:]))
    row = {
        "objective": flags.objective,
        **score(y[n_train:], mean, std),
        "rmse_of_mean": baseline,
        "steps": model.n_iter_,
        "fit_s": clock.seconds["fit"],
        "predict_s": clock.seconds["predict"],
        "predicted_rows": len(y) - n_train,
        "peak_gb": peak_memory(),
        "table_gb": loaded,
    }
    record("airline", [row])


if __name__ == "__main__":
    main()
