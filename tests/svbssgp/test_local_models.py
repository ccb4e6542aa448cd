"""Sums over the rows of blocks, and the models they determine."""

import numpy as np
import pytest

from helpers import naive_features
from ssgp.rows.blocks import Rows
from ssgp.svbssgp.local_models import block_sums, check_local_memory, solve_blocks

RIDGE = 0.6


@pytest.fixture(params=[False, True], ids=["unweighted", "weighted"])
def rows(request, rng):
    """Three blocks, of uneven sizes."""
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    weight = rng.uniform(0.5, 2.0, size=60) if request.param else None
    return Rows(X, y, weight, np.array([0, 25, 31, 60]))


@pytest.fixture
def frequencies(rng):
    return rng.normal(size=(3, 2))


def naive(rows, frequencies, k):
    """Features, targets and weights of a block."""
    block = rows.block(k)
    weight = np.ones(len(block.y)) if block.weight is None else block.weight
    return naive_features(block.X, frequencies), block.y, np.diag(weight)


def test_sums_are_over_the_rows_of_a_block(rows, frequencies):
    sums = block_sums(rows, range(1, 3), frequencies)
    for place, k in enumerate((1, 2)):
        phi, y, W = naive(rows, frequencies, k)
        np.testing.assert_allclose(sums.products[place, :6, :6], phi.T @ W @ phi, atol=1e-10)
        np.testing.assert_allclose(sums.products[place, :6, 6], phi.T @ W @ y, atol=1e-10)
        assert sums.products[place, 6, 6] == pytest.approx(y @ W @ y)
        assert sums.count[place] == pytest.approx(np.trace(W))


def test_blocks_of_more_rows_than_are_held_at_once(rows, frequencies, monkeypatch):
    whole = block_sums(rows, range(3), frequencies)
    monkeypatch.setattr("ssgp.svbssgp.local_models.ROWS_PER_STACK", 7)
    np.testing.assert_allclose(block_sums(rows, range(3), frequencies).products, whole.products, atol=1e-10)


def test_merged_sums_are_those_of_all_rows(rows, frequencies):
    parts = block_sums(rows, range(3), frequencies)
    whole = block_sums(Rows(rows.X, rows.y, rows.weight, np.array([0, 60])), range(1), frequencies)
    np.testing.assert_allclose(parts.products.sum(axis=0), whole.products[0], atol=1e-10)


def test_a_weight_of_two_is_a_row_twice(frequencies, rng):
    X, y, counts = rng.normal(size=(12, 2)), rng.normal(size=12), rng.integers(1, 4, size=12)
    weighted = block_sums(Rows(X, y, counts.astype(float), np.array([0, 12])), range(1), frequencies)
    X, y = np.repeat(X, counts, axis=0), np.repeat(y, counts)
    repeated = block_sums(Rows(X, y, None, np.array([0, len(y)])), range(1), frequencies)
    np.testing.assert_allclose(weighted.products, repeated.products, atol=1e-10)


def test_models_are_ridge_regressions(rows, frequencies):
    models = solve_blocks(block_sums(rows, range(3), frequencies), RIDGE)
    for k in range(3):
        phi, y, W = naive(rows, frequencies, k)
        gamma = phi.T @ W @ phi + RIDGE * np.eye(6)
        weights = np.linalg.solve(gamma, phi.T @ W @ y)
        np.testing.assert_allclose(models.weights[k], weights, atol=1e-5)
        np.testing.assert_allclose(models.whitener[k].T @ models.whitener[k], np.linalg.inv(gamma), atol=1e-5)
        residual = y - phi @ weights
        assert models.rss[k] == pytest.approx(residual @ W @ residual + RIDGE * weights @ weights)


def test_local_models_that_do_not_fit_say_what_they_need(monkeypatch):
    monkeypatch.setattr("ssgp.svbssgp.local_models.available_memory", lambda: 2**30)
    with pytest.raises(ValueError, match=r"n_blocks=10000, n_draws=10 and n_frequencies=500 need 372.5 GiB"):
        check_local_memory(10_000, 500, 10)
    check_local_memory(2000, 20, 5)
