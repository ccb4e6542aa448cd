"""A table that a saved model is evaluated on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ssgp._utils.arrays import Array
from ssgp.cli.columns import check_column
from ssgp.cli.errors import CommandError, WrongUsage
from ssgp.cli.output import Output
from ssgp.cli.predictor import Predictor
from ssgp.cli.table_text import open_like_training
from ssgp.cli.targets import numeric_values
from ssgp.tables.csv_text import CsvText
from ssgp.tables.files import TableSource, check_columns
from ssgp.tables.row_sample import RowSample

__all__ = ["EvaluationTable", "Sample", "open_evaluation_table"]


@dataclass(frozen=True)
class Sample:
    """Random rows that have a target.

    Attributes
    ----------
    table : pyarrow.Table
        The n rows.
    y : array of shape (n,)
        Targets.
    n_with_target, n_missing : int
        Rows of the whole table that have a target, and rows whose target is missing.
    """

    table: pa.Table
    y: Array
    n_with_target: int
    n_missing: int


@dataclass(frozen=True)
class EvaluationTable:
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
        """Rows that have a target, batch by batch; their targets; and the number of rows that have none."""
        for batch in self.source.batches(list(dict.fromkeys([*columns, self.target]))):
            y = numeric_values(batch[self.target], self.target)
            row_has_target = np.isfinite(y)
            yield batch.filter(pa.array(row_has_target)), y[row_has_target], int((~row_has_target).sum())

    def sample(self, columns: Sequence[str], max_rows: int) -> Sample:
        """Draw at most `max_rows` of the rows that have a target."""
        rows, n_missing = RowSample(max_rows), 0
        for table, _, n_missing_in_batch in self.batches(columns):
            rows.add(table)
            n_missing += n_missing_in_batch
        self.check_not_empty(rows.n_seen)
        return Sample(rows.table, numeric_values(rows.table[self.target], self.target), rows.n_seen, n_missing)

    def check_not_empty(self, n_with_target: int) -> None:
        """Raise if no row has a target."""
        if not n_with_target:
            raise CommandError(f"{self.source.name!r} has no row in which the target {self.target!r} is known")


def open_evaluation_table(
    predictor: Predictor, model: str, data: str, text: CsvText, target: str | None, output: Output
) -> EvaluationTable:
    """The table in the file `data`; `model` is the model's file."""
    source = open_like_training(data, text, predictor.notes, output)
    name = target or predictor.notes.target
    if name is None:
        raise WrongUsage(f"--target: {model!r} does not say what it predicts; give the name of the column")
    check_column("--target", name, source.column_names)
    check_columns(predictor.inputs, source.column_names, f"{data!r} lacks a column that the model needs:")
    return EvaluationTable(predictor.with_fitted_types(source, name), name)
