"""Where to cut the rows of many nodes in two: all nodes of a stack at once."""

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.wide import largest

__all__ = ["competing_inputs", "cut_directions"]

# Rows of a node that are looked at.
DIRECTION_ROWS = 512
# Of a cut that looks at the target: rows below which it does not, inputs that compete, the ridge of the linear models
# per row, and rows that either side has to have.
COMPARED_ROWS = 40
COMPETING_INPUTS = 2
LINEAR_RIDGE = 1e-3
MIN_SIDE_ROWS = 10
# Numbers of sums of the linear models that are held at once.
SUMS_AT_ONCE = 1 << 22
# Inputs beyond which a node's widest direction is found by iteration, and its linear models are of some inputs,
MANY_INPUTS = 64
# those that go with the target there.
LINEAR_INPUTS = 32
# Rows whose span the direction is looked for in, and steps by which that is improved: it need not be exact.
SPANNING_ROWS = 6
SPANNING_STEPS = 4


def cut_directions(X: Array, y: Array | None, rng: np.random.Generator, jitter: float) -> Array:
    """Normals of the hyperplanes that cut k nodes, shape (k, d).

    Parameters
    ----------
    X : array of shape (k, n, d)
        Rows of the nodes.
    y : array of shape (k, n) or None
        Their targets. With them some inputs, drawn at random (of many, by how much they vary), compete with the
        direction in which the rows differ most: that one wins for which linear models of the target in the two halves
        are most probable.
    rng : Generator
        Source of everything random.
    jitter : float
        Length of a random vector that is added to the direction, relative to it.
    """
    n_nodes, n_rows, n_inputs = X.shape
    if n_rows > DIRECTION_ROWS:
        drawn = rng.integers(0, n_rows, (n_nodes, DIRECTION_ROWS))
        X = X[np.arange(n_nodes)[:, None], drawn]
        y = None if y is None else np.take_along_axis(y, drawn, axis=1)
    centred = X - X.mean(axis=1, keepdims=True)
    widest = _widest_directions(centred)
    if jitter:
        widest = widest + (jitter / np.sqrt(n_inputs) * rng.standard_normal(widest.shape)).astype(X.dtype)
    if y is None or X.shape[1] < COMPARED_ROWS:
        return widest
    variation = None if n_inputs <= MANY_INPUTS else np.einsum("knd,knd->kd", centred, centred)
    inputs = competing_inputs(rng.random(widest.shape), variation)
    alone = np.zeros((*inputs.shape, n_inputs), X.dtype)
    np.put_along_axis(alone, inputs[:, :, None], 1.0, axis=2)
    candidates = np.concatenate([widest[:, None], alone], axis=1)
    modelled = X if variation is None else _linear_inputs(centred, y, variation)
    likelihoods = _log_likelihoods_in_parts(modelled, y, candidates @ X.swapaxes(1, 2))
    return candidates[np.arange(n_nodes), np.argmax(likelihoods, axis=1)]


def _widest_directions(centred: Array) -> Array:
    """First principal direction of each node's rows (k, n, d), whose means are zero, shape (k, d)."""
    if centred.shape[2] <= MANY_INPUTS:
        return np.linalg.eigh(centred.swapaxes(1, 2) @ centred)[1][:, :, -1]
    # Of many inputs, without a matrix of them: combinations of some rows, taken towards the widest directions. They are
    # made orthogonal as combinations (k, n, r), which are shorter than what they combine to.
    span = centred[:, :SPANNING_ROWS].swapaxes(1, 2)
    for _ in range(SPANNING_STEPS):
        span = centred.swapaxes(1, 2) @ np.linalg.qr(centred @ span)[0]
    return _widest_in(span)


def _widest_in(span: Array) -> Array:
    """Unit vectors of the directions in which combinations (k, d, r) of rows are longest, shape (k, d)."""
    direction = (span @ np.linalg.eigh(span.swapaxes(1, 2) @ span)[1][:, :, -1:])[:, :, 0]
    length = np.linalg.norm(direction, axis=1, keepdims=True)
    return direction / np.where(length > 0, length, 1.0)


def competing_inputs(uniform: Array, variation: Array | None) -> Indices:
    """Inputs drawn by uniform numbers (k, d): each as likely as another or, by a race, as they vary, shape (k, c).

    Of many inputs in a learned metric few vary much: cuts along the others would be cuts along noise.
    """
    if variation is not None:
        varies = variation > 0
        uniform = np.where(varies, -np.log1p(-uniform) / np.where(varies, variation, 1.0), np.inf)
    n_competing = min(COMPETING_INPUTS, uniform.shape[1])
    return np.argpartition(uniform, range(n_competing), axis=1)[:, :n_competing]


def _linear_inputs(centred: Array, y: Array, variation: Array) -> Array:
    """Inputs of linear models: of rows (k, n, d) those most correlated with the target (k, n), shape (k, n, t).

    Inputs have means of zero, and sums of squares `variation` (k, d).
    """
    along = np.matmul((y - y.mean(axis=1, keepdims=True)).astype(centred.dtype)[:, None], centred)[:, 0]
    varies = variation > 0
    score = np.where(varies, along**2 / np.where(varies, variation, 1.0), -1.0)
    return np.take_along_axis(centred, largest(score, LINEAR_INPUTS)[:, None], axis=2)


def _log_likelihoods_in_parts(X: Array, y: Array, projections: Array) -> Array:
    """The same as `_log_likelihoods`, of as many nodes at a time as memory allows."""
    # Sums over all rows and, for each projection, over two halves, and the factors of these.
    numbers = (1 + 5 * projections.shape[1]) * (X.shape[2] + 2) ** 2
    together = max(1, SUMS_AT_ONCE // numbers)
    parts = [slice(i, i + together) for i in range(0, len(X), together)]
    return np.concatenate([_log_likelihoods(X[part], y[part], projections[part]) for part in parts])


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
