"""Columns that say which rows are held out together: groups, or times of which the last are held out."""

from typing import Any, Literal

import numpy as np
import pyarrow as pa

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.checks import GroupNumbers
from ssgp.cli.columns import ColumnRoles
from ssgp.cli.errors import CommandError, WrongUsage
from ssgp.cli.output import amount
from ssgp.tables.arrow_columns import texts
from ssgp.tables.row_times import row_times

__all__ = ["ColumnLabels", "held_out_groups", "last_rows"]


class ColumnLabels:
    """Labels of a table's rows as numbers, over all of its batches.

    Parameters
    ----------
    roles : ColumnRoles
        Which column has them, if any.
    dates : str
        How dates are read.

    Attributes
    ----------
    kind : "groups", "time" or None
        What they are; None where there are none.
    """

    def __init__(self, roles: ColumnRoles, dates: str) -> None:
        self.kind: Literal["groups", "time"] | None = "groups" if roles.group else "time" if roles.time else None
        self._name, self._dates = roles.group or roles.time or "", dates
        self._groups = GroupNumbers()
        self._n_rows = self._n_missing = 0
        self._first_missing: int | None = None

    def of(self, table: pa.Table) -> Array | None:
        """Labels of the rows of a batch, (n,), NaN where they are missing; None where rows have none."""
        if self.kind is None:
            return None
        if self.kind == "time":
            try:
                return row_times(table[self._name], f"column {self._name!r}", self._dates)
            except ValueError as error:
                raise CommandError(f"--time: {error}") from error
        return self._numbers_of_groups(table[self._name])

    def add(self, table: pa.Table, used: Mask) -> Array:
        """Look at the next rows of a table that has labels, of which some are used; return the labels of those."""
        labels = self.of(table)
        assert labels is not None
        missing = np.flatnonzero(np.isnan(labels) & used)
        if len(missing) and self._first_missing is None:
            self._first_missing = self._n_rows + int(missing[0])
        self._n_rows, self._n_missing = self._n_rows + len(labels), self._n_missing + len(missing)
        return labels[used]

    def raise_if_unusable(self) -> None:
        """Raise an error where labels are missing, or all the same."""
        if self._first_missing is not None:
            option, what = ("--group", "group") if self.kind == "groups" else ("--time", "time")
            raise CommandError(
                f"{option}: column {self._name!r} is missing in {amount(self._n_missing, 'row')}, the first in row "
                f"{self._first_missing + 1:,} of the table; every row needs its {what}"
            )
        if self.kind == "groups" and len(self._groups) < 2:
            raise CommandError(
                f"--group: column {self._name!r} has the same value in all rows; groups are held out as a whole, which "
                "takes at least two"
            )

    def _numbers_of_groups(self, column: Any) -> Array:  # noqa: ANN401  pyarrow.ChunkedArray
        encoded = texts(column).combine_chunks().dictionary_encode()
        encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
        numbers = self._groups.of(np.array(encoded.dictionary.to_pylist(), dtype=object))
        codes = encoded.indices.fill_null(len(numbers)).to_numpy()
        return np.append(numbers.astype(float), np.nan)[codes]


def held_out_groups(groups: Array, n_held_out: int, seed: int) -> Indices:
    """Numbers of the rows of random groups (n,), of so many rows together or somewhat more."""
    _, which, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(sizes))
    before = np.cumsum(sizes[order]) - sizes[order]
    chosen = order[before < n_held_out]
    if len(chosen) > len(sizes) - 2:
        raise WrongUsage(
            f"--hold-out: of {amount(len(sizes), 'group')}, so many rows are {len(chosen):,}; two have to be left to "
            "learn from"
        )
    return np.flatnonzero(np.isin(which, chosen))


def last_rows(times: Array, n_held_out: int) -> Indices:
    """Numbers of the rows of the last times (n,), so many or, where times are equal, somewhat more."""
    first = np.partition(times, len(times) - n_held_out)[len(times) - n_held_out]
    held_out = np.flatnonzero(times >= first)
    if len(held_out) > len(times) - 2:
        raise WrongUsage(
            f"--hold-out: the last {amount(n_held_out, 'row')} in time are at the same time as nearly all others"
        )
    return held_out
