"""What ``ssgp predict`` writes of rows: columns that are kept, and predictions."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ssgp._utils.arrays import Array
from ssgp.cli.errors import CommandError
from ssgp.cli.kept_types import Codes
from ssgp.cli.predictor import Predictor
from ssgp.distributions.base import Distribution
from ssgp.distributions.regressor import map_distributions
from ssgp.tables.arrow_columns import Column
from ssgp.tables.files import TableSource
from ssgp.tables.formats import Types

__all__ = ["PredictedColumns", "TablePredictor", "no_rows"]


@dataclass(frozen=True)
class PredictedColumns:
    """The columns of predictions that are written.

    Attributes
    ----------
    std : bool
        Whether deviations are written.
    quantiles : list of str
        Levels of quantiles.
    interval : (str, float, float) or None
        Share of an interval, and the levels of its ends.
    """

    std: bool
    quantiles: list[str]
    interval: tuple[str, float, float] | None

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        ends = [] if self.interval is None else [f"lower_{self.interval[0]}", f"upper_{self.interval[0]}"]
        return ["mean", *["std"] * self.std, *(f"q{level}" for level in self.quantiles), *ends]

    @property
    def levels(self) -> list[float]:
        """Levels of all quantiles, those at the ends of the interval last."""
        return [*map(float, self.quantiles), *([] if self.interval is None else self.interval[1:])]

    def __call__(self, regressor: Any, X: Any) -> list[Array]:  # noqa: ANN401
        """The columns, shapes (n,), for rows X as the regressor takes them."""
        if not (self.std or self.levels):
            return [regressor.predict(X)]
        parts = map_distributions(regressor, X, lambda part, _: self._of(part))
        return list(np.concatenate(parts, axis=1))

    def _of(self, distribution: Distribution) -> Array:
        """The columns of some rows, shape (k, n)."""
        moments = [distribution.mean(), *([distribution.std()] if self.std else [])]
        quantiles = distribution.quantile(self.levels).T if self.levels else []
        return np.stack([*moments, *quantiles])


@dataclass(frozen=True)
class TablePredictor:
    """Writes the predictions of a table's rows beside some of its columns.

    Attributes
    ----------
    predictor : Predictor
        The model.
    kept : list of str
        Columns of the table that are kept.
    types : dict of pyarrow.DataType
        Types of those that the table has as others.
    predictions : PredictedColumns
        What is predicted.
    codes : dict of Codes
        Columns that are kept as text, and that the model takes for numbers.
    """

    predictor: Predictor
    kept: list[str]
    types: Types
    predictions: PredictedColumns
    codes: dict[str, Codes] = field(default_factory=dict)

    @property
    def read(self) -> list[str]:
        """Columns that are needed of a table."""
        return list(dict.fromkeys([*self.predictor.inputs, *self.kept]))

    @property
    def written(self) -> list[str]:
        """Columns that are written."""
        return [*self.kept, *self.predictions.names]

    def __call__(self, batch: pa.Table) -> pa.Table:
        """What is written of some rows."""
        with self.predictor.column_names_in_errors():
            columns = self.predictions(self.predictor.regressor, self.predictor.encode(self._in_numbers(batch)))
        beside = [_typed(batch[name], self.types.get(name)) for name in self.kept]
        return pa.table([*beside, *map(pa.array, columns)], names=self.written)

    def _in_numbers(self, batch: pa.Table) -> pa.Table:
        """The rows with codes as numbers."""
        for name, codes in self.codes.items():
            batch = batch.set_column(batch.column_names.index(name), name, codes.numbers(batch[name]))
        return batch


def _typed(column: Column, kind: pa.DataType | None) -> Column:
    """A kept column in its own type, where the model takes it as another than text."""
    return column if kind is None or column.type == pa.string() else column.cast(kind)


def no_rows(source: TableSource) -> CommandError:
    """The error of a table without rows."""
    return CommandError(f"{source.name!r} has no rows to predict")
