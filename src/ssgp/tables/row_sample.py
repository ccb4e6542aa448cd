"""Rows drawn at random from a table that is read some rows at a time."""

import numpy as np
import pyarrow as pa

from ssgp._utils.arrays import Array

__all__ = ["RowSample"]


class RowSample:
    """At most so many rows, every choice of them equally probable, in the order they came in.

    Every row draws a number, and those with the smallest stay: no more than the sample and one batch are in memory.

    Parameters
    ----------
    max_rows : int
        Rows to keep.
    random_state : int, default=0
        Seed: the same rows in the same order give the same sample, in batches of any size.

    Attributes
    ----------
    n_seen : int
        Rows so far.
    """

    def __init__(self, max_rows: int, random_state: int = 0) -> None:
        self.n_seen = 0
        self._max_rows, self._rng = max_rows, np.random.default_rng(random_state)
        self._kept: pa.Table | None = None
        self._drawn: Array = np.empty(0)

    def add(self, batch: pa.Table) -> None:
        """More rows."""
        self.n_seen += batch.num_rows
        drawn = np.concatenate([self._drawn, self._rng.random(batch.num_rows)])
        table = batch if self._kept is None else pa.concat_tables([self._kept, batch], promote_options="permissive")
        if len(drawn) > self._max_rows:
            chosen = np.sort(np.argpartition(drawn, self._max_rows)[: self._max_rows])
            drawn, table = drawn[chosen], table.take(chosen)
        self._kept, self._drawn = table, drawn

    @property
    def table(self) -> pa.Table:
        """The rows that were drawn; there have to be some."""
        if self._kept is None:
            raise ValueError("no rows were added, of which some could be drawn")
        return self._kept
