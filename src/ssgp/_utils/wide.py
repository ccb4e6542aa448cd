"""Rows of many inputs: how many of them are worked on at once, and which inputs a model looks at."""

import numpy as np

from ssgp._utils.arrays import Array, Indices

__all__ = ["CHOSEN_INPUTS", "COPIED_ROWS", "WIDE", "fewer_if_wide", "largest", "n_trend_inputs", "target_correlations"]

# Inputs beyond which a row is wide,
WIDE = 300
# and inputs of a wide row that some parts of a model look at: those whose cost grows with more than the table.
CHOSEN_INPUTS = 100
# Rows of so many inputs that are copied at a time, at most, where rows are wider.
COPIED_ROWS = 1 << 16
# Rows that tell how inputs and target go together.
CORRELATED_ROWS = 20_000


def n_trend_inputs(n_inputs: int) -> int:
    """How many of its inputs local models of a table are linear in."""
    return n_inputs if n_inputs <= WIDE else CHOSEN_INPUTS


def fewer_if_wide(n_rows: int, n_inputs: int, multiple_of: int = 1) -> int:
    """So many rows, or where they are wide as many as have the numbers of these or of `COPIED_ROWS`, in a multiple."""
    if n_inputs <= WIDE:
        return n_rows
    return max(1, min(n_rows, COPIED_ROWS) * WIDE // n_inputs // multiple_of) * multiple_of


def largest(score: Array, count: int) -> Indices:
    """Places of the largest scores along the last axis, ascending, shape (..., count); of equals, the first."""
    places = np.argsort(-score, axis=-1, kind="stable")[..., :count]
    return np.sort(places, axis=-1)


def target_correlations(X: Array, y: Array, weight: Array | None = None) -> Array:
    """Squared correlations of inputs (n, d) with the target (n,), shape (d,), zero for a constant input."""
    X, y = X[:CORRELATED_ROWS], y[:CORRELATED_ROWS].astype(float)
    counts = np.ones(len(y)) if weight is None else weight[:CORRELATED_ROWS].astype(float)
    share: Array = counts / counts.sum()
    centred = (share * (y - share @ y)).astype(X.dtype)
    share = share.astype(X.dtype)
    mean, square = share @ X, np.einsum("n,nd,nd->d", share, X, X)
    variance = (square - mean * mean).astype(float)
    return np.where(variance > 1e-6 * square, (centred @ X) ** 2 / np.where(variance > 0, variance, 1.0), 0.0)
