"""Weights of rows where many rows have to have a say."""

from math import ceil

import numpy as np

from ssgp._utils.arrays import Array

__all__ = ["MOST_SHARE_OF_ERRORS", "limit_share"]

# Where errors are judged, the share that one row may have: copies of its error say nothing of how large others are.
MOST_SHARE_OF_ERRORS = 0.05


def limit_share(weight: Array, share: float) -> Array:
    """The weights (n,) with the largest lowered until none has more than this share of their sum.

    Where there are too few rows for that, all have the same. Weights that need not be lowered are returned as they are.
    """
    weight = np.asarray(weight, dtype=float)
    if not len(weight) or weight.max() <= share * weight.sum():
        return weight
    if share * len(weight) <= 1.0:
        return np.full(len(weight), weight.min())
    lowered = np.arange(1, ceil(1.0 / share))
    ascending = np.partition(weight, -1 - lowered)
    largest = np.sort(ascending[-1 - lowered[-1] :])[::-1]
    others = ascending[: -1 - lowered[-1]].sum() + np.cumsum(largest[:0:-1])[::-1]
    # With so many of the largest at one limit, each has the share of the sum of these limits and the others.
    limits = share * others / (1.0 - share * lowered)
    return np.minimum(weight, limits[np.argmax(limits >= largest[1:])])
