"""How good predictions are, beside those that need no model."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.distributions.base import Distribution
from ssgp.distributions.normal import NormalDistribution
from ssgp.metrics import rmse
from ssgp.plot.predictive import Judged

__all__ = ["Score", "baseline_scores", "score"]

# Takes inputs and targets to learn from, and inputs to predict, to predicted means.
Learner = Callable[[Array, Array, Array], Array]

FOLDS = 5
# Least squares with more inputs takes longer than it is worth.
MOST_INPUTS = 300


@dataclass(frozen=True)
class Score:
    """How good predictions are.

    Attributes
    ----------
    name : str
        Of what predicts.
    rmse, absolute : float
        Root mean squared and mean absolute error.
    surprise : float
        Mean negative log density of the targets.
    covered : float
        Share of the targets inside their 95 % interval.
    """

    name: str
    rmse: float
    absolute: float
    surprise: float
    covered: float


def score(name: str, judged: Judged) -> Score:
    """Of a model."""
    return _score(name, judged.y, judged.moments[0], judged.said, judged.pit)


def baseline_scores(X: Array, y: Array, random_state: int) -> list[Score]:
    """Of the mean and of a straight line, each row predicted from other rows than its own fold.

    Lines that could not be fitted, or not quickly, are left out.
    """
    if len(y) < 2 * FOLDS:
        return []
    learners: dict[str, Learner] = {"the mean alone": _mean}
    if X.shape[1] <= MOST_INPUTS and len(y) > 2 * X.shape[1] + FOLDS:
        learners["a straight line (least squares)"] = _line
    fold = np.random.default_rng(random_state).permutation(len(y)) % FOLDS
    scores = []
    for name, learner in learners.items():
        said = _cross_fitted(learner, X, y, fold)
        scores.append(_score(name, y, said.mean(), said, said.cdf(y)))
    return scores


def _score(name: str, y: Array, mean: Array, said: Distribution, pit: Array) -> Score:
    surprise, covered = -np.mean(said.logpdf(y)), np.mean(np.abs(pit - 0.5) <= 0.475)
    return Score(name, rmse(y, mean), float(np.mean(np.abs(y - mean))), float(surprise), float(covered))


def _cross_fitted(learner: Learner, X: Array, y: Array, fold: Indices) -> NormalDistribution:
    """Predictions of every fold from the others, with the deviation that errors have there."""
    mean, deviation = np.empty(len(y)), np.empty(len(y))
    for number in range(FOLDS):
        own = fold == number
        mean[own] = learner(X[~own], y[~own], X[own])
        deviation[own] = np.std(y[~own] - learner(X[~own], y[~own], X[~own]))
    return NormalDistribution(mean, np.maximum(deviation, np.finfo(float).tiny))


def _mean(X: Array, y: Array, X_new: Array) -> Array:
    return np.full(len(X_new), y.mean())


def _line(X: Array, y: Array, X_new: Array) -> Array:
    centre, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    weights = np.linalg.lstsq((X - centre) / scale, y - y.mean(), rcond=1e-9)[0]
    return y.mean() + (X_new - centre) / scale @ weights
