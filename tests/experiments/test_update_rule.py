"""The authors' updates, and predictions of blocks draw by draw."""

import numpy as np
import pytest

from experiments.local_predictions import BlockedRows
from experiments.protocols import BlockLabels
from experiments.update_rule import NOISE, RULES, SIGNAL, UpdateRule, rule_rows, step_size
from experiments.widths import _error
from helpers import central_difference, dual_gp, naive_features
from ssgp.datasets import Split


@pytest.fixture
def data(rng):
    X, y = rng.normal(size=(46, 2)), rng.normal(size=46)
    return Split(X[6:], y[6:], X[:6], y[:6], ("a", "b"))


@pytest.fixture
def blocks():
    return BlockLabels(np.array([5, 7, 9, 5] * 10), np.array([7, 5, 9, 9, 5, 7]))


@pytest.fixture
def rule(rng):
    start = UpdateRule.start(3, 2, 0.2, rng)
    return UpdateRule(0.1 * start.mixing, start.shift, 3, 2, 0.2)


def log_bound(rule, mixing, shift, X, y, n_blocks, z):
    """log |M|, the prior and the likelihood at one z, up to constants, with the weights gamma times the paper's."""
    alpha = mixing @ z + shift
    frequencies, weights = alpha[:6].reshape(3, 2), alpha[6:]
    residual = y - naive_features(X, frequencies) @ weights / rule.gamma
    prior = (frequencies**2).sum() + 3 * (weights**2).sum() / (rule.gamma * SIGNAL) ** 2
    return np.linalg.slogdet(mixing)[1] - 0.5 * prior - 0.5 * n_blocks * (residual**2).sum() / NOISE**2


def test_directions_are_gradients_of_length_one(rule, data, rng):
    z, X, y = rng.normal(size=12), data.X_train[:9], data.y_train[:9]
    of_mixing, of_shift = rule.direction(X, y, 4, z)
    assert (of_mixing**2).sum() + (of_shift**2).sum() == pytest.approx(1.0)
    expected_shift = central_difference(lambda b: log_bound(rule, rule.mixing, b, X, y, 4, z), rule.shift)
    expected_mixing = central_difference(lambda M: log_bound(rule, M, rule.shift, X, y, 4, z), rule.mixing)
    length = np.sqrt((expected_mixing**2).sum() + (expected_shift**2).sum())
    np.testing.assert_allclose(of_mixing, expected_mixing / length, atol=1e-6)
    np.testing.assert_allclose(of_shift, expected_shift / length, atol=1e-6)


def test_steps_get_shorter_and_decay_without_a_direction(rule):
    sizes = [step_size(t) for t in range(30)]
    assert sizes[0] == 1.6
    assert sizes[1] == pytest.approx(1.6 / (1 + 2.1 * 1.6) ** 0.6)
    assert sizes == sorted(sizes, reverse=True)
    before = rule.mixing
    rule.step(3, None)
    np.testing.assert_allclose(rule.mixing, before * (1 - 2 * sizes[3]))


def test_predictions_are_those_of_exact_processes_of_the_blocks(rule, data, blocks, rng):
    rows, z = BlockedRows.of(data, blocks), rng.normal(size=12)
    mean, variance = rule.predict(rows, z[None])
    frequencies, weights = rule.split(z)
    scale, target = SIGNAL**2 / 3, data.y_train - data.y_train.mean()
    phi_test = naive_features(data.X_test, frequencies)
    for i, block in enumerate(blocks.test):
        own = blocks.train == block
        phi = naive_features(data.X_train[own], frequencies)
        expected = dual_gp(
            scale * phi @ phi.T, scale * phi_test[[i]] @ phi.T, np.array([SIGNAL**2]), target[own], NOISE**2
        )
        assert mean[i] == pytest.approx(0.8 * expected[0][0] + phi_test[i] @ weights)
        assert variance[i] == pytest.approx((1 - 0.2**2) * (expected[1][0] + NOISE**2))


@pytest.mark.parametrize("method", RULES)
def test_rows_are_of_the_same_start_with_a_gradient_or_without(method, data, blocks):
    rows = rule_rows(method, (0.0, 0.3), (0, 2), (3, 4), data, blocks, 1)
    assert [(row["gamma"], row["iteration"]) for row in rows] == [(0.0, 0), (0.0, 2), (0.3, 0), (0.3, 2)]
    other = rule_rows("update rule", (0.0,), (0, 2), (3, 4), data, blocks, 1)
    assert rows[0]["rmse"] == other[0]["rmse"]
    assert (rows[1]["rmse"] == other[1]["rmse"]) is RULES[method]


def test_more_draws_average_the_first_of_the_same_ones(data, blocks):
    one = rule_rows("update rule", (0.0,), (0,), (3, 1), data, blocks, 0)
    assert one == rule_rows("update rule", (0.0,), (0,), (3, 1), data, blocks, 0)


def test_without_variance_there_is_no_density(data, blocks):
    (row,) = rule_rows("update rule", (1.0,), (0,), (3, 2), data, blocks, 0)
    assert np.isnan(row["mnlp"])


def test_groups_of_draws_are_averaged_apart():
    means = np.array([[1.0], [3.0], [-1.0], [5.0]])
    assert _error(np.zeros(1), means, 1) == pytest.approx(2.5)
    assert _error(np.zeros(1), means, 2) == pytest.approx(2.0)
    assert _error(np.zeros(1), means, 3) == pytest.approx(1.0)
