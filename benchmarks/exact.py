"""AIMPEAK by an exact Gaussian process: hyperparameters learned on some rows, predictions from all of them.

The covariance of all training rows is in memory, in single precision: 6.4 GB, and some minutes of all cores.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky

from benchmarks.common import parser, run_benchmark
from experiments.measures import timed
from experiments.study import Cell, Row, Study
from experiments.tables import load_aimpeak
from ssgp import ExactGPRegressor
from ssgp.datasets import Split
from ssgp.metrics import rmse

Array = NDArray[np.floating]

# Rows whose covariances are computed together.
ROWS_PER_CHUNK = 2000


@dataclass(frozen=True)
class Process(Cell):
    """An exact process that learns from so many rows, and predicts from so many."""

    learned: int
    conditioned: int


def predict(model: ExactGPRegressor, X: Array, y: Array, X_new: Array) -> Array:
    """Means at new rows, from rows X and targets y, with the kernel and noise of a model that has seen others."""
    signal, scale = np.float32(model.signal_variance_), np.asarray(model.lengthscale_)
    A, B, mean = (X / scale).astype(np.float32), (X_new / scale).astype(np.float32), float(y.mean())
    K = _covariance(A, A, signal)
    K[np.diag_indices(len(K))] += np.float32(model.noise_variance_)
    # Its transpose is what LAPACK can overwrite.
    factor = cholesky(K.T, lower=True, overwrite_a=True, check_finite=False)
    weights = cho_solve((factor, True), (y - mean).astype(np.float32), check_finite=False)
    return mean + _covariance(B, A, signal) @ weights


def _covariance(A: Array, B: Array, signal: np.float32) -> Array:
    """Squared exponential covariances of rows in lengthscales, shape (a, b)."""
    out, squares = np.empty((len(A), len(B)), np.float32), (B * B).sum(axis=1)
    for start in range(0, len(A), ROWS_PER_CHUNK):
        part = A[start : start + ROWS_PER_CHUNK]
        distance = (part * part).sum(axis=1)[:, None] + squares - 2.0 * part @ B.T
        out[start : start + ROWS_PER_CHUNK] = signal * np.exp(-0.5 * np.maximum(distance, 0.0))
    return out


def measure(data: Split, cell: Process) -> list[Row]:
    """Error on the test rows."""
    order = np.random.default_rng(0).permutation(len(data.y_train))
    few, many = order[: cell.learned], order[: cell.conditioned]
    model, fit_s = timed(lambda: ExactGPRegressor(random_state=0).fit(data.X_train[few], data.y_train[few]))
    mean, predict_s = timed(lambda: predict(model, data.X_train[many], data.y_train[many], data.X_test))
    return [{"rmse": rmse(data.y_test, mean), "fit_s": fit_s, "predict_s": predict_s}]


def measure_aimpeak(folder: Path | None, cell: Process) -> list[Row]:
    """As `measure`, in the authors' split."""
    return measure(load_aimpeak(folder).split(), cell)


def main() -> None:
    line = parser(__doc__)
    line.add_argument("--learned", type=int, default=6000, help="rows that hyperparameters are learned from")
    line.add_argument("--conditioned", type=int, default=39_800, help="rows that predictions are made from")
    flags = line.parse_args()
    run_benchmark("exact", Study([Process(flags.learned, flags.conditioned)], partial(measure_aimpeak, flags.data)))


if __name__ == "__main__":
    main()
