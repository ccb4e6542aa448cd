"""A few values that lie far from all others: one of them would set the scale that all are seen in."""

import numpy as np

from ssgp._utils.arrays import Array

__all__ = ["clean_range"]

# Values are isolated if they are so many mean distances from the median,
FAR = 100.0
# so many times as far as the next one,
GAP = 20.0
# and at most this share of all, or one.
MOST_SHARE = 0.001
# Fewer values do not tell.
LEAST_VALUES = 20


def clean_range(values: Array, extremes: tuple[float, ...] = ()) -> tuple[float, float] | None:
    """Range of all values (n,) but a few isolated ones, even on both sides of the median; None where there are none.

    `extremes` are the least and the largest value of a table of which the values are a sample.
    """
    n_values = len(values)
    if n_values < LEAST_VALUES:
        return None
    # Of values at the end of all numbers, sums are infinite: none of those is isolated then.
    with np.errstate(over="ignore", invalid="ignore"):
        return _range_of_others(values, extremes)


def _range_of_others(values: Array, extremes: tuple[float, ...]) -> tuple[float, float] | None:
    n_values = len(values)
    middle = float(np.median(values))
    distance = np.abs(values - middle)
    most = max(1, int(MOST_SHARE * n_values))
    farthest = np.sort(np.partition(distance, n_values - most - 1)[n_values - most - 1 :])[::-1]
    far = FAR * float(np.mean(distance[distance <= farthest[most]]))
    isolated = [k for k in range(1, most + 1) if farthest[k - 1] > max(far, GAP * farthest[k])]
    clean = float(farthest[max(isolated, default=0)])
    outside = max((abs(value - middle) for value in extremes), default=0.0)
    if far == 0.0 or not (isolated or outside > max(far, GAP * clean)):
        return None
    return middle - clean, middle + clean
