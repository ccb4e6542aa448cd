"""Rows in the order of time: the last of them are held out of models of those before, as new rows will come."""

import numpy as np

from ssgp._utils.arrays import Array

__all__ = ["parts_in_time"]

# So many last parts of so many rows each are held out in turn: one alone may be unlike those that come.
N_PARTS = 3
PART_SHARE = 0.1


def parts_in_time(times: Array) -> Array:
    """Times at which the last parts of the rows begin, ascending; rows of one time (n,) are of one part."""
    values, first = np.unique(np.sort(times), return_index=True)
    if len(values) < 2:
        raise ValueError("time is the same in all rows: the last ones are held out, which takes at least two times")
    wanted = len(times) * (1.0 - PART_SHARE * np.arange(N_PARTS, 0, -1))
    nearest = 1 + np.argmin(np.abs(first[1:, None] - wanted), axis=0)
    return values[np.unique(nearest)]
