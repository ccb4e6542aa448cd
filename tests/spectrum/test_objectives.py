from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_t, norm

from helpers import central_difference, naive_features
from ssgp.engine.workers import KeptThreads
from ssgp.rows.blocks import Block
from ssgp.spectrum import objectives
from ssgp.spectrum.noise import LEARNING_PRIOR, NoisePrior
from ssgp.spectrum.objectives import Draw, GlobalObjective, LocalObjective
from ssgp.spectrum.parameters import Hyperparameters

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
    return Draw(rng.normal(size=(M, D)), rng.normal(size=2 * M))


def weights_of(block):
    return np.ones(N) if block.weight is None else block.weight


def test_global_value_is_the_gaussian_log_likelihood(block, draw, hyperparameters):
    mean = naive_features(block.X, draw.frequencies) @ draw.weights
    expected = np.sum(weights_of(block) * norm.logpdf(block.y, mean, np.sqrt(0.4)))
    assert GlobalObjective()(block, draw, hyperparameters).value == pytest.approx(expected)


def test_global_gradient_against_central_differences(block, draw, hyperparameters):
    objective = GlobalObjective()
    gradient = objective(block, draw, hyperparameters)

    def by_frequencies(R):
        return objective(block, Draw(R, draw.weights), hyperparameters).value

    def by_weights(s):
        return objective(block, Draw(draw.frequencies, s), hyperparameters).value

    def by_log_noise(log_noise):
        moved = Hyperparameters(hyperparameters.lengthscale, 1.3, float(np.exp(log_noise[0])))
        return objective(block, draw, moved).value

    close: dict[str, Any] = dict(rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(gradient.frequencies, central_difference(by_frequencies, draw.frequencies), **close)
    assert gradient.weights is not None
    np.testing.assert_allclose(gradient.weights, central_difference(by_weights, draw.weights), **close)
    np.testing.assert_allclose(gradient.log_noise, central_difference(by_log_noise, [np.log(0.4)])[0], **close)


def local_features(X, frequencies, lengthscale, trend):
    """The waves, and with a trend a constant and the inputs in lengthscales, scaled as the waves together."""
    phi = naive_features(X, frequencies)
    if not trend:
        return phi
    m, d = frequencies.shape
    linear = [np.sqrt(m / d) * X[:, j] / lengthscale[j] for j in range(d)]
    return np.column_stack([phi, np.full(len(X), np.sqrt(m)), *linear])


@pytest.mark.parametrize("prior", [LEARNING_PRIOR, NoisePrior(0.7, 3.0)], ids=["learning", "other"])
@pytest.mark.parametrize("trend", [False, True], ids=["waves", "trend"])
def test_local_value_is_the_marginal_likelihood(trend, prior, rng, hyperparameters):
    """With weights and noise integrated out the targets of a block are a multivariate Student-t."""
    X, y, R = rng.normal(size=(N, D)), rng.normal(size=N), rng.normal(size=(M, D))
    phi = local_features(X, R, hyperparameters.lengthscale, trend)
    shape = prior.scale / prior.shape * (np.eye(N) + phi @ phi.T / (M * 0.4 / 1.3))
    expected = multivariate_t(np.zeros(N), shape, df=2 * prior.shape).logpdf(y)  # pyright: ignore[reportArgumentType]
    value = LocalObjective(prior, trend)(Block(X, y), Draw(R), hyperparameters).value
    assert value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("trend", [False, True], ids=["waves", "trend"])
def test_local_gradient_against_central_differences(trend, block, draw, hyperparameters):
    objective = LocalObjective(NoisePrior(1.7, 0.6), trend)
    gradient = objective(block, Draw(draw.frequencies), hyperparameters)

    def by_logarithms(logs):
        moved = Hyperparameters(np.exp(logs[:D]), float(np.exp(logs[D])), float(np.exp(logs[D + 1])))
        return objective(block, Draw(draw.frequencies), moved).value

    close: dict[str, Any] = dict(rtol=1e-6, atol=1e-6)
    numeric = central_difference(lambda R: objective(block, Draw(R), hyperparameters).value, draw.frequencies)
    np.testing.assert_allclose(gradient.frequencies, numeric, **close)
    by_logs = central_difference(by_logarithms, np.log([*hyperparameters.lengthscale, 1.3, 0.4]))
    np.testing.assert_allclose([gradient.log_signal, gradient.log_noise], by_logs[D:], **close)
    if trend:
        assert gradient.log_lengthscale is not None
        np.testing.assert_allclose(gradient.log_lengthscale, by_logs[:D], **close)
        assert np.abs(by_logs[:D]).min() > 1e-3
    else:
        # At given frequencies the lengthscales are nowhere in the model.
        assert gradient.log_lengthscale is None
        np.testing.assert_array_equal(by_logs[:D], 0.0)


def test_a_block_of_constant_target_has_a_finite_local_value(rng, hyperparameters):
    block = Block(rng.normal(size=(N, D)), np.zeros(N))
    gradient = LocalObjective(trend=True)(block, Draw(rng.normal(size=(M, D))), hyperparameters)
    assert np.isfinite(gradient.value)
    assert np.isfinite(gradient.frequencies).all()


def test_a_block_of_steep_trend_is_more_probable_with_a_trend(rng, hyperparameters):
    X = rng.normal(size=(200, D))
    block, draw = Block(X, 3.0 + 5.0 * X[:, 0] + 0.1 * rng.normal(size=200)), Draw(rng.normal(size=(M, D)))
    values = [LocalObjective(trend=trend)(block, draw, hyperparameters).value for trend in (False, True)]
    assert values[1] > values[0] + 100.0


@pytest.mark.parametrize(
    "objective", [GlobalObjective(), LocalObjective(), LocalObjective(trend=True)], ids=["global", "local", "trend"]
)
def test_a_weight_of_two_is_a_row_twice(objective, rng, draw, hyperparameters):
    X, y = rng.normal(size=(N, D)), rng.normal(size=N)
    counts = rng.integers(1, 4, size=N)
    weighted = objective(Block(X, y, counts.astype(float)), draw, hyperparameters)
    repeated = objective(Block(np.repeat(X, counts, axis=0), np.repeat(y, counts)), draw, hyperparameters)
    assert weighted.value == pytest.approx(repeated.value)
    np.testing.assert_allclose(weighted.frequencies, repeated.frequencies, atol=1e-9)


def test_a_trend_of_some_inputs_is_that_of_the_others_left_out(rng):
    """With frequencies that do not see the other inputs, a block that has them is as one that lacks them."""
    kept, X = np.array([0, 2]), rng.normal(size=(N, 4))
    R, y = np.zeros((M, 4)), rng.normal(size=N)
    R[:, kept] = rng.normal(size=(M, 2))
    lengthscale = np.array([0.8, 1.1, 1.4, 0.6])
    some = LocalObjective(trend=True, trend_inputs=kept)(Block(X, y), Draw(R), Hyperparameters(lengthscale, 1.3, 0.4))
    alone = LocalObjective(trend=True)(
        Block(X[:, kept], y), Draw(R[:, kept]), Hyperparameters(lengthscale[kept], 1.3, 0.4)
    )
    assert some.value == pytest.approx(alone.value, rel=1e-12)
    assert some.log_lengthscale is not None
    assert alone.log_lengthscale is not None
    np.testing.assert_allclose(some.frequencies[:, kept], alone.frequencies, rtol=1e-9)
    np.testing.assert_allclose(some.log_lengthscale[kept], alone.log_lengthscale, rtol=1e-9)
    np.testing.assert_array_equal(some.log_lengthscale[[1, 3]], 0.0)


def test_great_weights_are_summed_precisely(rng, hyperparameters):
    """Sums in float64 of features that were weighted in float32 are not positive definite."""
    X, y = rng.normal(size=(200, D)).astype(np.float32), rng.normal(size=200).astype(np.float32)
    weight = (1e7 * rng.uniform(0.5, 1.5, 200)).astype(np.float32)
    frequencies = (0.1 * rng.normal(size=(60, D))).astype(np.float32)
    found = LocalObjective()(Block(X, y, weight), Draw(frequencies), hyperparameters)
    assert np.isfinite(found.value)
    assert np.isfinite(found.frequencies).all()


def test_sums_that_single_precision_cannot_hold_are_taken_again_in_double(rng):
    """Two inputs that are the same, in units so small that the ridge is lost beside their squares in float32."""
    X, y = np.repeat(rng.normal(size=(200, 1)), 2, axis=1).astype(np.float32), rng.normal(size=200).astype(np.float32)
    frequencies = rng.normal(size=(3, 2)).astype(np.float32)
    hyperparameters = Hyperparameters(np.full(2, 1e-3), 1.3, 0.4)
    single = LocalObjective(trend=True)(Block(X, y), Draw(frequencies), hyperparameters)
    double = LocalObjective(trend=True)(Block(X.astype(float), y.astype(float)), Draw(frequencies), hyperparameters)
    assert single.value == pytest.approx(double.value, rel=1e-4)
    np.testing.assert_allclose(single.frequencies, double.frequencies, rtol=1e-2, atol=0.1)


@pytest.mark.parametrize("trend", [False, True], ids=["plain", "trend"])
def test_parts_of_a_block_are_worth_the_whole_whoever_does_them(block, draw, hyperparameters, monkeypatch, trend):
    whole = LocalObjective(trend=trend)(block, draw, hyperparameters)
    monkeypatch.setattr(objectives, "PART_WORK", 1)
    found = []
    for n_threads in (1, 2, 3):
        threads = KeptThreads(n_threads)
        found.append(LocalObjective(trend=trend, threads=threads)(block, draw, hyperparameters))
        threads.end()
    for name in ("value", "frequencies", "log_noise", "log_signal", "log_lengthscale"):
        parts = [getattr(gradient, name) for gradient in found]
        if parts[0] is None:
            assert getattr(whole, name) is None
            continue
        np.testing.assert_allclose(parts[0], getattr(whole, name), rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(parts[0], parts[1])
        np.testing.assert_array_equal(parts[0], parts[2])
