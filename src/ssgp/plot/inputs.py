"""Rows of inputs as a user has them: drawn at random, and with other columns in the place of theirs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from ssgp._utils.arrays import Indices
from ssgp._utils.checks import check_count
from ssgp.distributions.pipeline import encoder_of, steps_of
from ssgp.tables.arrow_columns import UNNAMED, Column, family, given_rows, is_array, to_table
from ssgp.tables.encodings import ColumnEncoding, Dropped

__all__ = ["InputTable", "draw_rows"]


@dataclass(frozen=True)
class InputTable:
    """Inputs before any encoding.

    Attributes
    ----------
    table : pyarrow.Table
        Columns of the inputs.
    encodings : dict of ColumnEncoding
        What the model's encoder does to each column, by name; empty where it has none.
    named : bool
        Whether the model takes a table; otherwise it takes an array.
    n_total : int
        Rows of the table that these were drawn from.
    """

    table: pa.Table
    encodings: dict[str, ColumnEncoding]
    named: bool
    n_total: int

    @classmethod
    def draw(
        cls,
        model: Any,  # noqa: ANN401  any regressor of the library
        X: Any,  # noqa: ANN401  any table
        max_rows: int,
        random_state: int,
        feature_names: Sequence[str] | None = None,
    ) -> tuple["InputTable", Indices]:
        """Draw at most `max_rows` rows of an array or table that a fitted model takes; also their numbers there."""
        check_is_fitted(model)
        X = given_rows(X)
        n_rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        rows = draw_rows(n_rows, check_count(max_rows, "max_rows", 1), random_state)
        return cls._take(model, X, rows, feature_names), rows

    @classmethod
    def _take(
        cls,
        model: Any,  # noqa: ANN401
        X: Any,  # noqa: ANN401
        rows: Indices,
        feature_names: Sequence[str] | None,
    ) -> "InputTable":
        first, encoder = steps_of(model)[0], encoder_of(model)
        columns = [] if encoder is None else encoder.columns_
        if is_array(X) and hasattr(encoder, "feature_names_in_"):
            raise ValueError(UNNAMED)
        if is_array(X):
            array = np.asarray(X)
            table = to_table(array[rows])
            names = _array_names(table.column_names, feature_names, first)
            encodings = dict(zip(names, columns, strict=False))
            return cls(table.rename_columns(names), encodings, named=False, n_total=len(array))
        if feature_names is not None:
            raise ValueError("feature_names are for arrays: X is a table, whose columns have names")
        # Columns that were not there in fit may hold anything.
        table = to_table(X) if encoder is None else encoder.as_read(to_table(X, encoder.families_))
        if columns:
            # Columns that were not there in fit are ignored by the encoder, and are not shown here.
            table = table.select([column.name for column in columns if column.name in table.column_names])
        named = bool(columns) or hasattr(first, "feature_names_in_")
        return cls(table.take(rows), {column.name: column for column in columns}, named, n_total=table.num_rows)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return self.table.column_names

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.num_rows

    @property
    def description(self) -> str:
        """Number of rows, in words."""
        if self.n_rows == self.n_total:
            return f"{self.n_rows:,} rows"
        return f"{self.n_rows:,} of {self.n_total:,} rows, drawn at random"

    @property
    def informative(self) -> list[str]:
        """Names of the columns that the encoder does not drop."""
        return [name for name in self.names if not isinstance(self.encodings.get(name), Dropped)]

    def column(self, name: str) -> Column:
        """A column; an error that lists all columns where there is none of that name."""
        if name not in self.names:
            raise ValueError(f"there is no column {name!r}; columns are {', '.join(map(repr, self.names))}")
        return self.table.column(name)

    def take(self, rows: Indices) -> "InputTable":
        """Rows of these numbers."""
        return replace(self, table=self.table.take(rows))

    def with_column(self, name: str, column: Column) -> "InputTable":
        """The table with another column in the place of the one of that name."""
        return replace(self, table=self.table.set_column(self.names.index(name), name, column))

    def repeated(self, name: str, columns: Sequence[Column]) -> "InputTable":
        """All rows, once for each of several columns that take the place of the one of that name."""
        return replace(self, table=pa.concat_tables([self.with_column(name, column).table for column in columns]))

    def for_model(self) -> Any:  # noqa: ANN401  a table or an array
        """The inputs as the model takes them: a table, or an array of shape (n, d)."""
        if self.named:
            return self.table
        return np.column_stack([column.to_numpy() for column in self.table.columns])

    def holds(self, name: str) -> str:
        """What a column holds, in words."""
        return family(self.table.schema.field(name).type)


def draw_rows(n_rows: int, max_rows: int, random_state: int) -> Indices:
    """Numbers of all rows, or of `max_rows` random ones, ascending."""
    if n_rows <= max_rows:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(random_state).choice(n_rows, max_rows, replace=False))


def _array_names(numbered: list[str], given: Sequence[str] | None, first_step: Any) -> list[str]:  # noqa: ANN401
    """Names of an array's columns: those given, those that the model was fitted with, or numbered ones."""
    if given is not None and len(given) != len(numbered):
        raise ValueError(f"feature_names has {len(given)} names, and X has {len(numbered)} columns")
    fitted = getattr(first_step, "feature_names_in_", None)
    names = given if given is not None else fitted if fitted is not None and len(fitted) == len(numbered) else numbered
    return [str(name) for name in names]
