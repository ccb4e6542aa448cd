"""Cuts of many nodes at once."""

import numpy as np
import pytest

from ssgp.engine.cuts import LINEAR_RIDGE, _log_likelihoods


def test_likelihoods_of_many_nodes_are_those_of_each(rng):
    """Against ridge regressions by normal equations, a node, a direction and a half at a time."""
    X, y = rng.normal(size=(3, 60, 2)), rng.normal(size=(3, 60))
    directions = rng.normal(size=(3, 4, 2))

    def half(X, y, rows):
        Z = np.column_stack([np.ones(60), (X - X.mean(axis=0)) / X.std(axis=0)])[rows]
        weights = np.linalg.solve(Z.T @ Z + 60 * LINEAR_RIDGE * np.eye(3), Z.T @ y[rows])
        return -0.5 * rows.sum() * np.log(y[rows] @ (y[rows] - Z @ weights) / rows.sum())

    for node, found in enumerate(_log_likelihoods(X, y, directions)):
        for direction, gain in zip(directions[node], found, strict=True):
            right = X[node] @ direction >= np.median(X[node] @ direction)
            assert gain == pytest.approx(half(X[node], y[node], right) + half(X[node], y[node], ~right), abs=1e-5)
