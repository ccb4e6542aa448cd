"""Which kernel suits which function: the forest's spectra on draws of Gaussian processes from rough to smooth.

Also how far below the default a fit gets when it has only so many seconds (`max_time`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import RBF, Matern

from benchmarks.common import options, run_benchmark
from experiments.measures import score, timed
from experiments.study import Cell, Row, Study
from ssgp import SpectralForestRegressor
from ssgp.datasets import load_flights
from ssgp.metrics import rmse

Array = NDArray[np.float64]
PROCESSES = {"matern-1/2": Matern(0.5, nu=0.5), "matern-3/2": Matern(0.5, nu=1.5), "squared-exponential": RBF(0.5)}
KERNELS = ("squared-exponential", "matern-5/2", "matern-3/2", "matern-1/2", "auto")
LIMITS = ("3", "10", "20", "none")


@dataclass(frozen=True)
class Draw(Cell):
    """A function to learn: a draw of a Gaussian process."""

    function: str
    seed: int


@dataclass(frozen=True)
class Limit(Cell):
    """Seconds for a fit, or ``"none"``."""

    max_time: str


def draw(kernel: Matern | RBF, n_rows: int, seed: int) -> tuple[Array, Array, Array]:
    """Rows of a draw in two inputs, the function there, and the function with noise of a tenth of its deviation."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n_rows, 2))
    covariance: Any = kernel(X)
    latent = np.linalg.cholesky(covariance + 1e-8 * np.eye(n_rows)) @ rng.normal(size=n_rows)
    return X, latent, latent + 0.1 * rng.normal(size=n_rows)


def measure_kernels(cell: Draw) -> list[Row]:
    """Errors of the latent function by every kernel, in one row."""
    X, latent, y = draw(PROCESSES[cell.function], 4000, cell.seed)
    models = {
        name: SpectralForestRegressor(kernel=name, correct=False, random_state=0).fit(X[:3000], y[:3000])
        for name in KERNELS
    }
    errors = {name: rmse(latent[3000:], model.predict(X[3000:])) for name, model in models.items()}
    return [{**errors, "chosen": models["auto"].kernel_}]


def measure_limit(cell: Limit) -> list[Row]:
    data, limit = load_flights(), None if cell.max_time == "none" else float(cell.max_time)
    model, seconds = timed(
        lambda: SpectralForestRegressor(max_time=limit, random_state=0).fit(data.X_train, data.y_train)
    )
    return [{"took": seconds, "trees": model.n_trees_, **score(model, data.X_test, data.y_test)}]


def main() -> None:
    flags = options(__doc__, seed=0)
    run_benchmark("kernels", Study([Draw(name, flags.seed) for name in PROCESSES], measure_kernels))
    run_benchmark("limits", Study([Limit(seconds) for seconds in LIMITS], measure_limit))


if __name__ == "__main__":
    main()
