"""Table 1 of the paper: what is printed, and what was measured under two protocols, cell by cell."""

from dataclasses import dataclass

import numpy as np

from experiments.comparisons import deviation, ended, random_splits
from experiments.error_table import PAPER
from experiments.store import Results
from experiments.verdicts import NOT_RUN, Verdict, outcome_of

__all__ = ["COLUMNS", "Cell", "TableRow", "table_one", "table_one_holds"]

# Columns: ending of the name of the suite, and what it is.
COLUMNS = {
    "-joint": "authors' protocol: blocks of inputs and target of all rows",
    "-inputs": "the same rows: blocks of the inputs of training rows",
    "": "random splits: blocks of our own",
}
METHODS = {
    "aimpeak": ("sVBSSGP", "update rule", "PIC+", "DTC+", "SSGP", "VSSGP"),
    "airline": ("sVBSSGP", "PIC+", "DTC+", "VSSGP"),
}
METHOD_NAMES = {"update rule": "sVBSSGP, by the authors' updates"}
# Flights are others than the paper's: errors count as multiples of this method's.
UNIT = {"airline": "DTC+"}
# An error is as printed within this share of it.
TOLERANCE = 0.1


@dataclass(frozen=True)
class Cell:
    """An error beside the printed one.

    Attributes
    ----------
    rmse : tuple of float
        Mean and deviation over splits or seeds; the latter is nan for one.
    n : int
        How many these are.
    judged : {"as printed", "lower", "higher", "unit"}
        How it compares.
    """

    rmse: tuple[float, float]
    n: int
    judged: str

    def __str__(self) -> str:
        mean, spread = self.rmse
        return f"{mean:.2f} ± {spread:.2f}" if self.n > 1 else f"{mean:.2f}"


@dataclass(frozen=True)
class TableRow:
    """A method on a table.

    Attributes
    ----------
    table, method : str
        Names of the two.
    printed : float
        RMSE in the paper.
    cells : dict of str to Cell or None
        By the endings of `COLUMNS`; None for what was not run.
    """

    table: str
    method: str
    printed: float
    cells: dict[str, Cell | None]

    @property
    def name(self) -> str:
        """The method, in words."""
        return METHOD_NAMES.get(self.method, self.method)


def table_one(results: Results) -> list[TableRow]:
    """Rows of the table, with those cells that have been run."""
    rows = [
        TableRow(
            table,
            method,
            _printed(table, method),
            {column: _cell(results, table, column, method) for column in COLUMNS},
        )
        for table, methods in METHODS.items()
        for method in methods
    ]
    return [row for row in rows if any(row.cells.values())]


def table_one_holds(column: str, results: Results) -> Verdict:
    """Whether the cells of a column are as printed."""
    cells = [(row, row.cells[column]) for row in table_one(results) if row.method != UNIT.get(row.table)]
    run = [(row, cell) for row, cell in cells if cell is not None]
    if not run:
        return NOT_RUN
    listed = "; ".join(
        f"{row.table.upper()} {row.name} {cell} ({row.printed:.2f} printed): {cell.judged}" for row, cell in run
    )
    outcome = outcome_of([cell.judged == "as printed" for _, cell in run])
    return Verdict(
        outcome,
        f"{sum(cell.judged == 'as printed' for _, cell in run)} of {len(run)} errors are within {100 * TOLERANCE:.0f} "
        f"% of the printed ones, on AIRLINE as multiples of that of {UNIT['airline']}. {listed}.",
    )


def _printed(table: str, method: str) -> float:
    return PAPER[table, "sVBSSGP" if method == "update rule" else method]


def _cell(results: Results, table: str, column: str, method: str) -> Cell | None:
    rows = random_splits(ended(results, table + column, method))
    errors, splits, unit = rows.values("rmse"), set(rows.values("split")), UNIT.get(table)
    if not errors:
        return None
    ours, theirs = float(np.mean(errors)), _printed(table, method)
    if unit is not None:
        others = random_splits(ended(results, table + column, unit)).rows
        of_unit = [row["rmse"] for row in others if row["split"] in splits]
        if not of_unit:
            return None
        ours, theirs = ours / float(np.mean(of_unit)), theirs / PAPER[table, unit]
    judged = "unit" if method == unit else _judged(ours / theirs)
    return Cell((float(np.mean(errors)), deviation(errors)), len(errors), judged)


def _judged(ratio: float) -> str:
    if abs(ratio - 1.0) <= TOLERANCE:
        return "as printed"
    return "lower" if ratio < 1.0 else "higher"
