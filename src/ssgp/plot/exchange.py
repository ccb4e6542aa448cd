"""Importances of a whole model: how much its predictions move when a column is exchanged with another row's."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from ssgp._utils.arrays import Array, Indices
from ssgp.distributions.base import Distribution
from ssgp.distributions.pipeline import encoder_of, predict_encoded
from ssgp.plot.inputs import InputTable
from ssgp.plot.predictive import predict_inputs

__all__ = ["Importances", "importances", "importances_of_inputs"]

MAX_ROWS = 2000
# Deviations below this share of the largest count as so large: a point mass has none, and no logarithm.
LEAST_DEVIATION = 1e-6


@dataclass(frozen=True)
class Importances:
    """Importances of the columns of a table, in its order.

    Attributes
    ----------
    columns : tuple of str, k of them
        Names of the columns.
    mean : array of shape (k,)
        Root mean squares of the changes of predicted means, in the target's units.
    spread : array of shape (k,)
        Root mean squares of the changes of the logarithms of predicted deviations: 0.1 is about 10 %.
    rows : str
        Which rows they are of, in words.
    """

    columns: tuple[str, ...]
    mean: Array
    spread: Array
    rows: str

    def __str__(self) -> str:
        """A table, the columns that move the mean most first."""
        width = max(len("column"), *map(len, self.columns)) if self.columns else len("column")
        order = np.argsort(-self.mean, kind="stable")
        lines = [f"{self.columns[i]:<{width}}  {self.mean[i]:>10.4g}  {self.spread[i]:>7.1%}" for i in order]
        return "\n".join([f"{'column':<{width}}  {'mean':>10}  {'spread':>7}", *lines])


def importances(
    model: Any,  # noqa: ANN401  any regressor of the library
    X: Any = None,  # noqa: ANN401  any table
    *,
    max_rows: int = MAX_ROWS,
    feature_names: Sequence[str] | None = None,
    random_state: int = 0,
) -> Importances:
    """How much predicted means and deviations depend on each column of a table.

    In each column in turn, every row gets the value of another row, and the rows are predicted again. This covers the
    whole model, its corrections included, and the columns of your table, whatever features an encoder makes of them.
    A change of zero means that predictions do not depend on a column. Columns with the same information share their
    importance, and exchanging values can create rows that never occur.

    Parameters
    ----------
    model : regressor or Pipeline
        Any regressor of the library, or a pipeline that ends with one; fitted.
    X : array-like of shape (n, d), optional
        Rows as the model takes them, from its training rows or others. No targets are needed. By default the training
        rows that the model's encoder keeps, if there are any.
    max_rows : int, default=2000
        Maximum number of rows to use; from larger tables, this many are drawn at random.
    feature_names : sequence of str, optional
        Names of the columns of an array.
    random_state : int, default=0
        Seed of the draw and of the exchange.

    Returns
    -------
    Importances
        `columns`, and the importance of each for the `mean` and for the `spread`.

    Examples
    --------
    >>> import numpy as np, ssgp
    >>> X = np.random.default_rng(0).uniform(0, 6, size=(300, 2))
    >>> model = ssgp.SSGPRegressor(n_frequencies=5, max_iter=50, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> found = ssgp.importances(model, X, feature_names=["used", "unused"])
    >>> found.columns, bool(found.mean[0] > 10 * found.mean[1])
    (('used', 'unused'), True)
    """
    if X is None:
        return _importances_of_kept_rows(model, random_state)
    inputs, _ = InputTable.draw(model, X, max_rows, random_state, feature_names)
    return importances_of_inputs(model, inputs, random_state)


def importances_of_inputs(model: Any, inputs: InputTable, random_state: int = 0) -> Importances:  # noqa: ANN401
    """Importances by rows that have been drawn already."""

    def exchange(name: str, other: Indices) -> Distribution:
        return predict_inputs(model, inputs.with_column(name, inputs.column(name).take(pa.array(other))))

    before = predict_inputs(model, inputs)
    return _importances(inputs.informative, before, exchange, inputs.description, random_state)


def _importances_of_kept_rows(model: Any, random_state: int) -> Importances:  # noqa: ANN401
    """Importances by the training rows that the encoder of a model keeps."""
    check_is_fitted(model)
    encoder = encoder_of(model)
    rows = None if encoder is None or encoder.donors is None else encoder.donors.rows
    if encoder is None or rows is None or len(rows) < 2:
        raise ValueError(
            f"X is needed: the model keeps {'no training rows' if rows is None else 'a training row alone'}. Models "
            "keep some of tables that they encode, unless kept_rows of their encoder is 0"
        )
    columns = np.array(encoder.feature_columns())

    def exchange(name: str, other: Indices) -> Distribution:
        return predict_encoded(model, np.where(columns == name, rows[other], rows))

    names = list(dict.fromkeys(columns.tolist()))
    return _importances(names, predict_encoded(model, rows), exchange, f"{len(rows):,} training rows", random_state)


def _importances(
    names: list[str],
    before: Distribution,
    exchange: Callable[[str, Indices], Distribution],
    rows: str,
    random_state: int,
) -> Importances:
    """Importances of columns, from ``exchange(name, other)``: distributions with a column of other rows (n,)."""
    if len(before) < 2:
        raise ValueError(f"X has {len(before)} row: columns are exchanged between rows, which takes two at least")
    rng, (mean, deviation) = np.random.default_rng(random_state), (before.mean(), before.std())
    moves = []
    for name in names:
        after = exchange(name, _other_rows(len(before), rng))
        other_mean, other_deviation = after.mean(), after.std()
        least = LEAST_DEVIATION * max(deviation.max(), other_deviation.max())
        ratio = np.maximum(other_deviation, least) / np.maximum(deviation, least) if least > 0 else np.ones(len(mean))
        moves.append([np.sqrt(np.mean((other_mean - mean) ** 2)), np.sqrt(np.mean(np.log(ratio) ** 2))])
    means, spreads = np.reshape(moves, (-1, 2)).T
    return Importances(tuple(names), means, spreads, rows)


def _other_rows(n_rows: int, rng: np.random.Generator) -> Indices:
    """For each row the number of another one, each of them once."""
    order, other = rng.permutation(n_rows), np.empty(n_rows, dtype=np.int64)
    other[order] = np.roll(order, 1)
    return other
