"""Cuts of many nodes at once."""

import numpy as np
import pytest

from ssgp.engine.cuts import (
    LINEAR_INPUTS,
    LINEAR_RIDGE,
    _linear_inputs,
    _log_likelihoods,
    competing_inputs,
    cut_directions,
)


def test_likelihoods_of_many_nodes_are_those_of_each(rng):
    """Against ridge regressions by normal equations, a node, a direction and a half at a time."""
    X, y = rng.normal(size=(3, 60, 2)), rng.normal(size=(3, 60))
    directions = rng.normal(size=(3, 4, 2))

    def half(X, y, rows):
        Z = np.column_stack([np.ones(60), (X - X.mean(axis=0)) / X.std(axis=0)])[rows]
        weights = np.linalg.solve(Z.T @ Z + 60 * LINEAR_RIDGE * np.eye(3), Z.T @ y[rows])
        return -0.5 * rows.sum() * np.log(y[rows] @ (y[rows] - Z @ weights) / rows.sum())

    for node, found in enumerate(_log_likelihoods(X, y, directions @ X.swapaxes(1, 2))):
        for direction, gain in zip(directions[node], found, strict=True):
            right = X[node] @ direction >= np.median(X[node] @ direction)
            assert gain == pytest.approx(half(X[node], y[node], right) + half(X[node], y[node], ~right), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "n_inputs"), [(30, 5), (300, 60), (300, 90), (8, 320), (30, 320), (400, 320)])
def test_without_a_target_a_node_is_cut_along_its_first_principal_direction(rng, n_rows, n_inputs):
    """Whether there are more rows or more inputs: against the singular vectors of each node alone."""
    along = rng.normal(size=(4, n_rows, 1)) * rng.normal(size=(4, 1, n_inputs))
    X = rng.normal(size=(4, n_rows, n_inputs)) + 3.0 * along
    for rows, found in zip(X, cut_directions(X, None, rng, jitter=0.0), strict=True):
        expected = np.linalg.svd(rows - rows.mean(axis=0))[2][0]
        assert abs(found @ expected) == pytest.approx(1.0, abs=1e-6)
        assert np.linalg.norm(found) == pytest.approx(1.0)


def test_rows_that_are_all_alike_have_a_finite_direction(rng):
    assert np.isfinite(cut_directions(np.ones((2, 30, 350)), None, rng, jitter=0.3)).all()


def test_linear_models_of_many_inputs_have_those_most_correlated_with_the_target(rng):
    X, y = rng.normal(size=(3, 80, 400)), rng.normal(size=(3, 80))
    X[:, :, 7] = 1.0
    centred = X - X.mean(axis=1, keepdims=True)
    found_inputs = _linear_inputs(centred, y, np.sum(centred**2, axis=1))
    for rows, target, found in zip(centred, y, found_inputs, strict=True):
        with np.errstate(invalid="ignore"):
            correlation = np.nan_to_num(np.corrcoef(rows.T, target)[-1, :-1])
        best = np.sort(np.argsort(-np.abs(correlation))[:LINEAR_INPUTS])
        np.testing.assert_array_equal(found, rows[:, best])


def test_few_inputs_compete_equally_often(rng):
    drawn = np.bincount(competing_inputs(rng.random((20_000, 5)), None).ravel(), minlength=5) / 20_000
    # Two of five: four standard errors are 0.014.
    np.testing.assert_allclose(drawn, 0.4, atol=0.014)


def test_many_inputs_compete_as_they_vary(rng):
    """The first of a race of exponential times wins in proportion to its rate; what does not vary never does."""
    variation = np.array([1.0, 0.0, 3.0, 4.0])
    first = competing_inputs(rng.random((20_000, 4)), np.tile(variation, (20_000, 1)))[:, 0]
    np.testing.assert_allclose(np.bincount(first, minlength=4) / 20_000, variation / 8, atol=0.014)


def test_a_node_of_one_input_has_one_that_competes():
    assert competing_inputs(np.full((3, 1), 0.5), None).tolist() == [[0]] * 3


@pytest.mark.slow
def test_a_cut_of_a_wide_node_sees_a_target_that_changes_its_slope(rng):
    """An input that turns another's slope round wins where it competes, though rows differ most along a third."""
    X = rng.normal(size=(1, 400, 400))
    X[:, :, 0] *= 40.0
    X[:, :, 2] *= 20.0
    y = X[:, :, 1] * np.sign(X[:, :, 2])
    won = [cut_directions(X, y, np.random.default_rng(seed), jitter=0.0)[0, 2] == 1.0 for seed in range(20)]
    # Of the variation that inputs are drawn by it has a sixth, and the first one, in whose stead it is drawn, most.
    assert sum(won) >= 5
