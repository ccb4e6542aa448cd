"""Where to cut the rows of many nodes in two: all nodes of a stack at once."""

import numpy as np

from ssgp._utils.arrays import Array
from ssgp._utils.wide import largest

__all__ = ["cut_directions"]

# Rows of a node that are looked at.
DIRECTION_ROWS = 512
# Of a cut that looks at the target: rows below which it does not, inputs that compete, the ridge of the linear models
# per row, and rows that either side has to have.
COMPARED_ROWS = 40
COMPETING_INPUTS = 2
LINEAR_RIDGE = 1e-3
MIN_SIDE_ROWS = 10
# Steps towards the direction in which rows of more inputs than the next number differ most: about there is enough.
POWER_STEPS = 30
# Inputs of the linear models, at most: those that go with the target in the node.
LINEAR_INPUTS = 100


def cut_directions(X: Array, y: Array | None, rng: np.random.Generator, jitter: float) -> Array:
    """Normals of the hyperplanes that cut k nodes, shape (k, d).

    Parameters
    ----------
    X : array of shape (k, n, d)
        Rows of the nodes.
    y : array of shape (k, n) or None
        Their targets. With them some inputs, drawn at random, compete with the direction in which the rows differ most:
        that one wins for which linear models of the target in the two halves are most probable.
    rng : Generator
        Source of everything random.
    jitter : float
        Length of a random vector that is added to the direction, relative to it.
    """
    n_nodes, n_rows, n_inputs = X.shape
    if n_rows > DIRECTION_ROWS:
        drawn = rng.integers(0, n_rows, (n_nodes, DIRECTION_ROWS))
        X = np.take_along_axis(X, drawn[:, :, None], axis=1)
        y = None if y is None else np.take_along_axis(y, drawn, axis=1)
    widest = _widest_directions(X)
    if jitter:
        widest = widest + (jitter / np.sqrt(n_inputs) * rng.standard_normal(widest.shape)).astype(X.dtype)
    if y is None or X.shape[1] < COMPARED_ROWS:
        return widest
    inputs = np.argsort(rng.random(widest.shape), axis=1)[:, :COMPETING_INPUTS]
    candidates = np.concatenate([widest[:, None], np.eye(n_inputs, dtype=X.dtype)[inputs]], axis=1)
    projections = candidates @ X.swapaxes(1, 2)
    return candidates[np.arange(n_nodes), np.argmax(_log_likelihoods(_linear_inputs(X, y), y, projections), axis=1)]


def _widest_directions(X: Array) -> Array:
    """First principal direction of each node's rows (k, n, d), shape (k, d)."""
    centred = X - X.mean(axis=1, keepdims=True)
    if X.shape[2] <= LINEAR_INPUTS:
        return np.linalg.eigh(centred.swapaxes(1, 2) @ centred)[1][:, :, -1]
    # Of many inputs, without their covariances: from the longest row on, which is nearer to it than a random one.
    longest = np.argmax(np.einsum("knd,knd->kn", centred, centred), axis=1)
    direction = centred[np.arange(len(X)), longest][:, :, None]
    for _ in range(POWER_STEPS):
        direction = centred.swapaxes(1, 2) @ (centred @ direction)
        length = np.linalg.norm(direction, axis=1, keepdims=True)
        direction = direction / np.where(length > 0, length, 1.0)
    return direction[:, :, 0]


def _linear_inputs(X: Array, y: Array) -> Array:
    """Inputs of the nodes' linear models: all, or those most correlated with the target, shape (k, n, at most 100)."""
    if X.shape[2] <= LINEAR_INPUTS:
        return X
    centred = (y - y.mean(axis=1, keepdims=True)).astype(X.dtype)
    deviation = X.std(axis=1)
    correlation = np.abs(np.matmul(centred[:, None], X)[:, 0]) / np.where(deviation > 0, deviation, 1.0)
    chosen = largest(np.where(deviation > 0, correlation, -1.0), LINEAR_INPUTS)
    return np.take_along_axis(X, chosen[:, None], axis=2)


def _log_likelihoods(X: Array, y: Array, projections: Array) -> Array:
    """Log likelihoods of linear models of y (k, n) on X (k, n, d) in two halves, up to a constant, shape (k, c).

    The halves are those of projections (k, c, n) above and below their median.
    """
    n_nodes, n_rows, n_inputs = X.shape
    deviation = X.std(axis=1, keepdims=True)
    joined = np.empty((n_nodes, n_rows, n_inputs + 2))
    joined[:, :, 0], joined[:, :, -1] = 1.0, y
    joined[:, :, 1:-1] = (X - X.mean(axis=1, keepdims=True)) / np.where(deviation > 0, deviation, 1.0)
    right = projections >= np.median(projections, axis=2, keepdims=True)
    products = joined.swapaxes(1, 2) @ joined
    right_products = (joined[:, None] * right[:, :, :, None]).swapaxes(2, 3) @ joined[:, None]
    sums = np.stack([right_products, products[:, None] - right_products])
    counts = sums[..., 0, 0].copy()
    diagonal = np.einsum("...ii->...i", sums)
    diagonal[..., :-1] += LINEAR_RIDGE * n_rows
    # Enough for the factor to exist where nothing is left of the target.
    diagonal[..., -1] += 1e-9 * n_rows + 1e-12 * products[:, None, -1, -1]
    # The last pivot of [[A, c], [c^T, y^T y]] is the root of the residual sum of squares.
    residual = np.linalg.cholesky(sums)[..., -1, -1] ** 2
    likelihood = -0.5 * counts * np.log(residual / np.maximum(counts, 1.0))
    likelihood[counts < MIN_SIDE_ROWS] = -np.inf
    return likelihood.sum(axis=0)
