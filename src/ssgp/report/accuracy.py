"""Scores of a model, and of predictions that need no model."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.distributions.base import Distribution
from ssgp.distributions.normal import NormalDistribution
from ssgp.metrics import coverage, crps, log_score, rmse
from ssgp.plot.predictive import PredictedRows

__all__ = ["Score", "baseline_scores", "score"]

# Returns means of new inputs, from inputs and targets to learn from: predict(X, y, X_new).
Learner = Callable[[Array, Array, Array], Array]

FOLDS = 5
# Least squares with more inputs takes longer than it is worth.
MOST_INPUTS = 300


@dataclass(frozen=True)
class Score:
    """Scores of predictions.

    Attributes
    ----------
    name : str
        What makes the predictions, in words.
    rmse, absolute : float
        Root mean squared and mean absolute error.
    surprise, crps : float
        Mean negative log density of the targets, and mean continuous ranked probability score.
    covered : float
        Share of the targets inside their 95 % interval.
    """

    name: str
    rmse: float
    absolute: float
    surprise: float
    crps: float
    covered: float


def score(name: str, predicted: PredictedRows) -> Score:
    """Score of a model's predictions."""
    return _score(name, predicted.y, predicted.mean, predicted.distribution)


def baseline_scores(X: Array, y: Array, random_state: int) -> list[Score]:
    """Scores of the mean and of a straight line, each row predicted from the rows of the other folds.

    Lines that could not be fitted, or not quickly, are left out.
    """
    if len(y) < 2 * FOLDS:
        return []
    learners: dict[str, Learner] = {"the baseline (mean and deviation)": _mean}
    if X.shape[1] <= MOST_INPUTS and len(y) > 2 * X.shape[1] + FOLDS:
        learners["a straight line (least squares)"] = _line
    fold = np.random.default_rng(random_state).permutation(len(y)) % FOLDS
    scores = []
    for name, learner in learners.items():
        distribution = _cross_fitted(learner, X, y, fold)
        scores.append(_score(name, y, distribution.mean(), distribution))
    return scores


def _score(name: str, y: Array, mean: Array, distribution: Distribution) -> Score:
    return Score(
        name,
        rmse=rmse(y, mean),
        absolute=float(np.mean(np.abs(y - mean))),
        surprise=log_score(y, distribution),
        crps=crps(y, distribution),
        covered=float(coverage(y, distribution, level=0.95)),
    )


def _cross_fitted(learner: Learner, X: Array, y: Array, fold: Indices) -> NormalDistribution:
    """Predictions of every fold from the others, with the deviation that errors have there."""
    mean, deviation = np.empty(len(y)), np.empty(len(y))
    for number in range(FOLDS):
        test, train = fold == number, fold != number
        mean[test] = learner(X[train], y[train], X[test])
        deviation[test] = np.std(y[train] - learner(X[train], y[train], X[train]))
    return NormalDistribution(mean, np.maximum(deviation, np.finfo(float).tiny))


def _mean(X: Array, y: Array, X_new: Array) -> Array:
    return np.full(len(X_new), y.mean())


def _line(X: Array, y: Array, X_new: Array) -> Array:
    centre, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    weights = np.linalg.lstsq((X - centre) / scale, y - y.mean(), rcond=1e-9)[0]
    return y.mean() + (X_new - centre) / scale @ weights
