"""Rows of results in a folder of Parquet files: written whole or not at all, so that an interrupted run can go on.

A cell writes a file of its own; files that hold the rows of many cells are read as well.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any, Generic

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.machine import load_average, machine, versions
from experiments.parquet import write_whole
from experiments.study import AnyCell, Row

__all__ = ["Results", "Store"]


class Results:
    """Rows, and ways to pick from them.

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
        lists: dict[Any, list[float]] = {}
        for row in sorted(self.rows, key=lambda row: row[column]):
            lists.setdefault(row[column], []).append(row[value])
        return lists

    def values(self, column: str) -> list[Any]:
        """One column."""
        return [row[column] for row in self.rows]


class Store(Generic[AnyCell]):
    """A folder of results.

    Every row has the fields of its cell, what was measured, and the columns ``error``, ``wall_s`` (seconds of the
    whole cell), ``finished``, ``load``, ``machine`` and ``versions``.

    Parameters
    ----------
    folder : path
        Made when the first cell is written.
    cell_type : type
        Class of the cells.
    complete : callable, optional
        Takes a row as it was written, by this version or an earlier one, to one with all columns that are needed.
    """

    def __init__(self, folder: Path, cell_type: type[AnyCell], complete: Callable[[Row], Row] = dict) -> None:
        self.folder, self.cell_type, self.complete = folder, cell_type, complete

    def cells(self) -> set[AnyCell]:
        """Cells that have been run with success."""
        return {self.cell(row) for row in self.read().where().rows}

    def cell(self, row: Row) -> AnyCell:
        """Cell of a row."""
        return self.cell_type(**{field.name: row[field.name] for field in fields(self.cell_type)})

    def write(self, cell: AnyCell, rows: list[Row], wall_s: float, error: str | None = None) -> None:
        """Keep a cell's rows, or the one that says why there are none."""
        if not rows and error is None:
            raise ValueError(f"{cell.name} has no rows, and no error that says why")
        common = {
            "error": error,
            "wall_s": wall_s,
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "load": load_average(),
            "machine": machine(),
            "versions": versions(),
        }
        whole = _with_all_columns([{**asdict(cell), **row, **common} for row in rows or [{}]])
        write_whole(pa.Table.from_pylist(whole), self.folder / f"{cell.name}.parquet")

    def read(self) -> Results:
        """The newest rows of every cell; columns that a row was written without are None."""
        runs: dict[AnyCell, dict[tuple[str, str], list[Row]]] = {}
        for path in sorted(self.folder.glob("*.parquet")):
            for row in map(self.complete, self._rows(path)):
                # The name of the file, so that rows which are in two files count once.
                runs.setdefault(self.cell(row), {}).setdefault((row["finished"], path.name), []).append(row)
        return Results(_with_all_columns(row for run in runs.values() for row in run[max(run)]))

    def _rows(self, path: Path) -> list[Row]:
        needed = {field.name for field in fields(self.cell_type) if field.default is MISSING}
        if not needed <= set(pq.read_schema(path).names):
            raise ValueError(f"{path} is no file of results: a folder of results may hold no other tables")
        return pq.read_table(path).to_pylist()


def _with_all_columns(rows: Iterable[Row]) -> list[Row]:
    """Rows in which every column of any of them is, None where a row was without it."""
    rows = list(rows)
    names = dict.fromkeys(name for row in rows for name in row)
    return [row | dict.fromkeys(name for name in names if name not in row) for row in rows]
