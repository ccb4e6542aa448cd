from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from helpers import central_difference, naive_features
from ssgp.objectives import Block, Draw, GlobalObjective, LocalObjective
from ssgp.parameters import Hyperparameters

M, D, N = 3, 2, 9


@pytest.fixture(params=[False, True], ids=["unweighted", "weighted"])
def block(request, rng):
    X, y = rng.normal(size=(N, D)), rng.normal(size=N)
    return Block(X, y, rng.uniform(0.2, 3.0, size=N) if request.param else None)


@pytest.fixture
def hyperparameters():
    return Hyperparameters(np.array([0.8, 1.4]), 1.3, 0.4)


@pytest.fixture
def draw(rng):
    return Draw(rng.normal(size=(M, D)), rng.normal(size=2 * M), 0.3 * np.tril(rng.normal(size=(2 * M, 2 * M))))


def weights_of(block):
    return np.ones(N) if block.weight is None else block.weight


def test_global_value_is_the_gaussian_log_likelihood(block, draw, hyperparameters):
    fixed = Draw(draw.frequencies, draw.weights)
    mean = naive_features(block.X, draw.frequencies) @ draw.weights
    expected = np.sum(weights_of(block) * norm.logpdf(block.y, mean, np.sqrt(0.4)))
    assert GlobalObjective()(block, fixed, hyperparameters).value == pytest.approx(expected)


def test_global_value_is_the_expectation_over_the_weights(block, draw, hyperparameters):
    # Oracle: the average of the plain likelihood over many z, within 4 standard errors.
    value = GlobalObjective()(block, draw, hyperparameters).value
    phi = naive_features(block.X, draw.frequencies)
    z = np.random.default_rng(0).normal(size=(50_000, 2 * M))
    means = (draw.weights + z @ draw.weight_scale.T) @ phi.T
    samples = norm.logpdf(block.y, means, np.sqrt(0.4)) @ weights_of(block)
    assert abs(value - samples.mean()) < 4 * samples.std() / np.sqrt(len(samples))


@pytest.mark.parametrize("closed_form", [False, True])
def test_global_gradient_against_central_differences(block, draw, hyperparameters, closed_form):
    objective, scale = GlobalObjective(), draw.weight_scale if closed_form else None
    gradient = objective(block, Draw(draw.frequencies, draw.weights, scale), hyperparameters)

    def by_frequencies(R):
        return objective(block, Draw(R, draw.weights, scale), hyperparameters).value

    def by_weights(s):
        return objective(block, Draw(draw.frequencies, s, scale), hyperparameters).value

    def by_log_noise(log_noise):
        moved = Hyperparameters(hyperparameters.lengthscale, 1.3, float(np.exp(log_noise[0])))
        return objective(block, Draw(draw.frequencies, draw.weights, scale), moved).value

    close: dict[str, Any] = dict(rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(gradient.frequencies, central_difference(by_frequencies, draw.frequencies), **close)
    assert gradient.weights is not None
    np.testing.assert_allclose(gradient.weights, central_difference(by_weights, draw.weights), **close)
    np.testing.assert_allclose(gradient.log_noise, central_difference(by_log_noise, [np.log(0.4)])[0], **close)
    if closed_form:

        def by_scale(L):
            return objective(block, Draw(draw.frequencies, draw.weights, L), hyperparameters).value

        assert gradient.weight_scale is not None
        np.testing.assert_allclose(gradient.weight_scale, central_difference(by_scale, draw.weight_scale), **close)


def test_local_value_is_the_marginal_likelihood(rng, hyperparameters):
    X, y, R = rng.normal(size=(N, D)), rng.normal(size=N), rng.normal(size=(M, D))
    phi = naive_features(X, R)
    covariance = (1.3 / M) * phi @ phi.T + 0.4 * np.eye(N)
    expected = multivariate_normal(np.zeros(N), covariance).logpdf(y)  # pyright: ignore[reportArgumentType]
    assert LocalObjective()(Block(X, y), Draw(R), hyperparameters).value == pytest.approx(expected)


def test_local_gradient_against_central_differences(block, draw, hyperparameters):
    objective = LocalObjective()
    gradient = objective(block, Draw(draw.frequencies), hyperparameters)

    def by_log_variances(log_variances):
        signal, noise = np.exp(log_variances)
        return objective(block, Draw(draw.frequencies), Hyperparameters(np.ones(D), signal, noise)).value

    numeric = central_difference(lambda R: objective(block, Draw(R), hyperparameters).value, draw.frequencies)
    np.testing.assert_allclose(gradient.frequencies, numeric, rtol=1e-6, atol=1e-6)
    variances = central_difference(by_log_variances, np.log([1.3, 0.4]))
    np.testing.assert_allclose([gradient.log_signal, gradient.log_noise], variances, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("objective", [GlobalObjective(), LocalObjective()], ids=["global", "local"])
def test_a_weight_of_two_is_a_row_twice(objective, rng, draw, hyperparameters):
    X, y = rng.normal(size=(N, D)), rng.normal(size=N)
    counts = rng.integers(1, 4, size=N)
    weighted = objective(Block(X, y, counts.astype(float)), draw, hyperparameters)
    repeated = objective(Block(np.repeat(X, counts, axis=0), np.repeat(y, counts)), draw, hyperparameters)
    assert weighted.value == pytest.approx(repeated.value)
    np.testing.assert_allclose(weighted.frequencies, repeated.frequencies, atol=1e-9)
