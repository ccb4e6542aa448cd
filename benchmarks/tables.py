"""The tables that methods are compared on, with their splits."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from experiments.tables import load_aimpeak, load_airline, load_blog, read_columns
from ssgp.datasets import load_flights

__all__ = ["FOLDS", "SMALL", "TABLES", "Table"]

Array = NDArray[np.float64]
SMALL = ("concrete", "energy", "wine", "airfoil", "parkinsons", "elevators", "bike")
FOLDS = 3


@dataclass(frozen=True)
class Table:
    """Training and test rows."""

    X_train: Array
    y_train: Array
    X_test: Array
    y_test: Array


def _split(X: Array, y: Array, test: NDArray[np.bool_]) -> Table:
    return Table(X[~test], y[~test], X[test], y[test])


def flights(folder: Path | None, fold: int) -> Table:
    data = load_flights()
    return Table(*(np.asarray(part, float) for part in (data.X_train, data.y_train, data.X_test, data.y_test)))


def airline(folder: Path | None, fold: int) -> Table:
    """The first two million rows; the last twentieth of them is the test."""
    table = load_airline(folder)
    return _split(table.X, table.y, np.arange(len(table.y)) >= 0.95 * len(table.y))


def aimpeak(folder: Path | None, fold: int) -> Table:
    """The authors' split."""
    table = load_aimpeak(folder)
    assert table.test is not None
    return _split(table.X, table.y, table.test)


def blog(folder: Path | None, fold: int) -> Table:
    """A random twentieth is the test."""
    table = load_blog(folder)
    return _split(table.X, table.y, np.random.default_rng(fold).random(len(table.y)) < 0.05)


def _uci(name: str) -> Callable[[Path | None, int], Table]:
    def load(folder: Path | None, fold: int) -> Table:
        if folder is None:
            raise SystemExit(f"uci/{name}.parquet is needed: pass --data FOLDER or set SSGP_DATA")
        inputs = [column for column in pq.read_schema(folder / f"uci/{name}.parquet").names if column.startswith("x")]
        table = read_columns(folder / f"uci/{name}.parquet", [*inputs, "y", "fold"])
        return _split(table[:, :-2], table[:, -2], table[:, -1] == fold)

    return load


TABLES: dict[str, Callable[[Path | None, int], Table]] = {
    "flights": flights,
    "airline": airline,
    "kin40k": _uci("kin40k"),
    "aimpeak": aimpeak,
    "blog": blog,
    **{name: _uci(name) for name in SMALL},
}
