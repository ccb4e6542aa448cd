"""Whether distributions are calibrated: coverage of intervals, and where targets fall in their distributions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import kolmogi, kolmogorov
from scipy.stats import kstwo
from sklearn.utils import check_random_state

from ssgp._utils.arrays import Array, Mask
from ssgp.metrics.arguments import Predicted, averages, check_levels, check_predicted, check_vectors, one_or_all

__all__ = ["Uniformity", "between", "coverage", "inside_intervals", "pit", "pit_uniformity", "probabilities"]

# By which sums of probabilities may differ from their limits.
ROUNDING = 1e-9
# Rows for which the test's exact law takes next to no time.
MOST_EXACT = 10_000


def coverage(
    y_true: ArrayLike,
    distribution: Predicted,
    *,
    level: ArrayLike = 0.95,
    sample_weight: ArrayLike | None = None,
) -> Any:  # noqa: ANN401  float or Array
    """Share of targets inside their central interval, ends included.

    Where distributions have point masses, intervals hold more than their level, and the share is larger too; see `pit`.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Observed targets.
    distribution : Distribution
        What `predict_distribution` returns for these rows.
    level : float or array-like of shape (k,), default=0.95
        Probabilities of the intervals, between 0 and 1. Calibrated distributions cover about these shares.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float or array of shape (k,)
        A share for each level.

    Examples
    --------
    >>> from ssgp.distributions import NormalDistribution
    >>> coverage([0.0, 1.5], NormalDistribution.of([0.0, 0.0], [1.0, 1.0]), level=[0.5, 0.95]).tolist()
    [0.5, 1.0]
    """
    levels = check_levels(level, "level")
    true = check_predicted(y_true, distribution, "cdf")
    inside = inside_intervals(*probabilities(true, distribution), levels)
    return one_or_all(averages(inside, sample_weight), level)


def probabilities(y: Array, distribution: Predicted) -> tuple[Array, Array]:
    """Predictive probabilities of less than y and of at most y, shapes (n,); they differ at point masses alone."""
    at_most = distribution.cdf(y)
    left = getattr(distribution, "cdf_left", None)
    return at_most if left is None else left(y), at_most


def inside_intervals(below: Array, at_most: Array, levels: ArrayLike) -> Mask:
    """Whether targets are in closed central intervals of k levels, from probabilities of less and at most; (n, k).

    A target is at least the lower end exactly if at most so much has a probability of (1 - level) / 2, which is known
    without looking for quantiles.
    """
    half = np.divide(levels, 2.0)
    return (at_most[:, None] >= 0.5 - half) & (below[:, None] <= 0.5 + half)


def pit(y_true: ArrayLike, distribution: Predicted, random_state: Any = 0) -> Array:  # noqa: ANN401  a seed
    """Probability integral transform: predictive probabilities of at most the target, uniform if calibrated.

    At a target with a point mass, a random number between the probabilities of less and of at most the target, so that
    calibrated distributions give uniform numbers there, too.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Observed targets.
    distribution : Distribution
        What `predict_distribution` returns for these rows.
    random_state : int, RandomState, Generator or None, default=0
        Seed of what is drawn at point masses.

    Returns
    -------
    array of shape (n,)
        Numbers between 0 and 1.

    Examples
    --------
    >>> from ssgp.distributions import NormalDistribution
    >>> pit([0.0, 1.96], NormalDistribution.of([0.0, 0.0], [1.0, 1.0])).round(3).tolist()
    [0.5, 0.975]
    """
    below, at_most = probabilities(check_predicted(y_true, distribution, "cdf"), distribution)
    if below is at_most:
        return at_most
    rng = random_state if isinstance(random_state, np.random.Generator) else check_random_state(random_state)
    return between(below, at_most, rng.uniform(size=len(below)))


def between(below: Array, at_most: Array, chance: Array | float) -> Array:
    """Numbers between probabilities of less and of at most the target, by uniform random ones; shapes (n,)."""
    return at_most if below is at_most else below + chance * (at_most - below)


@dataclass(frozen=True)
class Uniformity:
    """How far numbers are from uniform between 0 and 1, by Kolmogorov and Smirnov.

    Attributes
    ----------
    distance : float
        Largest difference of their distribution function from the uniform one.
    by_chance : float
        Distance that 1 of 20 samples of so many uniform numbers exceeds.
    p_value : float
        Probability of at least this distance if they are independent and uniform.
    """

    distance: float
    by_chance: float
    p_value: float


def pit_uniformity(pit: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Uniformity:
    """Test of whether targets fall in their distributions as if these were right.

    Weights are taken as those of a sample: a row of great weight is still one row, so that the test speaks of fewer
    rows, (sum w)^2 / sum w^2, where weights differ. Among a million rows every model is far from right by this test;
    the distance says by how much.

    Parameters
    ----------
    pit : array-like of shape (n,)
        What `pit` returns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> found = pit_uniformity([0.1, 0.3, 0.5, 0.7, 0.9])
    >>> round(found.distance, 3), round(found.p_value, 3)
    (0.1, 1.0)
    """
    (values,) = check_vectors(pit=pit)
    if values.min() < -ROUNDING or values.max() > 1 + ROUNDING:
        raise ValueError(f"pit must lie between 0 and 1, found {values.min()} to {values.max()}")
    weight = np.ones(len(values))
    if sample_weight is not None:
        _, weight = check_vectors(pit=values, sample_weight=sample_weight)
    order = np.argsort(values, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(weight[order])]) / weight.sum()
    distance = float(max(np.max(below[1:] - values[order]), np.max(values[order] - below[:-1])))
    if sample_weight is None and len(values) <= MOST_EXACT:
        return Uniformity(distance, float(kstwo.isf(0.05, len(values))), float(kstwo.sf(distance, len(values))))
    root = weight.sum() / np.sqrt(weight @ weight)
    # Stephens' correction of Kolmogorov's limit law for samples that are not endless.
    scale = float(root + 0.12 + 0.11 / root)
    return Uniformity(distance, float(kolmogi(0.05)) / scale, float(kolmogorov(scale * distance)))
