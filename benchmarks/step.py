"""Time of a training step (1,000 rows, m = 20, d = 8) on one core, for tables of 10^4 to 10^7 rows."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.common import options, run_benchmark
from experiments.study import Cell, Row, Study
from ssgp.rows.blocks import Rows, even_bounds
from ssgp.spectrum.bases import Normal
from ssgp.spectrum.objectives import GlobalObjective
from ssgp.spectrum.optimizers import Adam
from ssgp.spectrum.parameters import Hyperparameters, Layout, Parameters, PosteriorKind
from ssgp.spectrum.trainer import BoundEstimator, Trainer

M, D, BATCH = 20, 8, 1000
SIZES = (10**4, 10**5, 10**6, 10**7)
# Whole cycles of eight: the mixing matrix moves in every eighth step.
STEPS_PER_ROUND = 96


@dataclass(frozen=True)
class Steps(Cell):
    """Steps of trainers on tables of all sizes, which take turns."""

    steps: int


def trainer(n_rows: int, kind: PosteriorKind) -> Trainer:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, D), dtype=np.float32)
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n_rows, dtype=np.float32)
    layout = Layout(M, D, 2 * M, kind)
    parameters = Parameters.initial(layout, Hyperparameters(np.full(D, 2.0), 1.0, 0.5), rng)
    rows = Rows(X, y, None, even_bounds(n_rows, BATCH))
    return Trainer(BoundEstimator(GlobalObjective(), Normal(), True), parameters, rows, (Adam(0.02), Adam(0.02)), rng)


def naive_products(n_rows: int = BATCH) -> NDArray[np.float32]:
    """The matrix products and cosines that a step cannot do without, as a yardstick of the machine's speed."""
    rng = np.random.default_rng(0)
    X, R = rng.standard_normal((n_rows, D), dtype=np.float32), rng.standard_normal((M, D), dtype=np.float32)
    phase = R @ X.T
    phi = np.concatenate([np.cos(phase), np.sin(phase)])
    gram = phi @ phi.T
    return (gram @ phi)[:M] @ X


def seconds_of(call: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Least and median seconds of a repeated call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times), float(np.median(times))


def measure(cell: Steps) -> list[Row]:
    times: dict[int, list[float]] = {n: [] for n in SIZES}
    with threadpool_limits(1, user_api="blas"):
        trainers = {n: trainer(n, "triangular") for n in SIZES}
        # Sizes take turns, so that what else the machine does falls on all alike.
        for _ in range(cell.steps // STEPS_PER_ROUND):
            for n, one in trainers.items():
                times[n].append(seconds_of(one.step, STEPS_PER_ROUND)[1])
        least, median = seconds_of(naive_products, 2000)
    rows: list[Row] = [
        {
            "rows": str(n),
            "median_ms": 1e3 * float(np.median(times[n])),
            "quiet_ms": 1e3 * float(np.min(times[n])),
            # Round by round: the two runs of a round are some tens of milliseconds apart.
            "ratio_to_smallest": float(np.median(np.divide(times[n], times[SIZES[0]]))),
        }
        for n in SIZES
    ]
    return [*rows, {"rows": "yardstick", "median_ms": 1e3 * median, "quiet_ms": 1e3 * least}]


def main() -> None:
    flags = options(__doc__, steps=4000)
    columns = ("rows", "median_ms", "quiet_ms", "ratio_to_smallest")
    run_benchmark("step", Study([Steps(flags.steps)], measure), columns=columns)


if __name__ == "__main__":
    main()
