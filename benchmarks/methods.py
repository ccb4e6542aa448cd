"""The paper's method, its competitors and the spectral forest on the paper's tables, in one run.

AIMPEAK (authors' split): 2m = 40 features, 250 inducing inputs, 200 blocks. AIRLINE (first two million rows): 512
inducing inputs, 2,000 blocks. Every method with the library's defaults but for these sizes and the steps given here.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from common import options, record, score
from experiments.fits import by_distribution
from ssgp import (
    DTCRegressor,
    ExactGPRegressor,
    PICRegressor,
    SpectralForestRegressor,
    SSGPRegressor,
    SVBSSGPRegressor,
    VSSGPRegressor,
)
from ssgp.distributions.regressor import DistributionRegressor
from tables import TABLES, Table

Make = Callable[[int], Any]
SUITE: dict[str, dict[str, Make]] = {
    "aimpeak": {
        "sVBSSGP": lambda s: SVBSSGPRegressor(20, n_blocks=200, n_draws=20, n_jobs=-1, random_state=s),
        "sVBSSGP, local": lambda s: SVBSSGPRegressor(
            20, objective="local", n_blocks=200, n_draws=20, n_jobs=-1, random_state=s
        ),
        "PIC+": lambda s: PICRegressor(250, n_blocks=200, max_iter=2000, n_jobs=-1, random_state=s),
        "VSSGP": lambda s: VSSGPRegressor(40, n_jobs=-1, random_state=s),
        "VSSGP, stochastic": lambda s: VSSGPRegressor(40, batch_size=1000, max_iter=5000, random_state=s),
        "SSGP": lambda s: SSGPRegressor(20, n_jobs=-1, random_state=s),
        "SSGP, fixed": lambda s: SSGPRegressor(20, learn_frequencies=False, n_jobs=-1, random_state=s),
        "DTC+": lambda s: DTCRegressor(250, max_iter=4000, n_jobs=-1, random_state=s),
        "exact GP, 6,000 rows": lambda s: Subset(6000, ExactGPRegressor(random_state=s), s),
        "spectral forest": lambda s: SpectralForestRegressor(random_state=s),
    },
    "airline": {
        "sVBSSGP": lambda s: SVBSSGPRegressor(20, n_blocks=2000, n_draws=5, n_jobs=-1, random_state=s),
        "sVBSSGP, local": lambda s: SVBSSGPRegressor(
            20, objective="local", n_blocks=2000, n_draws=5, n_jobs=-1, random_state=s
        ),
        "PIC+": lambda s: PICRegressor(512, n_blocks=8000, max_iter=2000, n_jobs=-1, random_state=s),
        "VSSGP, stochastic": lambda s: VSSGPRegressor(40, batch_size=2000, max_iter=5000, n_jobs=-1, random_state=s),
        "SSGP": lambda s: SSGPRegressor(20, max_iter=40, n_jobs=-1, random_state=s),
        "DTC+": lambda s: DTCRegressor(512, max_iter=2500, n_jobs=-1, random_state=s),
        "exact GP, 6,000 rows": lambda s: Subset(6000, ExactGPRegressor(random_state=s), s),
        "spectral forest": lambda s: SpectralForestRegressor(random_state=s),
    },
}


class Subset:
    """A regressor that sees some random rows only."""

    def __init__(self, n_rows: int, model: ExactGPRegressor, seed: int) -> None:
        self.n_rows, self.model, self.seed = n_rows, model, seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Subset":
        """Fit some of the rows."""
        some = np.random.default_rng(self.seed).choice(len(y), min(self.n_rows, len(y)), replace=False)
        self.model.fit(X[some], y[some])
        return self

    def predict(self, X: np.ndarray, return_std: bool) -> tuple[np.ndarray, np.ndarray]:
        """Mean and deviation."""
        mean, std = self.model.predict(X, return_std=return_std)
        return mean, std


def run(table: str, data: Table, method: str, make: Make, seed: int) -> dict[str, Any]:
    model, start = make(seed), time.perf_counter()
    model.fit(data.X_train, data.y_train)
    fit_s = time.perf_counter() - start
    start = time.perf_counter()
    mean, std = model.predict(data.X_test, return_std=True)
    predict_s = time.perf_counter() - start
    row = {"table": table, "method": method, "seed": seed, **score(data.y_test, mean, std)}
    if isinstance(model, DistributionRegressor):
        row |= by_distribution(model, data.X_test, data.y_test)
    return {**row, "fit_s": fit_s, "predict_s": predict_s}


def main() -> None:
    given = options(__doc__, tables="aimpeak,airline", methods="", seed=0)
    for table in given.tables.split(","):
        data, rows = TABLES[table](given.data, 0), []
        for method, make in SUITE[table].items():
            if given.methods and method not in given.methods.split(";"):
                continue
            rows.append(run(table, data, method, make, given.seed))
            print(f"{table}, {method}: RMSE {rows[-1]['rmse']:.4g}, {rows[-1]['fit_s']:.1f} s", flush=True)
        record("methods", rows)


if __name__ == "__main__":
    main()
