"""Which rows can be compared: of the same splits, with the same number of draws."""

import math
import statistics
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from experiments.store import Results
from experiments.tables import AUTHORS

__all__ = ["by_draws", "by_method", "deviation", "on_shared_splits", "random_splits", "traced"]

Name = TypeVar("Name", bound=Hashable)


def random_splits(results: Results) -> Results:
    """Rows of random splits, over which means and deviations are: the authors' split has other rows."""
    return Results([row for row in results.rows if row["split"] != AUTHORS])


def traced(results: Results, suite: str, method: str = "sVBSSGP", gamma: float | None = 0.0) -> Results:
    """Rows of the traced runs; of sVBSSGP those with the most draws."""
    rows = random_splits(results.where(suite=suite, method=method, kind="trace"))
    if method == "sVBSSGP" and rows.rows:
        rows = rows.where(gamma=gamma, n_draws=max(rows.values("n_draws")))
    return rows


def by_method(results: Results, suite: str, methods: Iterable[str]) -> dict[str, Results]:
    """Traced runs of each method that has any, of the splits that all of these have."""
    return on_shared_splits({method: traced(results, suite, method) for method in methods})


def by_draws(results: Results, suite: str) -> dict[int, Results]:
    """Traced runs of sVBSSGP at gamma = 0 by the number of draws, of the splits that all numbers have."""
    rows = random_splits(results.where(suite=suite, method="sVBSSGP", kind="trace", gamma=0.0))
    return on_shared_splits({r: rows.where(n_draws=r) for r in sorted(set(rows.values("n_draws")))})


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
