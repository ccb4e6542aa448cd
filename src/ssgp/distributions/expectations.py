"""Means and variances of functions of a Student-t mixture's values, by one rule for all rows."""

from collections.abc import Callable

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.tiles import mean_in_order

__all__ = ["ValueFunction", "mixture_moments"]

# A function of values (..., k) of k rows, and of the places of these rows among all, with values of the same shape.
ValueFunction = Callable[[Array, slice | Indices], Array]

# Nodes of the trapezoidal rule after the substitution t = sinh(STRETCH sinh(u)), in standardised values: it converges
# fast for smooth functions that grow at most linearly, whatever the degrees of freedom. The last is 10^6 scales out.
STRETCH, END, N_NODES = 1.1, 3.3, 61
# Numbers of nodes times components times rows that are evaluated together: arrays that fit a processor's cache.
NUMBERS_AT_ONCE = 1 << 15


def _rule() -> tuple[Array, Array]:
    """Nodes and weights of the rule for integrals over all numbers, shape (N_NODES,)."""
    u, step = np.linspace(-END, END, N_NODES, retstep=True)
    inner = STRETCH * np.sinh(u)
    return np.sinh(inner), float(step) * np.cosh(inner) * STRETCH * np.cosh(u)


NODES, WEIGHTS = _rule()


def mixture_moments(
    location: Array, scale: Array, dof: Array, log_peaks: Array, function: ValueFunction
) -> tuple[Array, Array]:
    """Means and variances of functions of the values of mixtures, shapes (n,).

    Parameters
    ----------
    location, scale, dof, log_peaks : arrays of shape (T, n)
        Components of the mixtures, and their log densities at their locations.
    function : callable
        Smooth function of values (..., k) of the rows of a slice, which grows at most linearly.
    """
    n_components, n_rows = location.shape
    size = max(1, NUMBERS_AT_ONCE // (N_NODES * n_components))
    mean, variance = np.empty(n_rows), np.empty(n_rows)
    for start in range(0, n_rows, size):
        rows = slice(start, start + size)
        mean[rows], variance[rows] = _moments(
            *(location[:, rows], scale[:, rows], dof[:, rows], log_peaks[:, rows]),
            lambda values, rows=rows: function(values, rows),
        )
    return mean, variance


def _moments(
    location: Array, scale: Array, dof: Array, log_peaks: Array, function: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """The same of few rows."""
    log_peaks = log_peaks + np.log(scale)
    # Components of one row mostly have the same tails.
    if (dof == dof[:1]).all():
        dof, log_peaks = dof[:1], log_peaks[:1]
    nodes = NODES[:, None, None]
    weights = WEIGHTS[:, None, None] * np.exp(log_peaks - (0.5 * dof + 0.5) * np.log1p(nodes * nodes / dof))
    # What is missing from one, beyond the last node and by rounding, is shared by all.
    weights /= _sum(weights)
    # Around a value in their midst, squares keep their digits.
    middle = function(mean_in_order(location))
    values = function(location + scale * nodes)
    values -= middle
    terms = weights * values
    first = mean_in_order(_sum(terms))
    terms *= values
    return middle + first, np.maximum(mean_in_order(_sum(terms)) - first * first, 0.0)


def _sum(parts: Array) -> Array:
    """Sums over the first axis (N_NODES, T, k), shape (T, k), in one order whatever the number of rows."""
    flat = parts.reshape(len(parts), -1)
    return (mean_in_order(flat) * len(parts)).reshape(parts.shape[1:])
