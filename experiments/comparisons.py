"""Which rows can be compared: of the same splits, with the same number of draws."""

import math
import statistics
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from experiments.store import Results
from experiments.tables import AUTHORS
from experiments.update_rule import RULES

__all__ = [
    "WITHOUT_BLOCKS",
    "by_draws",
    "by_method",
    "deviation",
    "draws_of",
    "ended",
    "on_shared_splits",
    "random_splits",
    "seen",
    "traced",
]

# Where the methods of a protocol that its blocks do not touch were run, on the same rows.
ELSEWHERE = {"aimpeak-inputs": "aimpeak-joint", "airline-joint": "airline", "airline-inputs": "airline"}
WITHOUT_BLOCKS = ("DTC+", "VSSGP", "SSGP")

Name = TypeVar("Name", bound=Hashable)


def random_splits(results: Results) -> Results:
    """Rows of random splits, over which means and deviations are: the authors' split has other rows."""
    return Results([row for row in results.rows if row["split"] != AUTHORS])


def traced(results: Results, suite: str, method: str = "sVBSSGP", gamma: float | None = 0.0) -> Results:
    """Rows of the traced runs; of methods that average draws those with the most of them."""
    rows = random_splits(results.where(suite=suite, method=method, kind="trace"))
    if (method == "sVBSSGP" or method in RULES) and rows.rows:
        rows = rows.where(gamma=gamma, n_draws=max(rows.values("n_draws")))
    return rows


def by_method(results: Results, suite: str, methods: Iterable[str]) -> dict[str, Results]:
    """Traced runs of each method that has any, of the splits that all of these have."""
    return on_shared_splits({method: traced(results, suite, method) for method in methods})


def by_draws(results: Results, suite: str) -> dict[int, Results]:
    """Traced runs of sVBSSGP at gamma = 0 by the number of draws, of the splits that all numbers have."""
    return on_shared_splits(draws_of(results, suite, "sVBSSGP"))


def draws_of(results: Results, suite: str, method: str) -> dict[int, Results]:
    """Traced runs of a method at gamma = 0 by the number of draws."""
    rows = random_splits(results.where(suite=suite, method=method, kind="trace", gamma=0.0))
    return {r: rows.where(n_draws=r) for r in sorted(set(rows.values("n_draws")))}


def seen(results: Results, suite: str, method: str) -> Results:
    """Rows of a method under a protocol: those of another suite on the same rows where blocks make no difference.

    PIC+, which takes long, is that of the evaluation where a protocol has none: its blocks are of training inputs.
    """
    rows = results.where(suite=suite, method=method)
    elsewhere = (*WITHOUT_BLOCKS, "PIC+") if suite == "airline-inputs" else WITHOUT_BLOCKS
    if rows.rows or suite not in ELSEWHERE or method not in elsewhere:
        return rows
    splits = set(results.where(suite=suite).values("split"))
    rows = results.where(suite=ELSEWHERE[suite], method=method)
    return Results([row for row in rows.rows if row["split"] in splits])


def ended(results: Results, suite: str, method: str) -> Results:
    """Where a method ended: its run to convergence, or, where it has none, the end of its traced run.

    The authors' updates end with their thirtieth step either way.
    """
    rows = seen(results, suite, method)
    if method in RULES:
        return _at_the_end(rows.where(kind="trace")).where(gamma=0.0)
    last = rows.where(kind="converged")
    last = last if last.rows else _at_the_end(rows)
    return last.where(gamma=0.0) if method == "sVBSSGP" else last


def _at_the_end(rows: Results) -> Results:
    """Rows of the last iteration, with the most draws."""
    if not rows.rows:
        return rows
    return rows.where(iteration=max(rows.values("iteration")), n_draws=max(rows.values("n_draws")))


def on_shared_splits(groups: dict[Name, Results]) -> dict[Name, Results]:
    """Groups that have rows, each with those of the splits that all of them have: nothing if there are none."""
    run = {name: rows for name, rows in groups.items() if rows.rows}
    shared = set.intersection(*(set(rows.values("split")) for rows in run.values())) if run else set()
    if not shared:
        return {}
    return {name: Results([row for row in rows.rows if row["split"] in shared]) for name, rows in run.items()}


def deviation(values: Sequence[float]) -> float:
    """Deviation over splits, estimated from a sample of them; nan for one, which says nothing of it."""
    return statistics.stdev(values) if len(values) > 1 else math.nan
