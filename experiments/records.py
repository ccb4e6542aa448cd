"""Rows of the paper's evaluation in their store, with those of earlier versions completed."""

from pathlib import Path

from experiments.store import Results, Store
from experiments.study import Row
from experiments.suites import Fit
from experiments.tables import seed_of

__all__ = ["open_store", "whole_or_quick"]

# Most steps that methods could take before rows told whether they had stopped by themselves.
FORMER_LIMITS = (40, 200, 1500, 3000, 5000)


def open_store(folder: Path) -> Store[Fit]:
    """The store of the evaluation in a folder."""
    return Store(folder, Fit, complete)


def complete(row: Row) -> Row:
    """A row with what earlier versions did not write; one without errors of predictions is one of a failure."""
    filled = {**row, "quick": bool(row.get("quick"))}
    if row.get("seed") is None:
        filled["seed"] = seed_of(row["split"])
    if row.get("converged") is None:
        filled["converged"] = row["kind"] == "converged" and row.get("steps") not in (None, *FORMER_LIMITS)
    if row["error"] is None and (row.get("rmse") is None or row.get("mnlp") is None):
        filled["error"] = "there are no results in its file"
    return filled


def whole_or_quick(results: Results, quick: bool | None = None) -> Results:
    """Rows of reduced suites, or of whole ones; by default of whole ones where there are any."""
    if quick is None:
        quick = all(row["quick"] for row in results.rows)
    return Results([row for row in results.rows if row["quick"] == quick])
