"""Of many inputs those that errors go with: boosted trees of all would take memory for each."""

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.wide import CHOSEN_INPUTS, WIDE, largest

__all__ = ["telling_inputs"]

# Rows that tell which inputs errors go with, and the parts they are sorted into.
SORTED_ROWS = 5000
SORTED_PARTS = 16


def telling_inputs(X: Array, error: Array, seed: int) -> Indices:
    """Inputs of X (n, d) along which the means of errors (n,) vary most, in any form.

    They are told from some rows of the whole table in random order: in that of the table, which may be sorted, errors
    that drift would go with every input of few values.
    """
    rows = np.random.default_rng(seed).permutation(len(error))[:SORTED_ROWS]
    error = error[rows] - error[rows].mean()
    n_inputs = X.shape[1]
    parts = (X[rows, first : first + WIDE] for first in range(0, n_inputs, WIDE))
    return largest(np.concatenate([_variation(error, part) for part in parts]), CHOSEN_INPUTS)


def _variation(error: Array, X: Array) -> Array:
    """How much means of errors (n,) vary along each input of X (n, d), shape (d,); less than nothing for constants."""
    starts = np.arange(SORTED_PARTS) * len(error) // SORTED_PARTS
    variation = np.sum(np.add.reduceat(error[np.argsort(X, axis=0, kind="stable")], starts) ** 2, axis=0)
    return np.where(np.ptp(X, axis=0) > 0, variation, -1.0)
