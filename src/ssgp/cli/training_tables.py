"""The table a command fits a model to: read at once or, where it is too large for memory, in batches.

Both number the rows to use, those that have a target and a weight above zero, in the order of the table, and so hold
out and learn from the same.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.moments import Moments
from ssgp._utils.names import listed
from ssgp._utils.sampling import random_rows
from ssgp.cli.column_labels import ColumnLabels, held_out_groups, last_rows
from ssgp.cli.columns import ColumnRoles
from ssgp.cli.errors import CommandError, WrongUsage
from ssgp.cli.output import amount
from ssgp.cli.progress_display import Display
from ssgp.cli.targets import numeric_values
from ssgp.tables.arrow_columns import family
from ssgp.tables.batches import RowSelection
from ssgp.tables.files import BATCH_ROWS, TableSource

__all__ = ["LabelledRows", "StreamedTable", "TrainingTable", "WholeTable", "check_enough_rows"]

LEAST_ROWS = 2


@dataclass(frozen=True)
class LabelledRows:
    """Rows that have a target and a weight above zero.

    Attributes
    ----------
    table : pyarrow.Table
        Inputs of the n rows.
    y : array of shape (n,)
        Targets.
    weight : array of shape (n,) or None
        How many rows each row counts for; None where every row counts once.
    label : array of shape (n,) or None
        Numbers of their groups, or their times; None where they have none.
    """

    table: pa.Table
    y: Array
    weight: Array | None
    label: Array | None = None

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, chosen: Mask) -> "LabelledRows":
        weight, label = (None if part is None else part[chosen] for part in (self.weight, self.label))
        return LabelledRows(self.table.filter(pa.array(chosen)), self.y[chosen], weight, label)


class TrainingTable(Protocol):
    """What `ssgp fit` asks of a table.

    Attributes
    ----------
    target_holds : str
        What the target's column holds, in words.
    n_rows, n_missing, n_weightless : int
        Rows to use, rows whose target is missing, and rows with a target whose weight is zero.
    moments : Moments
        Mean and deviation of the training targets, once the model is fitted.
    """

    target_holds: str
    n_rows: int
    n_missing: int
    n_weightless: int
    moments: Moments

    @property
    def n_training(self) -> int:
        """Number of rows to learn from."""
        ...

    def fit(self, model: Any, display: Display, fit_options: dict[str, Any]) -> None:  # noqa: ANN401
        """Fit a regressor to the training rows; `fit_options` go to its fit."""
        ...

    def held_out(self) -> Iterator[LabelledRows]:
        """Rows held out of training, to score the model on, in batches."""
        ...


class WholeTable:
    """A table in memory."""

    def __init__(
        self, source: TableSource, roles: ColumnRoles, hold_out: float, seed: int, dates: str = "auto"
    ) -> None:
        table = source.read(roles.used)
        if not table.num_rows:
            raise CommandError(f"{source.name!r} has no rows, only names of columns: {listed(table.column_names)}")
        self.target_holds = family(table.schema.field(roles.target).type)
        weights = _WeightCheck(roles.weight)
        weights.add(table, np.isfinite(numeric_values(table[roles.target], roles.target)))
        weights.raise_if_invalid()
        self._labels = ColumnLabels(roles, dates)
        _look_at_labels(self._labels, table, roles)
        self._labels.raise_if_unusable()
        rows, self.n_missing = _labelled_rows(table, roles, self._labels)
        self.n_rows = len(rows)
        self.n_weightless = table.num_rows - self.n_rows - self.n_missing
        check_enough_rows(self.n_rows, table.num_rows, roles, source)
        held_out = np.zeros(self.n_rows, dtype=bool)
        held_out[_draw_held_out(self.n_rows, hold_out, seed, self._labels, rows.label)] = True
        self._training, self._held_out = rows[~held_out] if held_out.any() else rows, rows[held_out]
        self.moments = Moments()
        self.moments.add(self._training.y, self._training.weight)

    @property
    def n_training(self) -> int:
        """Number of rows to learn from."""
        return len(self._training)

    def fit(self, model: Any, display: Display, fit_options: dict[str, Any]) -> None:  # noqa: ANN401
        """Fit a regressor to the training rows."""
        rows = self._training
        options = {} if rows.weight is None else {"sample_weight": rows.weight}
        if self._labels.kind is not None and rows.label is not None:
            options[self._labels.kind] = rows.label
        model.fit(rows.table, rows.y, **options, **fit_options)

    def held_out(self) -> Iterator[LabelledRows]:
        """Rows held out of training, to score the model on, in batches."""
        rows = self._held_out
        for start in range(0, len(rows), BATCH_ROWS):
            batch = slice(start, start + BATCH_ROWS)
            weight = None if rows.weight is None else rows.weight[batch]
            yield LabelledRows(rows.table.slice(start, BATCH_ROWS), rows.y[batch], weight)


class StreamedTable:
    """A table that is read in batches, three times, or four with rows held out."""

    def __init__(
        self,
        source: TableSource,
        roles: ColumnRoles,
        hold_out: float,
        seed: int,
        display: Display,
        categories: Collection[str] = (),
        dates: str = "auto",
    ) -> None:
        schema = source.schema(roles.used)
        # A column of whole numbers, or of nothing, may have others further on; but numbers that name things stay whole.
        names = {*categories, roles.group}
        numbers = [field.name for field in schema if _may_need_floats(field.type) and field.name not in names]
        types = dict.fromkeys(numbers, pa.float64())
        self._source, self._roles = source.with_types(types), roles
        self.target_holds = family(schema.field(roles.target).type)
        self.moments = Moments()
        self._labels = ColumnLabels(roles, dates)
        self.n_rows, self.n_missing, self.n_weightless, label = self._count(display, bool(hold_out))
        check_enough_rows(self.n_rows, self._n_table_rows, roles, source)
        self._held_out_rows = np.sort(_draw_held_out(self.n_rows, hold_out, seed, self._labels, label))

    @property
    def n_training(self) -> int:
        """Number of rows to learn from."""
        return self.n_rows - len(self._held_out_rows)

    @property
    def _n_table_rows(self) -> int:
        return self.n_rows + self.n_missing + self.n_weightless

    def fit(self, model: Any, display: Display, fit_options: dict[str, Any]) -> None:  # noqa: ANN401
        """Fit a regressor to the training rows, in batches, its encoder to a sample of them."""
        model.fit_batches(lambda: self._training_batches(display), n_rows=self.n_training, **fit_options)

    def held_out(self) -> Iterator[LabelledRows]:
        """Rows held out of training, to score the model on, in batches."""
        for rows, held_out in self._batches(None):
            if held_out.any():
                yield rows[held_out]

    def _count(self, display: Display, keeping: bool) -> tuple[int, int, int, Array | None]:
        """Number of rows to use, of rows whose target is missing, and of rows whose weight is zero; kept labels."""
        n_read, n_missing, kept = 0, 0, list[Array]()
        target, weights = self._roles.target, _WeightCheck(self._roles.weight)
        for table in self._source.batches(replace(self._roles, features=[]).used):
            row_has_target = np.isfinite(numeric_values(table[target], target))
            weights.add(table, row_has_target)
            label = _look_at_labels(self._labels, table, self._roles)
            kept += [label] if keeping and label is not None else []
            n_read, n_missing = n_read + table.num_rows, n_missing + int((~row_has_target).sum())
            display("row", n_read, self._source.n_rows)
        weights.raise_if_invalid()
        self._labels.raise_if_unusable()
        n_used = n_read - n_missing - weights.n_zero
        return n_used, n_missing, weights.n_zero, np.concatenate(kept) if kept else None

    def _batches(self, display: Display | None) -> Iterator[tuple[LabelledRows, Mask]]:
        """Rows to use, batch by batch, and which of them are held out."""
        selection, n_read = RowSelection(self._held_out_rows), 0
        for table in self._source.batches(self._roles.used):
            rows, _ = _labelled_rows(table, self._roles, self._labels)
            yield rows, selection.next_batch(len(rows))
            n_read += table.num_rows
            if display is not None:
                display("row", n_read, self._n_table_rows)

    def _training_batches(self, display: Display) -> Iterator[tuple[Any, ...]]:
        """Rows to learn from, batch by batch; once all are read, `moments` are those of their targets."""
        moments = Moments()
        for rows, held_out in self._batches(display):
            training = rows[~held_out] if held_out.any() else rows
            moments.add(training.y, training.weight)
            groups = (training.label,) if self._labels.kind == "groups" else ()
            time = (None, training.label) if self._labels.kind == "time" else ()
            yield training.table, training.y, training.weight, *groups, *time
        self.moments = moments


def _may_need_floats(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_null(kind)


def _labelled_rows(table: pa.Table, roles: ColumnRoles, labels: ColumnLabels) -> tuple[LabelledRows, int]:
    """Rows to use, and the number of those whose target is missing."""
    y = numeric_values(table[roles.target], roles.target)
    row_has_target = np.isfinite(y)
    if not row_has_target.all():
        table, y = table.filter(pa.array(row_has_target)), y[row_has_target]
    weight = None if roles.weight is None else numeric_values(table[roles.weight], roles.weight, "the weight")
    rows = LabelledRows(table.select(roles.features), y, weight, labels.of(table))
    n_missing = int((~row_has_target).sum())
    return (rows, n_missing) if weight is None or (weight > 0).all() else (rows[weight > 0], n_missing)


def _look_at_labels(labels: ColumnLabels, table: pa.Table, roles: ColumnRoles) -> Array | None:
    """Labels of the rows to use of a batch, those with a target and a weight above zero; None where there are none."""
    if labels.kind is None:
        return None
    used = np.isfinite(numeric_values(table[roles.target], roles.target))
    if roles.weight is not None:
        used[used] = numeric_values(table[roles.weight].filter(pa.array(used)), roles.weight, "the weight") > 0
    return labels.add(table, used)


class _WeightCheck:
    """Weights of rows with a target, over all batches of a table: how many are zero, and how many are invalid.

    Attributes
    ----------
    n_zero : int
        Number of rows whose weight is zero.
    """

    def __init__(self, name: str | None) -> None:
        self._name, self.n_zero = name, 0
        self._n_rows = self._n_with_target = self._n_invalid = 0
        self._first_invalid: int | None = None

    def add(self, table: pa.Table, row_has_target: Mask) -> None:
        """Look at the next rows of the table."""
        if self._name is None:
            return
        weight = numeric_values(table[self._name].filter(pa.array(row_has_target)), self._name, "the weight")
        invalid = np.flatnonzero(row_has_target)[~((weight >= 0) & np.isfinite(weight))]
        if len(invalid) and self._first_invalid is None:
            self._first_invalid = self._n_rows + int(invalid[0])
        self._n_rows, self._n_with_target = self._n_rows + table.num_rows, self._n_with_target + len(weight)
        self._n_invalid, self.n_zero = self._n_invalid + len(invalid), self.n_zero + int((weight == 0).sum())

    def raise_if_invalid(self) -> None:
        """Raise an error that counts the invalid weights, if there are any."""
        if self._first_invalid is not None:
            raise CommandError(
                f"column {self._name!r} cannot be the weight: it is missing, negative or infinite in "
                f"{self._n_invalid:,} of {amount(self._n_with_target, 'row')}, the first in row "
                f"{self._first_invalid + 1:,} of the table"
            )


def check_enough_rows(n_rows: int, n_table_rows: int, roles: ColumnRoles, source: TableSource) -> None:
    """Refuse a table of too few rows to learn from."""
    if n_rows < LEAST_ROWS:
        with_weight = "" if roles.weight is None else f" and the weight {roles.weight!r} is not zero"
        raise CommandError(
            f"{source.name!r} has {amount(n_rows, 'row')} in which the target {roles.target!r} is known{with_weight}, "
            f"of {n_table_rows:,}; at least {LEAST_ROWS} are needed"
        )


def _draw_held_out(n_rows: int, share: float, seed: int, labels: ColumnLabels, label: Array | None) -> Indices:
    """Numbers of the rows to hold out: random ones, those of random groups, or the last in time."""
    if not share:
        return np.empty(0, np.int64)
    n_held_out = round(share * n_rows)
    if not 0 < n_held_out <= n_rows - LEAST_ROWS:
        raise WrongUsage(f"--hold-out: {share:g} of {amount(n_rows, 'row')} leaves too few on one side")
    if label is None:
        return random_rows(n_rows, n_held_out, seed)
    return last_rows(label, n_held_out) if labels.kind == "time" else held_out_groups(label, n_held_out, seed)
