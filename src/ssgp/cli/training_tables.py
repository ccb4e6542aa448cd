"""The table a command fits a model to: read at once or, where it is too large for memory, in parts.

Both number the rows that count, those whose target is known and whose weight is not zero, in the order of the table,
and so hold out and learn from the same.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from sklearn.pipeline import Pipeline

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.names import listed
from ssgp._utils.sampling import random_rows
from ssgp.cli.columns import ColumnRoles
from ssgp.cli.errors import CommandError, WrongUsage
from ssgp.cli.moments import Moments
from ssgp.cli.output import amount
from ssgp.cli.progress_display import Display
from ssgp.cli.targets import target_of
from ssgp.tables.arrow_columns import family
from ssgp.tables.encoder import TableEncoder
from ssgp.tables.files import BATCH_ROWS, TableSource

__all__ = ["Part", "StreamedTable", "TrainingTable", "WholeTable"]


LEAST_ROWS = 2


@dataclass(frozen=True)
class Part:
    """Rows that count: inputs, targets and weights."""

    table: pa.Table
    y: Array
    weight: Array | None

    def __getitem__(self, chosen: Mask) -> "Part":
        """Some of them."""
        weight = None if self.weight is None else self.weight[chosen]
        return Part(self.table.filter(pa.array(chosen)), self.y[chosen], weight)


class TrainingTable(Protocol):
    """What `ssgp fit` asks of a table.

    Attributes
    ----------
    target_holds : str
        What the target's column holds, in words.
    n_rows, n_missing, n_weightless : int
        Rows that count, those whose target is missing, and others whose weight is zero.
    moments : Moments
        Of the targets that are learned from, once the model is fitted.
    """

    target_holds: str
    n_rows: int
    n_missing: int
    n_weightless: int
    moments: Moments

    @property
    def n_learned(self) -> int:
        """Rows to learn from."""
        ...

    def fit(self, model: Pipeline, display: Display, extra: dict[str, Any]) -> None:
        """Fit encoder and regressor to the rows to learn from; `extra` goes to the regressor's fit."""
        ...

    def held_out(self) -> Iterator[Part]:
        """Rows to judge by."""
        ...


class WholeTable:
    """A table in memory."""

    def __init__(self, source: TableSource, roles: ColumnRoles, hold_out: float, seed: int) -> None:
        rows = source.read(roles.used)
        if not rows.num_rows:
            raise CommandError(f"{source.name!r} has no rows, only names of columns: {listed(rows.column_names)}")
        self.target_holds = family(rows.schema.field(roles.target).type)
        check = _WeightCheck(roles.weight)
        check.add(rows, np.isfinite(target_of(rows[roles.target], roles.target)))
        check.close()
        part, self.n_missing = _known(rows, roles)
        self.n_rows = len(part.y)
        self.n_weightless = rows.num_rows - self.n_rows - self.n_missing
        _check_enough(self.n_rows, rows.num_rows, roles, source)
        held = np.zeros(self.n_rows, dtype=bool)
        held[_held_out(self.n_rows, hold_out, seed)] = True
        self._learned, self._held = (part[~held], part[held]) if held.any() else (part, part[held])
        self.moments = Moments()
        self.moments.add(self._learned.y, self._learned.weight)

    @property
    def n_learned(self) -> int:
        """Rows to learn from."""
        return len(self._learned.y)

    def fit(self, model: Pipeline, display: Display, extra: dict[str, Any]) -> None:
        """Fit encoder and regressor to the rows to learn from."""
        rows = self._learned
        given = extra if rows.weight is None else {"sample_weight": rows.weight, **extra}
        model.fit(rows.table, rows.y, **{f"regressor__{name}": value for name, value in given.items()})

    def held_out(self) -> Iterator[Part]:
        """Rows to judge by."""
        rows = self._held
        for start in range(0, len(rows.y), BATCH_ROWS):
            own = slice(start, start + BATCH_ROWS)
            weight = None if rows.weight is None else rows.weight[own]
            yield Part(rows.table.slice(start, BATCH_ROWS), rows.y[own], weight)


