"""Random rows of a table that is read in batches."""

import numpy as np
import pyarrow as pa

from ssgp._utils.arrays import Array

__all__ = ["RowSample"]


class RowSample:
    """A random sample of rows, every choice of them equally probable, in the order of the table.

    Every row draws a number, and those with the smallest stay: no more than the sample and one batch are in memory.

    Parameters
    ----------
    max_rows : int
        Most rows to keep.
    random_state : int, default=0
        Seed: the same rows in the same order give the same sample, in batches of any size.

    Attributes
    ----------
    n_seen : int
        Number of rows that were added so far.
    """

    def __init__(self, max_rows: int, random_state: int = 0) -> None:
        self.n_seen = 0
        self._max_rows, self._rng = max_rows, np.random.default_rng(random_state)
        self._sample: pa.Table | None = None
        self._draws: Array = np.empty(0)

    def add(self, batch: pa.Table) -> None:
        """Add the next rows of the table."""
        self.n_seen += batch.num_rows
        draws = np.concatenate([self._draws, self._rng.random(batch.num_rows)])
        table = batch if self._sample is None else pa.concat_tables([self._sample, batch], promote_options="permissive")
        if len(draws) > self._max_rows:
            smallest = np.sort(np.argpartition(draws, self._max_rows)[: self._max_rows])
            draws, table = draws[smallest], table.take(smallest)
        self._sample, self._draws = table, draws

    @property
    def table(self) -> pa.Table:
        """The sample; an error where no rows were added."""
        if self._sample is None:
            raise ValueError("no rows were added, of which some could be drawn")
        return self._sample
