"""Scores of predicted distributions: lower is better, and best on average is the true distribution."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import root_mean_squared_error

from ssgp.metrics.arguments import Predicted, averages, check_levels, check_predicted, mean, one_or_all

__all__ = ["crps", "interval_score", "log_score", "pinball_loss", "rmse"]


def rmse(y_true: ArrayLike, y_mean: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Root mean squared error.

    Parameters
    ----------
    y_true, y_mean : array-like of shape (n,)
        Observed targets and predicted means.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> rmse([1.0, 2.0], [1.0, 4.0])
    1.4142135623730951
    """
    if callable(getattr(y_mean, "logpdf", None)):
        raise TypeError("y_mean must hold means, and is distributions: give distribution.mean()")
    return float(root_mean_squared_error(y_true, y_mean, sample_weight=sample_weight))


def log_score(y_true: ArrayLike, distribution: Predicted, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean negative log density of the targets: the MNLP of the paper, of the distributions as they are.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Observed targets.
    distribution : Distribution
        What `predict_distribution` returns for these rows.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> from ssgp.distributions import NormalDistribution
    >>> round(log_score([0.0], NormalDistribution.of([0.0], [1.0])), 4)
    0.9189
    """
    true = check_predicted(y_true, distribution, "logpdf")
    return mean(-distribution.logpdf(true), sample_weight)


def crps(y_true: ArrayLike, distribution: Predicted, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean continuous ranked probability score, E abs(Y - y) - E abs(Y - Y') / 2: the absolute error of distributions.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Observed targets.
    distribution : Distribution
        What `predict_distribution` returns for these rows.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> from ssgp.distributions import NormalDistribution
    >>> round(crps([0.0], NormalDistribution.of([0.0], [1.0])), 4)
    0.2337
    """
    true = check_predicted(y_true, distribution, "crps")
    return mean(distribution.crps(true), sample_weight)


def interval_score(
    y_true: ArrayLike, distribution: Predicted, *, coverage: float = 0.95, sample_weight: ArrayLike | None = None
) -> float:
    """Mean Winkler score of central intervals: their width, and 2 / (1 - coverage) times how far targets are outside.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Observed targets.
    distribution : Distribution
        What `predict_distribution` returns for these rows.
    coverage : float, default=0.95
        Probability of the intervals.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> from ssgp.distributions import NormalDistribution
    >>> predicted = NormalDistribution.of([0.0, 0.0], [1.0, 1.0])
    >>> round(interval_score([0.0, 3.0], predicted, coverage=0.9), 2)
    16.84
    """
    true = check_predicted(y_true, distribution, "interval")
    (level,) = check_levels([coverage], "coverage")
    low, high = distribution.interval(level).T
    outside = np.maximum(low - true, 0.0) + np.maximum(true - high, 0.0)
    return mean(high - low + 2.0 / (1.0 - level) * outside, sample_weight)


def pinball_loss(
    y_true: ArrayLike, distribution: Predicted, *, level: ArrayLike = 0.5, sample_weight: ArrayLike | None = None
) -> Any:  # noqa: ANN401  float or Array
    """Mean pinball loss of quantiles: half the absolute error for the median.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Observed targets.
    distribution : Distribution
        What `predict_distribution` returns for these rows.
    level : float or array-like of shape (k,), default=0.5
        Levels of the quantiles, between 0 and 1.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float or array of shape (k,)
        A loss for each level.

    Examples
    --------
    >>> from ssgp.distributions import NormalDistribution
    >>> predicted = NormalDistribution.of([0.0, 0.0], [1.0, 1.0])
    >>> pinball_loss([-1.0, 3.0], predicted, level=[0.5, 0.9]).round(2).tolist()
    [1.0, 0.89]
    """
    true = check_predicted(y_true, distribution, "quantile")
    levels = check_levels(level, "level")
    error = true[:, None] - distribution.quantile(levels)
    loss = np.maximum(error * levels, error * np.subtract(levels, 1.0))
    return one_or_all(averages(loss, sample_weight), level)