class StreamedTable:
    """A table that is read in parts, three times, or four with rows held out."""

    def __init__(
        self,
        source: TableSource,
        roles: ColumnRoles,
        hold_out: float,
        seed: int,
        display: Display,
        categories: Collection[str] = (),
    ) -> None:
        schema = source.schema(roles.used)
        # A column of whole numbers, or of nothing, may have others further on; but numbers that name things stay whole.
        numbers = [field.name for field in schema if _may_be_others(field.type) and field.name not in categories]
        types = dict.fromkeys(numbers, pa.float64())
        self._source, self._roles = source.with_types(types), roles
        self.target_holds = family(schema.field(roles.target).type)
        self.moments = Moments()
        self.n_rows, self.n_missing, self.n_weightless = self._count(display)
        _check_enough(self.n_rows, self._n_all, roles, source)
        self._held = np.sort(_held_out(self.n_rows, hold_out, seed))

    @property
    def n_learned(self) -> int:
        """Rows to learn from."""
        return self.n_rows - len(self._held)

    @property
    def _n_all(self) -> int:
        return self.n_rows + self.n_missing + self.n_weightless

    def fit(self, model: Pipeline, display: Display, extra: dict[str, Any]) -> None:
        """Fit the encoder to a sample of the rows to learn from, the regressor to all, in batches."""
        encoder, regressor = (step for _, step in model.steps)
        some = encoder.sampled_rows(self.n_learned)
        regressor.fit_batches(self._batches(encoder, some, self._fit_encoder(encoder, some, display), display), **extra)

    def _fit_encoder(self, encoder: TableEncoder, some: Indices, display: Display) -> Array:
        """Fit it to some rows, and return what it makes of them."""
        sample = _joined([part[chosen] for part, chosen in _marked(self._learned(display), some) if chosen.any()])
        return encoder.fit_transform(sample.table, sample.y)

    def held_out(self) -> Iterator[Part]:
        """Rows to judge by."""
        for part, held in _marked(self._parts(None), self._held):
            if held.any():
                yield part[held]

    def _count(self, display: Display) -> tuple[int, int, int]:
        """Rows that count, those whose target is missing, and those whose weight is zero."""
        done = missing = 0
        target, check = self._roles.target, _WeightCheck(self._roles.weight)
        for rows in self._source.batches([name for name in (target, self._roles.weight) if name is not None]):
            present = np.isfinite(target_of(rows[target], target))
            check.add(rows, present)
            done, missing = done + rows.num_rows, missing + int((~present).sum())
            display("row", done, self._source.n_rows)
        check.close()
        return done - missing - check.n_zero, missing, check.n_zero

    def _parts(self, display: Display | None) -> Iterator[Part]:
        done = 0
        for rows in self._source.batches(self._roles.used):
            yield _known(rows, self._roles)[0]
            done += rows.num_rows
            if display is not None:
                display("row", done, self._n_all)

    def _learned(self, display: Display) -> Iterator[Part]:
        for part, held in _marked(self._parts(display), self._held):
            yield part[~held] if held.any() else part

    def _batches(
        self, encoder: TableEncoder, some: Indices, encoded: Array, display: Display
    ) -> Iterator[tuple[Array, Array, Array | None]]:
        """All rows to learn from, those of the sample as they were cross-fitted."""
        done = 0
        for part, chosen in _marked(self._learned(display), some):
            if not len(part.y):
                continue
            X, n_chosen = encoder.transform(part.table), int(chosen.sum())
            X[chosen] = encoded[done : done + n_chosen]
            done += n_chosen
            self.moments.add(part.y, part.weight)
            yield X, part.y, part.weight


def _may_be_others(found: pa.DataType) -> bool:
    return pa.types.is_integer(found) or pa.types.is_null(found)


def _known(rows: pa.Table, roles: ColumnRoles) -> tuple[Part, int]:
    """Rows that count, and how many there are whose target is missing."""
    y = target_of(rows[roles.target], roles.target)
    known = np.isfinite(y)
    if not known.all():
        rows, y = rows.filter(pa.array(known)), y[known]
    weight = None if roles.weight is None else target_of(rows[roles.weight], roles.weight, "the weight")
    part = Part(rows.select(roles.features), y, weight)
    counts = None if weight is None else weight > 0
    return part if counts is None or counts.all() else part[counts], int((~known).sum())


class _WeightCheck:
    """Weights of rows whose target is known that cannot be used, or are zero, counted over all parts of a table."""

    def __init__(self, name: str | None) -> None:
        self._name, self.n_zero = name, 0
        self._n_rows = self._n_known = self._n_faults = 0
        self._first: int | None = None

    def add(self, rows: pa.Table, known: Mask) -> None:
        """Look at the next rows of the table."""
        if self._name is None:
            return
        weight = target_of(rows[self._name].filter(pa.array(known)), self._name, "the weight")
        faults = np.flatnonzero(known)[~(weight >= 0)]
        if len(faults) and self._first is None:
            self._first = self._n_rows + int(faults[0])
        self._n_rows, self._n_known = self._n_rows + rows.num_rows, self._n_known + len(weight)
        self._n_faults, self.n_zero = self._n_faults + len(faults), self.n_zero + int((weight == 0).sum())

    def close(self) -> None:
        """Raise if there are any."""
        if self._first is not None:
            raise CommandError(
                f"column {self._name!r} cannot be the weight: it is missing or negative in {self._n_faults:,} of "
                f"{amount(self._n_known, 'row')}, the first in row {self._first + 1:,} of the table"
            )


def _check_enough(n_rows: int, n_all: int, roles: ColumnRoles, source: TableSource) -> None:
    if n_rows < LEAST_ROWS:
        counts = "" if roles.weight is None else f" and the weight {roles.weight!r} is not zero"
        raise CommandError(
            f"{source.name!r} has {amount(n_rows, 'row')} in which the target {roles.target!r} is known{counts}, "
            f"of {n_all:,}; at least {LEAST_ROWS} are needed"
        )


def _held_out(n_rows: int, share: float, seed: int) -> Indices:
    """Numbers of the rows to judge by."""
    if not share:
        return np.empty(0, np.int64)
    n_held = round(share * n_rows)
    if not 0 < n_held <= n_rows - LEAST_ROWS:
        raise WrongUsage(f"--hold-out: {share:g} of {amount(n_rows, 'row')} leaves too few on one side")
    return random_rows(n_rows, n_held, seed)


def _marked(parts: Iterator[Part], numbers: Indices) -> Iterator[tuple[Part, Mask]]:
    """Parts, and which of their rows have one of these numbers, ascending, counted over all parts."""
    start = 0
    for part in parts:
        first, last = np.searchsorted(numbers, [start, start + len(part.y)])
        chosen = np.zeros(len(part.y), dtype=bool)
        chosen[numbers[first:last] - start] = True
        start += len(part.y)
        yield part, chosen


def _joined(parts: list[Part]) -> Part:
    table = pa.concat_tables([part.table for part in parts], promote_options="permissive")
    weights = [part.weight for part in parts if part.weight is not None]
    return Part(table, np.concatenate([part.y for part in parts]), np.concatenate(weights) if weights else None)
