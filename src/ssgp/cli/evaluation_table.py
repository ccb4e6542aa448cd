"""A table that a saved model is judged by."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ssgp._utils.arrays import Array
from ssgp.cli.columns import check_column
from ssgp.cli.errors import CommandError, WrongUsage
from ssgp.cli.predictor import Predictor
from ssgp.cli.targets import target_of
from ssgp.tables.files import TableSource, check_columns, open_table
from ssgp.tables.row_sample import RowSample

__all__ = ["JudgedTable", "open_judged"]


@dataclass(frozen=True)
class JudgedTable:
    """A table with a target, read as it was in fit.

    Attributes
    ----------
    source : TableSource
        The table.
    target : str
        Name of its target.
    """

    source: TableSource
    target: str

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[pa.Table, Array, int]]:
        """Rows whose target is known, some at a time; their targets; and how many others there were among them."""
        for batch in self.source.batches(list(dict.fromkeys([*columns, self.target]))):
            y = target_of(batch[self.target], self.target)
            known = np.isfinite(y)
            yield batch.filter(pa.array(known)), y[known], int((~known).sum())

    def draw(self, columns: Sequence[str], max_rows: int) -> tuple[pa.Table, Array, int, int]:
        """Some rows whose target is known, drawn at random; their targets; how many are known, and how many not."""
        sample, n_missing = RowSample(max_rows), 0
        for rows, _, n_without in self.batches(columns):
            sample.add(rows)
            n_missing += n_without
        self.check_count(sample.n_seen)
        return sample.table, target_of(sample.table[self.target], self.target), sample.n_seen, n_missing

    def check_count(self, n_known: int) -> None:
        """Raise if there is nothing to judge by."""
        if not n_known:
            raise CommandError(f"{self.source.name!r} has no row in which the target {self.target!r} is known")


def open_judged(predictor: Predictor, model: str, data: str, target: str | None) -> JudgedTable:
    """The table in the file `data`; `model` is the model's file."""
    source = open_table(data)
    name = target or predictor.notes.target
    if name is None:
        raise WrongUsage(f"--target: {model!r} does not say what it predicts; give the name of the column")
    check_column("--target", name, source.column_names)
    check_columns(predictor.inputs, source.column_names, f"{data!r} lacks a column that the model needs:")
    return JudgedTable(predictor.typed(source, name), name)
