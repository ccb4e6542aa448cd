"""Time of a training step (1,000 rows, m = 20, d = 8) on one core, for tables of 10^4 to 10^7 rows."""

import numpy as np
from numpy.typing import NDArray

from common import options, quantiles_of, record
from ssgp.engine.threads import one_blas_thread
from ssgp.rows.blocks import Rows, even_bounds
from ssgp.spectrum.bases import Normal
from ssgp.spectrum.objectives import GlobalObjective
from ssgp.spectrum.optimizers import Adam
from ssgp.spectrum.parameters import Hyperparameters, Layout, Parameters, PosteriorKind
from ssgp.spectrum.trainer import BoundEstimator, Trainer

M, D, BATCH = 20, 8, 1000


def trainer(n_rows: int, kind: PosteriorKind) -> Trainer:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, D), dtype=np.float32)
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n_rows, dtype=np.float32)
    layout = Layout(M, D, 2 * M, kind)
    parameters = Parameters.initial(layout, Hyperparameters(np.full(D, 2.0), 1.0, 0.5), rng)
    rows = Rows(X, y, None, even_bounds(n_rows, BATCH))
    return Trainer(BoundEstimator(GlobalObjective(), Normal(), True), parameters, rows, (Adam(0.02), Adam(0.02)), rng)


def naive_products(n_rows: int = BATCH) -> NDArray[np.float32]:
    """The matrix products and cosines that a step cannot do without, as a yardstick of the machine's mood."""
    rng = np.random.default_rng(0)
    X, R = rng.standard_normal((n_rows, D), dtype=np.float32), rng.standard_normal((M, D), dtype=np.float32)
    phase = R @ X.T
    phi = np.concatenate([np.cos(phase), np.sin(phase)])
    gram = phi @ phi.T
    return (gram @ phi)[:M] @ X


def main() -> None:
    flags = options(__doc__, steps=4000)
    sizes = [10**4, 10**5, 10**6, 10**7]
    with one_blas_thread():
        runs = {n: trainer(n, "triangular") for n in sizes}
        times: dict[int, list[float]] = {n: [] for n in sizes}
        # Sizes take turns, a hundred steps each, so that the machine's moods fall on all alike.
        for _ in range(flags.steps // 100):
            for n, run in runs.items():
                times[n].append(quantiles_of(run.step, 96)[1])
        yardstick = quantiles_of(naive_products, 2000)
    rows = [
        {
            "rows": n,
            "median_ms": 1e3 * float(np.median(times[n])),
            "quiet_ms": 1e3 * float(np.min(times[n])),
            # Round by round: the two runs of a round are some tens of milliseconds apart.
            "ratio_to_smallest": float(np.median(np.divide(times[n], times[sizes[0]]))),
        }
        for n in sizes
    ]
    rows.append({"rows": "yardstick", "median_ms": 1e3 * yardstick[1], "quiet_ms": 1e3 * yardstick[0]})
    record("step", rows)


if __name__ == "__main__":
    main()
