"""Rows of many inputs: how many of them are worked on at once, and which inputs a model looks at."""

import numpy as np

from ssgp._utils.arrays import Array, Indices

__all__ = ["WIDE", "fewer_if_wide", "largest", "target_correlations"]

# Inputs from which a row is wide: models that grow with the square of their inputs look at no more.
WIDE = 300
# Rows that tell how inputs and target go together.
CORRELATED_ROWS = 20_000


def fewer_if_wide(n_rows: int, n_inputs: int, multiple_of: int = 1) -> int:
    """So many rows, or where they are wide as many as have no more numbers, in a multiple."""
    if n_inputs <= WIDE:
        return n_rows
    return max(1, n_rows * WIDE // n_inputs // multiple_of) * multiple_of


def largest(score: Array, count: int) -> Indices:
    """Places of the largest scores along the last axis, ascending, shape (..., count); of equals, the first."""
    places = np.argsort(-score, axis=-1, kind="stable")[..., :count]
    return np.sort(places, axis=-1)


def target_correlations(X: Array, y: Array, weight: Array | None = None) -> Array:
    """Squared correlations of inputs (n, d) with the target (n,), shape (d,), zero for a constant input."""
    X, y = X[:CORRELATED_ROWS], y[:CORRELATED_ROWS].astype(float)
    weight = np.ones(len(y)) if weight is None else weight[:CORRELATED_ROWS].astype(float)
    weight = weight / weight.sum()
    centred = (weight * (y - weight @ y)).astype(X.dtype)
    mean, square = weight.astype(X.dtype) @ X, np.einsum("n,nd,nd->d", weight.astype(X.dtype), X, X)
    variance = (square - mean * mean).astype(float)
    return np.where(variance > 1e-6 * square, (centred @ X) ** 2 / np.where(variance > 0, variance, 1.0), 0.0)
