"""Weights of rows where many rows have to have a say."""

from math import ceil

import numpy as np

from ssgp._utils.arrays import Array
from ssgp._utils.warning import warn_user

__all__ = ["MOST_SHARE_OF_ERRORS", "MOST_SHARE_OF_UNITS", "limit_share", "warn_of_copies"]

# In units of one row and little else, all other rows would be far away.
MOST_SHARE_OF_UNITS = 0.1
# Where errors are judged: copies of one error say nothing of how large others are.
MOST_SHARE_OF_ERRORS = 0.05
# Weights up to so many times the median are never lowered.
USUAL_TIMES = 10.0
# Copies of a row, in the mean, from which on a process that can pass through all rows does.
MANY_COPIES = 5.0


def limit_share(weight: Array, share: float) -> Array:
    """The weights (n,) with the largest lowered until none has more than this share of their sum.

    None is lowered to less than ten times their median, so that weights that differ no more stay as they are.
    """
    weight = np.asarray(weight, dtype=float)
    if weight.max(initial=0.0) <= share * weight.sum():
        return weight
    usual = USUAL_TIMES * float(np.median(weight))
    return weight if weight.max() <= usual else np.minimum(weight, max(usual, _limit(weight, share)))


def warn_of_copies(weight: Array | None) -> None:
    """Warn, for a process that can pass through all rows, of weights that say they have no noise."""
    if weight is not None and weight.mean() > MANY_COPIES:
        warn_user(
            f"sample_weight says that every row was seen {float(weight.mean()):.3g} times, always with the same "
            "target: this model then takes the targets for nearly free of noise. If only ratios of the weights matter, "
            "divide them by their mean"
        )


def _limit(weight: Array, share: float) -> float:
    """The limit at which lowered weights have this share of the sum; the least weight where rows are too few."""
    if share * len(weight) <= 1.0:
        return float(weight.min())
    lowered = np.arange(1, ceil(1.0 / share))
    ascending = np.partition(weight, -1 - lowered)
    largest = np.sort(ascending[-1 - lowered[-1] :])[::-1]
    others = ascending[: -1 - lowered[-1]].sum() + np.cumsum(largest[:0:-1])[::-1]
    # With so many of the largest at one limit, each has the share of the sum of these limits and the others.
    limits = share * others / (1.0 - share * lowered)
    return float(limits[np.argmax(limits >= largest[1:])])
