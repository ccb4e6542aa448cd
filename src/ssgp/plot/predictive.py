"""What any regressor of the library says of rows: one face for mixtures and normal distributions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from ssgp._utils.checks import check_count, check_target
from ssgp.distributions.regressor import DistributionRegressor
from ssgp.plot.inputs import InputTable, steps_of
from ssgp.spectrum.noise import LOG_TWO_PI

__all__ = ["Judged", "NormalPredictive", "Predictive", "central", "encoded", "predictive_of"]

Array = NDArray[np.floating]


class Predictive(Protocol):
    """Predictive distributions of n rows."""

    def moments(self) -> tuple[Array, Array]:
        """Means and deviations, shapes (n,)."""
        ...

    def quantiles(self, levels: Sequence[float]) -> Array:
        """Shape (n, k)."""
        ...

    def cdf(self, y: Array) -> Array:
        """Probability of at most y, shape (n,)."""
        ...

    def log_prob(self, y: Array) -> Array:
        """Log density of y, shape (n,)."""
        ...


@dataclass(frozen=True)
class NormalPredictive:
    """Normal distributions.

    Attributes
    ----------
    mean, deviation : arrays of shape (n,)
        Theirs.
    """

    mean: Array
    deviation: Array

    @classmethod
    def of(cls, mean: ArrayLike, std: ArrayLike) -> "NormalPredictive":
        """Of a user's numbers."""
        return cls(np.asarray(mean, dtype=float), np.asarray(std, dtype=float))

    def moments(self) -> tuple[Array, Array]:
        """Means and deviations."""
        return self.mean, self.deviation

    def quantiles(self, levels: Sequence[float]) -> Array:
        """Shape (n, k)."""
        return self.mean[:, None] + self.deviation[:, None] * ndtri(np.asarray(levels))

    def cdf(self, y: Array) -> Array:
        """Probability of at most y."""
        return ndtr((y - self.mean) / self.deviation)

    def log_prob(self, y: Array) -> Array:
        """Log density of y."""
        return -0.5 * (((y - self.mean) / self.deviation) ** 2 + LOG_TWO_PI) - np.log(self.deviation)


@dataclass(frozen=True)
class MixturePredictive:
    """Mixtures, asked of the regressor as they are needed.

    Attributes
    ----------
    regressor : DistributionRegressor
        Fitted.
    X : array of shape (n, d)
        Rows as it takes them.
    """

    regressor: DistributionRegressor
    X: Any

    def moments(self) -> tuple[Array, Array]:
        """Means and deviations."""
        mean, deviation = self.regressor.predict(self.X, return_std=True)
        return mean, deviation

    def quantiles(self, levels: Sequence[float]) -> Array:
        """Shape (n, k)."""
        return self.regressor.predict_quantiles(self.X, levels)

    def cdf(self, y: Array) -> Array:
        """Probability of at most y."""
        return self.regressor.cdf(self.X, y)

    def log_prob(self, y: Array) -> Array:
        """Log density of y."""
        return self.regressor.log_prob(self.X, y)


def predictive_of(model: Any, inputs: InputTable) -> Predictive:  # noqa: ANN401
    """What a fitted regressor, or a pipeline that ends with one, says of rows."""
    X, regressor = encoded(model, inputs), steps_of(model)[-1]
    if isinstance(regressor, DistributionRegressor):
        return MixturePredictive(regressor, X)
    return NormalPredictive(*regressor.predict(X, return_std=True))


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
    said : Predictive
        Their predictive distributions.
    """

    inputs: InputTable
    y: Array
    said: Predictive

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
        return self.said.moments()

    @cached_property
    def pit(self) -> Array:
        """Predictive probability of at most the target, shape (n,)."""
        return self.said.cdf(self.y)

    @cached_property
    def log_prob(self) -> Array:
        """Log density of the target, shape (n,)."""
        return self.said.log_prob(self.y)


def central(level: float) -> tuple[float, float]:
    """Levels of the ends of a central interval."""
    return 0.5 - level / 2, 0.5 + level / 2
