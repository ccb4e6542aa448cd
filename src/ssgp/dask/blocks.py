"""Blocks of a table: parts that one task reads, again each time they are needed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from ssgp.tables.arrow_columns import compute
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
    """

    files: tuple[tuple[TableFile, tuple[int, ...]], ...]
    schema: pa.Schema
    others: pa.Schema
    known_only: bool = False

    def pieces(self) -> Iterator[Piece]:
        """The rows, by row group."""
        for name, table in self._named_tables():
            if self.known_only:
                known = compute.is_finite(table[self.others.names[0]].cast(pa.float64()))
                table = table.filter(compute.fill_null(known, False))
            y, *weights = (_numbers(table[column]) for column in self.others.names)
            yield Piece(name, table.select(self.schema.names), y, weights[0] if weights else None)

    def tables(self) -> Iterator[pa.Table]:
        """The row groups with all columns."""
        return (table for _, table in self._named_tables())

    def _named_tables(self) -> Iterator[tuple[str, pa.Table]]:
        """The row groups, and what errors call them."""
        both = pa.schema([*self.schema, *self.others])
        for file, groups in self.files:
            for group, table in file.row_groups(groups, both):
                yield f"{file.name!r}, row group {group}", table


def _numbers(column: Any) -> Any:  # noqa: ANN401  pyarrow has no annotations
    """A column of numbers as an array of floats, NaN where they are missing."""
    return column.cast(pa.float64()).to_numpy()


# What tasks read: it has `pieces`.
Block = Partition | RowGroups
