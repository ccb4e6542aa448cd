"""What the benchmarks share: options, the store of their rows, tables on the screen."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from experiments.runner import run
from experiments.store import Store
from experiments.study import AnyCell, Row, Study
from experiments.tables import FOLDER_VARIABLE

__all__ = [
    "COMMON",
    "OBJECTIVES",
    "RESULTS",
    "Objective",
    "options",
    "parser",
    "print_command",
    "print_table",
    "results",
    "run_benchmark",
]

RESULTS = Path("results")
Objective = Literal["global", "local"]
OBJECTIVES: tuple[Objective, ...] = ("global", "local")
# Columns that every row has, and that no table shows.
COMMON = ("error", "wall_s", "finished", "load", "machine", "versions")


def parser(description: str | None) -> argparse.ArgumentParser:
    """Command line of a benchmark, with a data folder."""
    line = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    line.add_argument("--data", type=Path, help=f"folder with the Parquet tables (or set {FOLDER_VARIABLE})")
    return line


def options(description: str | None, **flags: Any) -> argparse.Namespace:  # noqa: ANN401  as argparse takes them
    """Options of a benchmark: a data folder, and flags with their defaults."""
    line = parser(description)
    for name, default in flags.items():
        line.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    return line.parse_args()


def results(benchmark: str, cell_type: type[AnyCell]) -> Store[AnyCell]:
    """Store of a benchmark, in ``results/``."""
    return Store(RESULTS / benchmark, cell_type)


def run_benchmark(
    benchmark: str, study: Study[AnyCell], again: bool = True, columns: Sequence[str] | None = None
) -> list[Row]:
    """Run the cells of a study one at a time, print their rows as a table and return them.

    Ends the program where a cell fails, after the table, or where it is interrupted.

    Parameters
    ----------
    benchmark : str
        Name of the folder of results.
    study : Study
        At least one cell.
    again : bool, default=True
        Whether to measure the cells that have rows again.
    columns : sequence of str, optional
        What to print; by default all that was measured.
    """
    order = {cell: i for i, cell in enumerate(study.cells)}
    store = results(benchmark, type(study.cells[0]))
    code = run(study, store, again=again)
    if code > 1:
        sys.exit(code)
    rows = [row for row in store.read().where().rows if store.cell(row) in order]
    rows.sort(key=lambda row: order[store.cell(row)])
    print_table(rows, columns)
    if code:
        sys.exit(code)
    return rows


def print_command(benchmark: str) -> None:
    """Print the command that is being run: a table is of use with what made it."""
    print(f"\n{shlex.join(['python', '-m', f'benchmarks.{benchmark}', *sys.argv[1:]])}\n", flush=True)


def print_table(rows: Sequence[Row], columns: Sequence[str] | None = None) -> None:
    """Print rows as a table, by default with every column that has a value, but for the common ones."""
    if columns is None:
        filled = dict.fromkeys(name for row in rows for name, value in row.items() if value is not None)
        columns = [name for name in filled if name not in COMMON]
    texts = [[_text(row.get(name)) for name in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *texts, strict=True)]
    for line in [columns, *texts]:
        print("  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)))


def _text(value: Any) -> str:  # noqa: ANN401  any cell of a table
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
