"""A correction of effects that local models cannot see, learned from their errors on rows they were not fitted to.

An effect of a day or of a category that all regions share has too few rows in any one leaf. Boosted trees, which
pool all rows, find it in the forest's honest residuals. They are fitted to residuals in deviations of the local
noise, so that a correction is never large where the forest is sure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.weights import MOST_SHARE_OF_ERRORS, limit_share
from ssgp._utils.wide import CHOSEN_INPUTS, WIDE, largest
from ssgp.engine.threads import openmp_threads
from ssgp.engine.tiles import mean_in_order
from ssgp.forest.boosted_trees import BoostedTrees, grow
from ssgp.saving.contents import made_of, number, tuple_of
from ssgp.saving.kinds import stored

__all__ = ["Correction", "Residuals", "fit_booster", "fit_correction"]

# Few trees with many leaves: as accurate as many small ones here, and several times as fast to evaluate.
BOOSTER = {"max_leaf_nodes": 255, "max_iter": 25, "learning_rate": 0.3, "min_samples_leaf": 20}
LEAST_ROWS = 200
# Residuals beyond so many deviations count as so many.
MOST_DEVIATIONS = 20.0
# A smaller share of the correction than this is not worth its time at prediction.
LEAST_SHARE = 0.1
ROWS_PER_THREAD = 50_000
# Of a table of many inputs: rows that tell which of them errors go with, and the parts they are sorted into.
SORTED_ROWS = 5000
SORTED_PARTS = 16


@dataclass(frozen=True)
class Residuals:
    """Errors of predictions of n rows by models that were fitted without them.

    Attributes
    ----------
    X : array of shape (n, d)
        Standardised inputs.
    error : array of shape (n,)
        Target minus prediction.
    deviation : array of shape (n,)
        Deviations of the noise, as the models estimate it.
    weight : array of shape (n,) or None
        Sample weights.
    """

    X: Array
    error: Array
    deviation: Array
    weight: Array | None

    @property
    def standardized(self) -> Array:
        """Errors in deviations of the noise."""
        return np.clip(self.error / self.deviation, -MOST_DEVIATIONS, MOST_DEVIATIONS)

    @property
    def importance(self) -> Array:
        """Weights halfway between squared errors of the target's units (deviation^2) and of deviations (1)."""
        if self.weight is None:
            return self.deviation
        return self.deviation * limit_share(self.weight, MOST_SHARE_OF_ERRORS)


class Booster(Protocol):
    """A model of residuals in deviations of the noise."""

    def predict(self, X: Array, /) -> Any:  # noqa: ANN401  an array, as scikit-learn has it
        """Predicted residuals of standardised rows X (n, d), shape (n,)."""
        ...


@stored(
    {
        "boosters": tuple_of(made_of(BoostedTrees, d=lambda trees: trees.n_inputs), least=1),
        "share": number(0.0, 1.0),
    }
)
@dataclass(frozen=True)
class Correction:
    """Shift of predictions: a share of ``deviation(x) * h(x)``, h the mean of boosted trees.

    Attributes
    ----------
    boosters : tuple of Booster
        Fitted to residuals in deviations of the noise.
    share : float
        Share of the boosters' prediction that is applied, from 0 to 1.
    """

    boosters: tuple[Booster, ...]
    share: float

    def __call__(self, X: Array, deviation: Array, n_threads: int = 1) -> Array:
        """Shift of the predictive means of standardised rows X (n, d) with deviations (n,), shape (n,)."""
        return self.share * deviation * _mean_of(self.boosters, X, n_threads)

    @property
    def nbytes(self) -> int:
        """Bytes of the trees."""
        return sum(booster.nbytes for booster in self.boosters if isinstance(booster, BoostedTrees))


def fit_booster(residuals: Residuals, seed: int, n_threads: int) -> BoostedTrees | None:
    """Trees that predict residuals in deviations; None where there are too few rows to learn from."""
    if len(residuals.error) < LEAST_ROWS:
        return None
    booster = HistGradientBoostingRegressor(**BOOSTER, early_stopping=False, random_state=seed)  # pyright: ignore[reportArgumentType]
    # Scaled to a mean of one: splits need a least weight.
    importance, n_inputs = residuals.importance / residuals.importance.mean(), residuals.X.shape[1]
    with openmp_threads(_threads(len(importance), n_threads)):
        if n_inputs <= WIDE:
            return grow(booster, residuals.X, residuals.standardized, importance)
        inputs = _telling_inputs(residuals, seed)
        return grow(booster, residuals.X[:, inputs], residuals.standardized, importance).among(inputs, n_inputs)


def _telling_inputs(residuals: Residuals, seed: int) -> Indices:
    """Inputs along which the errors' means vary most, in any form: trees of all would take memory for each.

    They are told from some rows of the whole table in random order: in that of the table, which may be sorted, errors
    that drift would go with every input of few values.
    """
    rows = np.random.default_rng(seed).permutation(len(residuals.error))[:SORTED_ROWS]
    error = residuals.importance[rows] * residuals.standardized[rows]
    error = error - error.mean()
    n_inputs = residuals.X.shape[1]
    parts = (residuals.X[rows, first : first + WIDE] for first in range(0, n_inputs, WIDE))
    return largest(np.concatenate([_variation(error, part) for part in parts]), CHOSEN_INPUTS)


def _variation(error: Array, X: Array) -> Array:
    """How much means of errors (n,) vary along each input of X (n, d), shape (d,); less than nothing for constants."""
    starts = np.arange(SORTED_PARTS) * len(error) // SORTED_PARTS
    variation = np.sum(np.add.reduceat(error[np.argsort(X, axis=0, kind="stable")], starts) ** 2, axis=0)
    return np.where(np.ptp(X, axis=0) > 0, variation, -1.0)


def fit_correction(boosters: Sequence[Booster], held_out: list[Residuals], n_threads: int) -> Correction | None:
    """A correction with the share that is best, in least squares, for rows held out of both trees and boosters.

    Booster i is judged on rows `held_out[i]`; the correction is the mean of all. None where it does not help.
    """
    along = squared = 0.0
    for booster, rows in zip(boosters, held_out, strict=True):
        shift = _mean_of((booster,), rows.X, n_threads)
        along += float(np.sum(rows.importance * shift * rows.standardized))
        squared += float(np.sum(rows.importance * shift * shift))
    share = min(1.0, along / squared) if squared > 0.0 else 0.0
    return Correction(tuple(boosters), share) if share >= LEAST_SHARE else None


def _mean_of(boosters: tuple[Booster, ...], X: Array, n_threads: int) -> Array:
    with openmp_threads(_threads(len(X), n_threads)):
        return mean_in_order(np.stack([booster.predict(X) for booster in boosters]))


def _threads(n_rows: int, n_threads: int) -> int:
    """One thread for few rows: where cores are busy, threads wait for each other longer than short loops take."""
    return min(n_threads, 1 + n_rows // ROWS_PER_THREAD)
