"""Rows of results in a folder of Parquet files: written whole or not at all, so that an interrupted run can go on.

A cell writes a file of its own; files that hold the rows of many cells are read as well.
"""

import os
import platform
import time
from dataclasses import astuple, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.suites import Cell, seed_of
from ssgp._utils.whole_file import whole_file

__all__ = ["Results", "Store"]

Row = dict[str, Any]

SCHEMA = pa.schema(
    [
        ("suite", pa.string()),
        ("split", pa.string()),
        ("method", pa.string()),
        ("kind", pa.string()),
        ("n_draws", pa.int64()),
        ("seed", pa.int64()),
        ("gamma", pa.float64()),
        ("iteration", pa.int64()),
        ("steps", pa.int64()),
        ("converged", pa.bool_()),
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
CELL = tuple(field.name for field in fields(Cell))
# Most steps that methods could take before rows said whether they had stopped by themselves.
FORMER_LIMITS = (40, 200, 1500, 3000, 5000)


class Store:
    """A folder of results.

    Parameters
    ----------
    folder : path
        Made when the first cell is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def cells(self, quick: bool = False) -> set[Cell]:
        """Cells that have been run with success, on the whole tables or on reduced ones."""
        return {_cell(row) for row in self.read(quick).where().rows}

    def has(self, cell: Cell, quick: bool = False) -> bool:
        """Whether a cell has been run with success."""
        return cell in self.cells(quick)

    def write(self, cell: Cell, rows: list[Row], wall_s: float, quick: bool, error: str | None = None) -> None:
        """Keep a cell's rows, or the one that says why there are none."""
        if not rows and error is None:
            raise ValueError(f"{cell.name} has no rows, and no error that says why")
        about = {
            **dict(zip(CELL, astuple(cell), strict=True)),
            "seed": seed_of(cell.split),
            "error": error,
            "quick": quick,
            "wall_s": wall_s,
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "machine": _machine(),
            "versions": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        with whole_file(self.folder / f"{cell.name}{'-quick' if quick else ''}.parquet") as part:
            pq.write_table(pa.Table.from_pylist([{**row, **about} for row in rows or [{}]], SCHEMA), part)

    def read(self, quick: bool | None = None) -> "Results":
        """The newest rows of every cell.

        Parameters
        ----------
        quick : bool, optional
            Those of reduced tables, or of whole ones; without it of whole ones where there are any.
        """
        newest: dict[tuple, list[Row]] = {}
        for path in sorted(self.folder.glob("*.parquet")):
            for key, rows in _by_cell(_rows(path)).items():
                if key not in newest or newest[key][0]["finished"] < rows[0]["finished"]:
                    newest[key] = rows
        rows = [row for of_cell in newest.values() for row in of_cell]
        if quick is None:
            quick = all(row["quick"] for row in rows)
        return Results([row for row in rows if row["quick"] == quick])


def _rows(path: Path) -> list[Row]:
    """Rows of a file; columns that earlier versions did not write are null."""
    if not set(CELL) <= set(pq.read_schema(path).names):
        raise ValueError(f"{path} is no file of results: a folder of results may hold no other tables")
    return pq.read_table(path, schema=SCHEMA).to_pylist()


def _by_cell(rows: list[Row]) -> dict[tuple, list[Row]]:
    """Rows of each cell of a file, of its last run if it is there twice."""
    found: dict[tuple, list[Row]] = {}
    for row in map(_completed, rows):
        of_cell = found.setdefault((_cell(row), row["quick"]), [])
        if of_cell and of_cell[0]["finished"] < row["finished"]:
            of_cell.clear()
        if not of_cell or of_cell[0]["finished"] == row["finished"]:
            of_cell.append(row)
    return found


def _cell(row: Row) -> Cell:
    return Cell(**{name: row[name] for name in CELL})


def _completed(row: Row) -> Row:
    """A row with what earlier versions did not write; one without errors of predictions is one of a failure."""
    filled = {**row, "quick": bool(row["quick"])}
    if row["seed"] is None:
        filled["seed"] = seed_of(row["split"])
    if row["converged"] is None:
        filled["converged"] = row["kind"] == "converged" and row["steps"] not in (None, *FORMER_LIMITS)
    if row["error"] is None and (row["rmse"] is None or row["mnlp"] is None):
        filled["error"] = "there are no results in its file"
    return filled


def _machine() -> str:
    return f"{_processor()}, {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


@cache
def _processor() -> str:
    """Name of the processor; Linux alone keeps it in a file."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or "unknown processor"


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
