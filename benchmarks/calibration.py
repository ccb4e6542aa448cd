"""Whether predictive distributions are right at every level: coverage, density and the uniformity of levels.

Tables are drawn with noise of several shapes, or are training rows of the usual ones, a part of which is held out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kstest

from benchmarks.common import parser, run_benchmark
from experiments.study import Cell, Row, Study
from experiments.tables import SPLITS
from ssgp import SpectralForestRegressor

Array = NDArray[np.float64]
LEVELS = (50, 80, 90, 95, 99)
NOISE: dict[str, Callable[[np.random.Generator, Array, Array], Array]] = {
    "nothing but uniform noise": lambda rng, X, f: rng.uniform(0, 1, len(f)) - f,
    "uniform": lambda rng, X, f: rng.uniform(-0.5, 0.5, len(f)),
    "lognormal": lambda rng, X, f: 0.5 * rng.lognormal(0, 0.8, len(f)),
    "two peaks": lambda rng, X, f: np.where(rng.random(len(f)) < 0.4, -1, 2 / 3) + 0.2 * rng.normal(size=len(f)),
    "normal, by an input": lambda rng, X, f: np.exp(0.7 * X[:, 3]) * 0.3 * rng.normal(size=len(f)),
    "Student-t": lambda rng, X, f: 0.3 * rng.standard_t(3, size=len(f)),
}
HELD_OUT = {"flights": 20_000, "aimpeak": 5000, "elevators": 3000, "kin40k": 5000, "blog": 6000}


@dataclass(frozen=True)
class Table(Cell):
    """A table to learn from."""

    table: str


def draw(name: str) -> tuple[Array, Array, int]:
    """40,000 rows of a smooth function of three of four inputs with noise, and how many of them are to judge."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-2, 2, (40_000, 4))
    f = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2]
    return X, f + NOISE[name](rng, X, f), 20_000


def held_out(folder: Path | None, name: str) -> tuple[Array, Array, int]:
    """Training rows of a table, fold 3 where it has folds, in random order."""
    split = SPLITS[name](folder, 3)
    order = np.random.default_rng(77).permutation(len(split.y_train))
    return split.X_train[order], split.y_train[order], HELD_OUT[name]


def measure(folder: Path | None, cell: Table) -> list[Row]:
    """Fit with defaults, and judge on rows that had no part in it."""
    X, y, n_judging = draw(cell.table) if cell.table in NOISE else held_out(folder, cell.table)
    model = SpectralForestRegressor(random_state=0).fit(X[n_judging:], y[n_judging:])
    distribution = model.predict_distribution(X[:n_judging])
    y = y[:n_judging]
    level = distribution.cdf(y)
    row: dict[str, Any] = {
        "mnlp": float(-distribution.logpdf(y).mean()),
        "crps": float(distribution.crps(y).mean()),
        **{f"cover_{percent}": float(100 * np.mean(np.abs(level - 0.5) <= percent / 200)) for percent in LEVELS},
        "ks": float(kstest(level, "uniform").statistic),
    }
    return [row]


def main() -> None:
    line = parser(__doc__)
    tables = [*NOISE, *HELD_OUT]
    line.add_argument("--tables", nargs="*", default=tables, choices=tables, metavar="TABLE", help="tables")
    flags = line.parse_args()
    run_benchmark("calibration", Study([Table(name) for name in flags.tables], partial(measure, flags.data)))


if __name__ == "__main__":
    main()
