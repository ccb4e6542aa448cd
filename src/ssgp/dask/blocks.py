"""Blocks of a table: parts that one task reads, again each time they are needed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ssgp._utils.arrays import Array
from ssgp.tables.table_file import TableFile

__all__ = ["Block", "Partition", "Piece", "RowGroups"]


class Piece(NamedTuple):
    """Rows as a user has them, and what errors call them."""

    name: str
    X: Any
    y: Any
    weight: Any


@dataclass(frozen=True)
class Partition:
    """A partition of Dask's collections, computed.

    Attributes
    ----------
    number : int
        Which it is.
    X, y, weight : array or data frame, array or series, and the same or None
        Its rows.
    """

    number: int
    X: Any
    y: Any
    weight: Any = None

    def pieces(self) -> Iterator[Piece]:
        """The rows."""
        yield Piece(f"partition {self.number}", self.X, self.y, self.weight)


@dataclass(frozen=True)
class RowGroups:
    """Neighbouring row groups of Parquet files.

    Attributes
    ----------
    files : tuple of (TableFile, tuple of int)
        Files, and the row groups of each.
    schema : pyarrow.Schema
        Columns to learn from, and their types in all files.
    others : pyarrow.Schema
        The target and, where rows have them, the weights.
    known_only : bool
        Whether rows without a target are left out; else they are an error.
    n_rows : int
        How many rows there are, those that are left out among them.
    """

    files: tuple[tuple[TableFile, tuple[int, ...]], ...]
    schema: pa.Schema
    others: pa.Schema
    known_only: bool = False
    n_rows: int = 0

    def pieces(self) -> Iterator[Piece]:
        """The rows, by row group."""
        for name, table in self._named_tables():
            y, *weights = (_numbers(name, table, column) for column in self.others.names)
            if self.known_only and not (known := np.isfinite(y)).all():
                table, y = table.filter(pa.array(known)), y[known]
                weights = [weight[known] for weight in weights]
            yield Piece(name, table.select(self.schema.names), y, weights[0] if weights else None)

    def labels(self) -> Iterator[tuple[Array, Array | None]]:
        """Targets and weights of the row groups, NaN where they are missing; nothing else is read."""
        alone = replace(self, schema=pa.schema([]))
        for name, table in alone._named_tables():
            y, *weights = (_numbers(name, table, column) for column in self.others.names)
            yield y, weights[0] if weights else None

    def tables(self) -> Iterator[pa.Table]:
        """The row groups with all columns."""
        return (table for _, table in self._named_tables())

    def _named_tables(self) -> Iterator[tuple[str, pa.Table]]:
        """The row groups, and what errors call them."""
        both = pa.schema([*self.schema, *self.others])
        for file, groups in self.files:
            for group, table in file.row_groups(groups, both):
                yield f"{file.name!r}, row group {group}", table


def _numbers(where: str, table: pa.Table, name: str) -> Array:
    """A column of numbers as an array of floats, NaN where they are missing."""
    try:
        return table[name].cast(pa.float64()).to_numpy()
    except pa.ArrowException as error:
        kind = table.schema.field(name).type
        raise ValueError(f"{where}: column {name!r} holds {kind}, and it has to hold numbers ({error})") from error


# What tasks read: it has `pieces`.
Block = Partition | RowGroups
