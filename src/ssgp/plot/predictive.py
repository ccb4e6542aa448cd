"""Rows whose targets are known, and their predictive distributions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from numpy.typing import ArrayLike

from ssgp._utils.arrays import Array
from ssgp._utils.checks import check_count, check_target
from ssgp.distributions.base import Distribution
from ssgp.plot.inputs import InputTable, steps_of

__all__ = ["Judged", "encoded", "predictive_of"]


def predictive_of(model: Any, inputs: InputTable) -> Distribution:  # noqa: ANN401
    """Predictive distributions of rows by a fitted regressor, or a pipeline that ends with one."""
    return steps_of(model)[-1].predict_distribution(encoded(model, inputs))


def encoded(model: Any, inputs: InputTable) -> Any:  # noqa: ANN401
    """Rows as the last step of a pipeline gets them."""
    X = inputs.for_model()
    for step in steps_of(model)[:-1]:
        X = step.transform(X)
    return X


@dataclass(frozen=True)
class Judged:
    """Rows whose targets are known, and what a model says of them; nothing is asked of it twice.

    Attributes
    ----------
    inputs : InputTable
        n rows.
    y : array of shape (n,)
        Targets.
    said : Distribution
        Their predictive distributions.
    """

    inputs: InputTable
    y: Array
    said: Distribution

    @classmethod
    def draw(
        cls,
        model: Any,  # noqa: ANN401  any regressor of the library
        X: Any,  # noqa: ANN401  any table
        y: ArrayLike,
        max_rows: int,
        random_state: int,
        feature_names: Sequence[str] | None = None,
    ) -> "Judged":
        """At most `max_rows` rows, at random."""
        inputs, rows = InputTable.draw(model, X, max_rows, random_state, feature_names)
        return cls(inputs, check_target(y, X)[rows], predictive_of(model, inputs))

    @property
    def rows(self) -> str:
        """How many rows there are, in words."""
        return self.inputs.rows

    def drawn_from(self, n_rows: int) -> "Judged":
        """The same, as a sample of so many rows."""
        return replace(self, inputs=replace(self.inputs, n_total=check_count(n_rows, "n_rows", self.inputs.n_total)))

    @cached_property
    def moments(self) -> tuple[Array, Array]:
        """Predictive means and deviations, shapes (n,)."""
        return self.said.mean(), self.said.std()

    @cached_property
    def pit(self) -> Array:
        """Predictive probability of at most the target, shape (n,)."""
        return self.said.cdf(self.y)

    @cached_property
    def log_prob(self) -> Array:
        """Log density of the target, shape (n,)."""
        return self.said.logpdf(self.y)
