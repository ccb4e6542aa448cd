"""Which kernel suits which function: the forest's spectra on draws of Gaussian processes from rough to smooth.

Also how far below the default a fit gets when it has only so many seconds (`max_time`).
"""

import time
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Matern

from common import options, record
from ssgp import SpectralForestRegressor
from ssgp.datasets import load_flights
from ssgp.metrics import rmse
from ssgp.spectrum.kernels import KERNELS

PROCESSES = {"matern-1/2": Matern(0.5, nu=0.5), "matern-3/2": Matern(0.5, nu=1.5), "squared-exponential": RBF(0.5)}


def drawn(kernel: Matern | RBF, n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of a draw in two inputs, with noise of a tenth of its deviation."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n_rows, 2))
    covariance: Any = kernel(X)
    latent = np.linalg.cholesky(covariance + 1e-8 * np.eye(n_rows)) @ rng.normal(size=n_rows)
    return X, latent, latent + 0.1 * rng.normal(size=n_rows)


def kernels(seed: int) -> list[dict]:
    rows = []
    for process, kernel in PROCESSES.items():
        X, latent, y = drawn(kernel, 4000, seed)
        row: dict = {"function": process}
        for name in [*KERNELS, "auto"]:
            model = SpectralForestRegressor(kernel=name, correct=False, random_state=0).fit(X[:3000], y[:3000])
            row[name] = rmse(latent[3000:], model.predict(X[3000:]))
        rows.append({**row, "chosen": model.kernel_})
    return rows


def limits(seconds: tuple[float, ...]) -> list[dict]:
    data = load_flights()
    rows = []
    for limit in (*seconds, None):
        start = time.perf_counter()
        model = SpectralForestRegressor(max_time=limit, random_state=0).fit(data.X_train, data.y_train)
        took = time.perf_counter() - start
        error = rmse(np.asarray(data.y_test), model.predict(data.X_test))
        mnlp = float(-model.log_prob(data.X_test, data.y_test).mean())
        rows.append({"max_time": str(limit), "took": took, "trees": model.n_trees_, "rmse": error, "mnlp": mnlp})
    return rows


def main() -> None:
    given = options(__doc__, seed=0)
    record("kernels", kernels(given.seed))
    record("limits", limits((3.0, 10.0, 20.0)))


if __name__ == "__main__":
    main()
