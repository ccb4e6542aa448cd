"""Rows of results, one Parquet file a cell: written whole or not at all, so that an interrupted run can go on."""

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ssgp.experiments.suites import Cell
from ssgp.whole_file import whole_file

__all__ = ["Results", "Store"]

Row = dict[str, Any]

SCHEMA = pa.schema(
    [
        ("suite", pa.string()),
        ("split", pa.string()),
        ("method", pa.string()),
        ("kind", pa.string()),
        ("n_draws", pa.int64()),
        ("gamma", pa.float64()),
        ("iteration", pa.int64()),
        ("steps", pa.int64()),
        ("train_s", pa.float64()),
        ("rmse", pa.float64()),
        ("mnlp", pa.float64()),
        ("coverage", pa.float64()),
        ("n_train", pa.int64()),
        ("n_test", pa.int64()),
        ("error", pa.string()),
        ("quick", pa.bool_()),
        ("wall_s", pa.float64()),
        ("finished", pa.string()),
        ("machine", pa.string()),
        ("versions", pa.string()),
    ]
)
PACKAGES = ("ssgp", "numpy", "scipy", "scikit-learn")


class Store:
    """A folder of results.

    Parameters
    ----------
    folder : path
        Made when the first cell is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def has(self, cell: Cell) -> bool:
        """Whether a cell has been run, with success."""
        path = self._path(cell)
        return path.exists() and pq.read_table(path, columns=["error"])["error"].null_count > 0

    def write(self, cell: Cell, rows: list[Row], wall_s: float, quick: bool, error: str | None = None) -> None:
        """Keep a cell's rows, or the one that says why there are none."""
        about = {
            "suite": cell.suite,
            "split": cell.split,
            "method": cell.method,
            "kind": cell.kind,
            "n_draws": cell.n_draws,
            "error": error,
            "quick": quick,
            "wall_s": wall_s,
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
            "versions": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        with whole_file(self._path(cell)) as part:
            pq.write_table(pa.Table.from_pylist([{**row, **about} for row in rows or [{}]], SCHEMA), part)

    def read(self) -> "Results":
        """Everything that has been written."""
        paths = sorted(self.folder.glob("*.parquet"))
        tables = [pq.read_table(path, schema=SCHEMA) for path in paths]
        return Results(pa.concat_tables(tables).to_pylist() if tables else [])

    def _path(self, cell: Cell) -> Path:
        return self.folder / f"{cell.name}.parquet"


class Results:
    """Rows, and ways to pick some of them.

    Parameters
    ----------
    rows : list of dict
        With the columns of the store.
    """

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows

    def where(self, **wanted: Any) -> "Results":  # noqa: ANN401  values of columns
        """Rows without an error in which these columns have these values."""
        return Results(
            [
                row
                for row in self.rows
                if row["error"] is None and all(row[column] == value for column, value in wanted.items())
            ]
        )

    def failures(self) -> list[Row]:
        """Rows of cells that failed."""
        return [row for row in self.rows if row["error"] is not None]

    def by(self, column: str, value: str) -> dict[Any, list[float]]:
        """Values of one column, listed for each value of another, in order of that."""
        found: dict[Any, list[float]] = {}
        for row in sorted(self.rows, key=lambda row: row[column]):
            found.setdefault(row[column], []).append(row[value])
        return found

    def values(self, column: str) -> list[Any]:
        """One column."""
        return [row[column] for row in self.rows]
