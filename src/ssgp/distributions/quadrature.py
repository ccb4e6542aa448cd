"""Integrals over a half line, one per row."""

from collections.abc import Callable

import numpy as np

from ssgp._utils.arrays import Array, Indices

__all__ = ["half_line_integral"]

# End of the integral in the variable of the double exponential rule, for functions that fall faster than a square.
END = 2.6
FIRST_STEP = 0.4
MOST_HALVINGS = 4
# Change of an integral by a halving, relative to it, that ends the search. The rule converges so fast that the error is
# then about a thousandth of the change, or a tenth of it where components differ a hundredfold in scale.
TOLERANCE = 2e-3


def half_line_integral(integrand: Callable[[Array, Indices], Array], scale: Array) -> Array:
    """Integrals from 0 to infinity of smooth functions that fall like a power, shape (n,).

    They are computed by the trapezoidal rule after the substitution x = scale exp(pi/2 sinh t), whose steps are halved
    until the integral converges; rows that have converged are not evaluated again.

    Parameters
    ----------
    integrand : callable
        Function of points (k,), one per row, and of the numbers of these rows (k,), with values (k,).
    scale : array of shape (n,)
        Size of the region that holds most of each integral.
    """
    rows, step = np.arange(len(scale)), FIRST_STEP
    result = step * _sum(integrand, scale, rows, np.arange(-END, END + 0.5 * step, step))
    for _ in range(MOST_HALVINGS):
        if not len(rows):
            break
        midpoints = _sum(integrand, scale, rows, np.arange(-END + 0.5 * step, END, step))
        step *= 0.5
        finer = 0.5 * result[rows] + step * midpoints
        changed = np.abs(finer - result[rows]) > TOLERANCE * finer
        result[rows] = finer
        rows = rows[changed]
    return result


def _sum(integrand: Callable[[Array, Indices], Array], scale: Array, rows: Indices, t: Array) -> Array:
    """Sums over nodes t of integrand times dx/dt, shape (k,) for k rows."""
    stretch = np.exp(0.5 * np.pi * np.sinh(t))
    slope = 0.5 * np.pi * np.cosh(t) * stretch
    scale = scale[rows]
    terms = (s * scale * integrand(x * scale, rows) for x, s in zip(stretch, slope, strict=True))
    return sum(terms, np.zeros(len(rows)))
