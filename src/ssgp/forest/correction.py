"""A correction of effects that local models cannot see, learned from their errors on rows they were not fitted to.

An effect of a day or of a category that all regions share has too few rows in any one leaf. Boosted trees, which
pool all rows, find it in the forest's honest residuals. They are fitted to residuals in deviations of the local
noise, so that a correction is never large where the forest is sure.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ssgp._utils.arrays import Array
from ssgp._utils.weights import MOST_SHARE_OF_ERRORS, limit_share
from ssgp.engine.threads import openmp_threads
from ssgp.engine.tiles import mean_in_order
from ssgp.forest.boosted_trees import BoostedTrees
from ssgp.saving.contents import flag, made_of, number, tuple_of
from ssgp.saving.kinds import stored

__all__ = ["Booster", "Correction", "Residuals", "Way", "beside", "boosting_threads"]

# Residuals beyond so many deviations count as so many.
MOST_DEVIATIONS = 20.0
ROWS_PER_THREAD = 50_000


class Way(NamedTuple):
    """What boosted trees begin with.

    Attributes
    ----------
    start : float
        Share of the forest's own prediction that they start from.
    informed : bool
        Whether that prediction is one of their inputs.
    """

    start: float
    informed: bool = False


@dataclass(frozen=True)
class Residuals:
    """Errors of predictions of n rows by models that were fitted without them.

    Attributes
    ----------
    X : array of shape (n, d)
        Standardised inputs.
    error : array of shape (n,)
        Target minus prediction.
    mean : array of shape (n,)
        The prediction.
    deviation : array of shape (n,)
        Deviations of the noise, as the models estimate it.
    weight : array of shape (n,) or None
        Sample weights.
    """

    X: Array
    error: Array
    mean: Array
    deviation: Array
    weight: Array | None

    def standardized(self, start: float = 1.0) -> Array:
        """What the target is beyond so large a share of the prediction, in deviations of the noise."""
        beyond = self.error if start == 1.0 else self.error + (1.0 - start) * self.mean
        return np.clip(beyond / self.deviation, -MOST_DEVIATIONS, MOST_DEVIATIONS)

    @property
    def importance(self) -> Array:
        """Weights halfway between squared errors of the target's units (deviation^2) and of deviations (1)."""
        if self.weight is None:
            return self.deviation
        return self.deviation * limit_share(self.weight, MOST_SHARE_OF_ERRORS)

    def first(self, n_rows: int) -> "Residuals":
        """The first so many rows."""
        weight = None if self.weight is None else self.weight[:n_rows]
        return Residuals(self.X[:n_rows], self.error[:n_rows], self.mean[:n_rows], self.deviation[:n_rows], weight)

    def joined(self, other: "Residuals") -> "Residuals":
        """These rows and others."""
        weight = None
        if self.weight is not None and other.weight is not None:
            weight = np.concatenate([self.weight, other.weight])
        X, error = np.concatenate([self.X, other.X]), np.concatenate([self.error, other.error])
        mean, deviation = np.concatenate([self.mean, other.mean]), np.concatenate([self.deviation, other.deviation])
        return Residuals(X, error, mean, deviation, weight)


class Booster(Protocol):
    """A model of residuals in deviations of the noise."""

    def predict(self, X: Array, /) -> Any:  # noqa: ANN401  an array, as scikit-learn has it
        """Predicted residuals of standardised rows X (n, d), shape (n,)."""
        ...


def _check_inputs(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
    yield parts.boosters[0].n_inputs > bool(parts.informed), "there must be an input of the rows"


@stored(
    {
        "boosters": tuple_of(made_of(BoostedTrees, d=lambda trees: trees.n_inputs), least=1),
        "share": number(0.0, 1.0),
        "start": number(0.0, 1.0),
        "informed": flag,
    },
    added=("start", "informed"),
    relations=_check_inputs,
)
@dataclass(frozen=True)
class Correction:
    """Shift of predictions towards ``start mean(x) + deviation(x) h(x)``, h the mean of boosted trees.

    Attributes
    ----------
    boosters : tuple of Booster
        Fitted to what targets are beyond `start` times the prediction, in deviations of the noise.
    share : float
        How much of the way is gone, from 0 to 1.
    start : float
        Share of the forest's prediction that the boosted trees start from: 1 where they are fitted to its errors, less
        where they are to learn some of the function themselves.
    informed : bool
        Whether the forest's prediction is the last input of the boosted trees.
    """

    boosters: tuple[Booster, ...]
    share: float
    start: float = 1.0
    informed: bool = False

    def __call__(self, X: Array, mean: Array, deviation: Array, n_threads: int = 1) -> Array:
        """Shift of predictions of rows X (n, d) with means and deviations (n,), all standardised, shape (n,)."""
        shift = deviation * _mean_of(self.boosters, beside(X, mean) if self.informed else X, n_threads)
        if self.start < 1.0:
            shift -= (1.0 - self.start) * mean
        return self.share * shift

    @property
    def way(self) -> Way:
        """What the boosted trees began with."""
        return Way(self.start, self.informed)

    @property
    def n_inputs(self) -> int:
        """Inputs of rows: d."""
        return max(booster.n_inputs for booster in self.boosters if isinstance(booster, BoostedTrees)) - self.informed

    @property
    def nbytes(self) -> int:
        """Bytes of the trees."""
        return sum(booster.nbytes for booster in self.boosters if isinstance(booster, BoostedTrees))


def beside(X: Array, mean: Array) -> Array:
    """Rows X (n, d) with predictions (n,) as their last input, shape (n, d + 1), in the precision of X."""
    return np.column_stack([X, mean.astype(X.dtype)])


def _mean_of(boosters: tuple[Booster, ...], X: Array, n_threads: int) -> Array:
    with openmp_threads(boosting_threads(len(X), n_threads)):
        return mean_in_order(np.stack([booster.predict(X) for booster in boosters]))


def boosting_threads(n_rows: int, n_threads: int) -> int:
    """One thread for few rows: where cores are busy, threads wait for each other longer than short loops take."""
    return max(1, min(n_threads, n_rows // ROWS_PER_THREAD))
