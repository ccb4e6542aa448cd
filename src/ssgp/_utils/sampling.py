"""Random rows of tables of any size."""

import numpy as np

from ssgp._utils.arrays import Indices

__all__ = ["random_rows"]

# Rows whose numbers take next to no memory.
FEW = 1_000_000


def random_rows(n_rows: int, n_wanted: int, seed: int | None) -> Indices:
    """Numbers of random rows in random order: all of them, or so many. Memory is of the order of the latter."""
    rng = np.random.default_rng(seed)
    if n_rows <= max(FEW, 4 * n_wanted):
        return rng.permutation(n_rows)[:n_wanted]
    # A quarter and some more than are wanted, less those drawn twice.
    drawn = np.unique(rng.integers(n_rows, size=n_wanted + n_wanted // 4 + 100))
    return rng.permutation(drawn)[:n_wanted]
