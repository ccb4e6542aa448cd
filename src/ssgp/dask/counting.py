"""What is known of a table's targets before it is fitted: a pass over one column, or two with the weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from distributed import Client

from ssgp._utils.moments import Moments
from ssgp.dask.blocks import RowGroups
from ssgp.dask.sources import TargetColumns, parquet_blocks
from ssgp.dask.tasks import tasks_of
from ssgp.dask.workers import MAX_WAIT

__all__ = ["TargetCounts", "count_targets"]

# Rows of which the targets are read by one task, in bytes.
MOST_BLOCK_BYTES = 1 << 28


@dataclass
class TargetCounts:
    """Numbers of rows, and moments of their targets.

    Attributes
    ----------
    n_rows, n_missing, n_weightless : int
        Rows with a target and a weight above zero, rows without a target, and rows with one whose weight is zero.
    moments : Moments
        Mean and deviation of the targets of the first.
    """

    n_rows: int = 0
    n_missing: int = 0
    n_weightless: int = 0
    moments: Moments = field(default_factory=Moments)

    def add(self, others: "TargetCounts") -> None:
        """Add the rows of others."""
        self.n_rows += others.n_rows
        self.n_missing += others.n_missing
        self.n_weightless += others.n_weightless
        self.moments.add_all(others.moments)

    @property
    def n_read(self) -> int:
        """Number of all rows."""
        return self.n_rows + self.n_missing + self.n_weightless


def count_targets(
    paths: Sequence[str],
    columns: TargetColumns,
    client: Client | None,
    after: Callable[[int, int], Any] = lambda done, total: None,
    max_wait: float | None = MAX_WAIT,
) -> TargetCounts:
    """Counts of Parquet files; `after` is called with the number of rows that were read, and of all."""
    found = TargetCounts()
    with tasks_of(client, max_wait) as tasks:
        blocks = parquet_blocks(paths, replace(columns, features=()), tasks, MOST_BLOCK_BYTES)
        total, n_read = sum(block.n_rows for block in blocks), 0

        def tell(counts: TargetCounts) -> None:
            nonlocal n_read
            n_read += counts.n_read
            after(n_read, total)

        after(0, total)
        for counts in tasks.run([tasks.call("targets", _counts, block) for block in blocks], tell):
            found.add(counts)
    return found


def _counts(block: RowGroups) -> TargetCounts:
    counts = TargetCounts()
    for y, weight in block.labels():
        known = np.isfinite(y)
        # Weights that are no numbers count here, and are an error of the fit.
        used = known if weight is None else known & (weight != 0)
        counts.n_rows += int(used.sum())
        counts.n_missing += int((~known).sum())
        counts.n_weightless += int((known & ~used).sum())
        if weight is None or np.isfinite(weight[used]).all():
            counts.moments.add(y[used], None if weight is None else weight[used])
    return counts
