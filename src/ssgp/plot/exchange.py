"""Importances of a whole model: how much its predictions move when a column is exchanged with another row's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ssgp._utils.arrays import Array, Indices
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
    X: Any,  # noqa: ANN401  any table
    *,
    max_rows: int = MAX_ROWS,
    feature_names: Sequence[str] | None = None,
    random_state: int = 0,
) -> Importances:
    """How much predicted means and deviations depend on each column of a table.

    Each column in turn is exchanged with that of another row, and the rows are predicted again: of the whole model, its
    corrections included, and of the user's columns, whatever features an encoder makes of each. A change of zero says
    that predictions do not depend on a column. Columns that tell the same share their importance, and exchanged rows
    may be such as there are none.

    Parameters
    ----------
    model : regressor or Pipeline
        Any regressor of the library, or a pipeline that ends with one; fitted.
    X : array-like of shape (n, d)
        Rows as the model takes them: some of those it was fitted to, or others. No targets are needed.
    max_rows : int, default=2000
        Most rows to use; of larger tables so many are drawn at random.
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
    inputs, _ = InputTable.draw(model, X, max_rows, random_state, feature_names)
    return importances_of_inputs(model, inputs, random_state)


def importances_of_inputs(model: Any, inputs: InputTable, random_state: int = 0) -> Importances:  # noqa: ANN401
    """Importances by rows that have been drawn already."""
    rng, (mean, deviation) = np.random.default_rng(random_state), _predictions(model, inputs)
    moves = []
    for name in inputs.informative:
        exchanged = inputs.column(name).take(pa.array(_other_rows(inputs.n_rows, rng)))
        other_mean, other_deviation = _predictions(model, inputs.with_column(name, exchanged))
        least = LEAST_DEVIATION * max(deviation.max(), other_deviation.max())
        ratio = np.maximum(other_deviation, least) / np.maximum(deviation, least) if least > 0 else np.ones(len(mean))
        moves.append([np.sqrt(np.mean((other_mean - mean) ** 2)), np.sqrt(np.mean(np.log(ratio) ** 2))])
    means, spreads = np.reshape(moves, (-1, 2)).T
    return Importances(tuple(inputs.informative), means, spreads, inputs.description)


def _predictions(model: Any, inputs: InputTable) -> tuple[Array, Array]:  # noqa: ANN401
    """Means and deviations, shapes (n,)."""
    predicted = predict_inputs(model, inputs)
    return predicted.mean(), predicted.std()


def _other_rows(n_rows: int, rng: np.random.Generator) -> Indices:
    """For each row the number of another one, each of them once."""
    order, other = rng.permutation(n_rows), np.empty(n_rows, dtype=np.int64)
    other[order] = np.roll(order, 1)
    return other
