"""Rows whose targets are known, and their predictive distributions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.checks import check_count, check_target
from ssgp.distributions.base import Distribution
from ssgp.distributions.filled import InputRows
from ssgp.distributions.pipeline import last_inputs, steps_of
from ssgp.metrics import pit
from ssgp.plot.inputs import InputTable
from ssgp.tables.input_warnings import untold

__all__ = ["PredictedRows", "encode_inputs", "in_central_interval", "predict_inputs"]


def predict_inputs(model: Any, inputs: InputTable) -> Distribution:  # noqa: ANN401
    """Predictive distributions of rows that a picture makes, of whose values nobody is told, as `_predict` has them."""
    with untold():
        return _predict(model, inputs)


def _predict(model: Any, inputs: InputTable) -> Distribution:  # noqa: ANN401
    """Predictive distributions of rows by a fitted regressor, or a pipeline that ends with one."""
    return steps_of(model)[-1].predict_distribution(last_inputs(model, inputs.for_model()))


def encode_inputs(model: Any, inputs: InputTable) -> Any:  # noqa: ANN401
    """Rows in numbers: as the last step of a pipeline gets them, encoded where it has an encoder of its own."""
    X, encoder = last_inputs(model, inputs.for_model()), getattr(steps_of(model)[-1], "encoder_", None)
    if isinstance(X, InputRows):
        return X.X
    return X if encoder is None else encoder.transform(X)


def in_central_interval(pit: Array, level: float) -> Mask:
    """Whether targets are inside the central interval of probability `level`, from their `pit`; shapes (n,).

    Examples
    --------
    >>> in_central_interval(np.array([0.01, 0.05, 0.5, 0.96]), 0.9).tolist()
    [False, True, True, False]
    """
    return np.abs(pit - 0.5) <= level / 2


@dataclass(frozen=True)
class PredictedRows:
    """Rows whose targets are known, and their predictive distributions; nothing is computed twice.

    Attributes
    ----------
    inputs : InputTable
        Inputs of the n rows.
    y : array of shape (n,)
        Targets.
    distribution : Distribution
        Predictive distributions.
    """

    inputs: InputTable
    y: Array
    distribution: Distribution

    @classmethod
    def draw(
        cls,
        model: Any,  # noqa: ANN401  any regressor of the library
        X: Any,  # noqa: ANN401  any table
        y: ArrayLike,
        max_rows: int,
        random_state: int,
        feature_names: Sequence[str] | None = None,
    ) -> "PredictedRows":
        """Predict at most `max_rows` rows, drawn at random."""
        inputs, rows = InputTable.draw(model, X, max_rows, random_state, feature_names)
        return cls(inputs, check_target(y, X)[rows], _predict(model, inputs))

    @property
    def description(self) -> str:
        """Number of the rows, in words."""
        return self.inputs.description

    def take(self, rows: Indices) -> "PredictedRows":
        """Rows of these numbers."""
        return PredictedRows(self.inputs.take(rows), self.y[rows], self.distribution[rows])

    def drawn_from(self, n_rows: int) -> "PredictedRows":
        """The same rows, described as a sample of `n_rows` rows."""
        return replace(self, inputs=replace(self.inputs, n_total=check_count(n_rows, "n_rows", self.inputs.n_total)))

    @cached_property
    def mean(self) -> Array:
        """Predictive means, shape (n,)."""
        return self.distribution.mean()

    @cached_property
    def std(self) -> Array:
        """Predictive deviations, shape (n,)."""
        return self.distribution.std()

    @cached_property
    def pit(self) -> Array:
        """Probability integral transform of the targets, shape (n,): see `ssgp.metrics.pit`."""
        return pit(self.y, self.distribution)
