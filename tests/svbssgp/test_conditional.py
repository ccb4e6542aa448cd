"""Proposition 1."""

import numpy as np
import pytest

from helpers import dual_gp, naive_features
from ssgp.rows.blocks import Block, Rows
from ssgp.spectrum.parameters import Hyperparameters
from ssgp.svbssgp.conditional import build_conditional

HYPER = Hyperparameters(np.ones(2), 1.4, 0.3)


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(60, 2)).astype(np.float32)
    y = (np.sin(X[:, 0]) + 0.3 * rng.normal(size=60)).astype(np.float32)
    return Rows(X, y, None, np.array([0, 25, 60]))


def query():
    return np.random.default_rng(9).normal(size=(11, 2)).astype(np.float32)


def dense_gp(block: Block, frequencies, X):
    """The GP of the sparse spectrum kernel on one block, in the dual form."""
    phi, phi_star = (naive_features(A.astype(float), frequencies) for A in (block.X, X))
    variance = HYPER.signal_variance / len(frequencies)
    return dual_gp(
        variance * phi @ phi.T,
        variance * phi_star @ phi.T,
        HYPER.signal_variance,
        block.y.astype(float),
        HYPER.noise_variance,
    )


@pytest.mark.parametrize("gamma", [-1.0, -0.4, 0.0, 0.3, 0.9, 1.0])
def test_marginalising_the_nuisance_variables_gives_the_exact_gp(gamma, rows, rng):
    """Proposition 1 by brute force: Gauss-Hermite integration over s ~ p(s | y_k, theta)."""
    frequencies = 0.3 * rng.normal(size=(1, 2))
    X, k = query(), 1
    block = rows.block(k)
    phi = naive_features(block.X.astype(float), frequencies)
    precision = phi.T @ phi + HYPER.ridge(1) * np.eye(2)
    mean_s, cov_s = np.linalg.solve(precision, phi.T @ block.y), HYPER.noise_variance * np.linalg.inv(precision)
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    weights = weights / weights.sum()
    root = np.linalg.cholesky(cov_s)
    means, variances, mass = [], [], []
    for a, wa in zip(nodes, weights, strict=True):
        for b, wb in zip(nodes, weights, strict=True):
            s = mean_s + root @ [a, b]
            conditional = build_conditional(rows, frequencies[None], s[None], HYPER, None)
            mean, variance = conditional.moments(X, np.full(len(X), k), gamma, True, None)
            means.append(mean)
            variances.append(variance)
            mass.append(wa * wb)
    mean = np.average(means, axis=0, weights=mass)
    variance = np.average(variances + (np.array(means) - mean) ** 2, axis=0, weights=mass)
    expected_mean, expected_variance = dense_gp(block, frequencies, X)
    np.testing.assert_allclose(mean, expected_mean, atol=2e-5)
    np.testing.assert_allclose(variance, expected_variance, atol=2e-5)


def test_gamma_one_is_the_global_model_without_variance(rows, rng):
    frequencies, s = rng.normal(size=(1, 4, 2)), rng.normal(size=(1, 8))
    X = query()
    mean, variance = build_conditional(rows, frequencies, s, HYPER, None).moments(X, np.zeros(11, int), 1.0, True, None)
    np.testing.assert_allclose(mean, naive_features(X.astype(float), frequencies[0]) @ s[0], atol=1e-5)
    np.testing.assert_array_equal(variance, 0.0)


def test_gamma_zero_is_a_local_gp(rows, rng):
    frequencies, s = 0.4 * rng.normal(size=(1, 5, 2)), rng.normal(size=(1, 10))
    X, at = query(), np.array([0, 1] * 5 + [0])
    mean, variance = build_conditional(rows, frequencies, s, HYPER, None).moments(X, at, 0.0, True, None)
    assert variance is not None
    for k in (0, 1):
        expected_mean, expected_variance = dense_gp(rows.block(k), frequencies[0], X[at == k])
        np.testing.assert_allclose(mean[at == k], expected_mean, atol=2e-5)
        np.testing.assert_allclose(variance[at == k], expected_variance, atol=2e-5)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
def test_draws_are_averaged_by_the_law_of_total_variance(gamma, rows, rng):
    frequencies, s = 0.4 * rng.normal(size=(3, 4, 2)), rng.normal(size=(3, 8))
    X, at = query(), np.zeros(11, int)
    single = [
        build_conditional(rows, frequencies[i : i + 1], s[i : i + 1], HYPER, None).moments(X, at, gamma, True, None)
        for i in range(3)
    ]
    means = np.array([mean for mean, _ in single])
    variances = np.array([variance for _, variance in single])
    mean, variance = build_conditional(rows, frequencies, s, HYPER, None).moments(X, at, gamma, True, None)
    assert variance is not None
    np.testing.assert_allclose(mean, means.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(variance, variances.mean(axis=0) + means.var(axis=0), atol=1e-6)


def test_the_answer_does_not_depend_on_threads_or_on_the_rows_beside(rows, rng):
    frequencies, s = 0.4 * rng.normal(size=(2, 4, 2)), rng.normal(size=(2, 8))
    X = rng.normal(size=(5000, 2)).astype(np.float32)
    at = rng.integers(0, 2, size=5000)
    one = build_conditional(rows, frequencies, s, HYPER, 1)
    two = build_conditional(rows, frequencies, s, HYPER, 2)
    mean, variance = one.moments(X, at, 0.2, True, 1)
    for other in (two.moments(X, at, 0.2, True, 2), one.moments(X, at, 0.2, True, 4)):
        np.testing.assert_array_equal(mean, other[0])
        np.testing.assert_array_equal(variance, other[1])
    alone, _ = one.moments(X[:1], at[:1], 0.2, False, 1)
    assert alone[0] == mean[0]


def test_duplicate_rows_and_a_vanishing_noise_do_not_break_the_factorisation(rng):
    X = np.repeat(rng.normal(size=(1, 2)), 50, axis=0).astype(np.float32)
    rows = Rows(X, np.ones(50, np.float32), None, np.array([0, 50]))
    tiny = Hyperparameters(np.ones(2), 1.0, 1e-30)
    conditional = build_conditional(rows, rng.normal(size=(1, 6, 2)), np.zeros((1, 12)), tiny, None)
    mean, variance = conditional.moments(X[:2], np.zeros(2, int), 0.0, True, None)
    assert mean == pytest.approx(1.0, abs=1e-3)
    assert variance is not None
    assert np.all(variance >= 0)
