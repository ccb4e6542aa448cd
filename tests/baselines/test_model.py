"""The collapsed bound of linear models with random features, against dense Gaussians and finite differences."""

from operator import add
from threading import Barrier

import numpy as np
import pytest

from helpers import central_difference
from linear_models import MAPS, D, N, inducing, normal_log_density, spectral, table, variational
from ssgp.baselines.block_likelihood import BlockLikelihood
from ssgp.baselines.model import BLOCKS_PER_CHUNK, Model, RowLikelihood, _reduce_blocks, collapsed_bound, sum_blocks
from ssgp.engine.threads import _blas_limit
from ssgp.rows.blocks import Rows


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", MAPS)
def test_gradients_by_finite_differences(name, weighted, rng):
    rows, model = table(rng, weighted), Model(MAPS[name](rng), -1.5)
    _, gradient = collapsed_bound(rows, model, RowLikelihood, 1)
    expected = central_difference(
        lambda v: collapsed_bound(rows, model.with_vector(v), RowLikelihood, 1)[0], model.to_vector()
    )
    np.testing.assert_allclose(gradient, expected, atol=1e-6 * np.abs(expected).max())


def test_a_spectral_bound_is_the_evidence_of_its_kernel(rng):
    rows, model = table(rng, False), Model(spectral(rng), -1.5)
    phi = model.features.moments(rows.X).mean
    dense = normal_log_density(rows.y, phi @ phi.T + model.noise * np.eye(N))
    bound, _ = collapsed_bound(rows, model, RowLikelihood, 1)
    assert bound == pytest.approx(dense, rel=1e-9)


def test_an_inducing_bound_is_that_of_titsias(rng):
    rows, own = table(rng, False), inducing(rng)
    model, features = Model(own, -1.5), own.inducing
    psi = features(rows.X)
    dense = normal_log_density(rows.y, psi @ psi.T + model.noise * np.eye(N))
    slack = 0.5 * (N * features.kernel.variance - np.sum(psi * psi)) / model.noise
    bound, _ = collapsed_bound(rows, model, RowLikelihood, 1)
    assert bound == pytest.approx(dense - slack, rel=1e-9)


@pytest.mark.parametrize("likelihood", [RowLikelihood, BlockLikelihood], ids=["rows", "blocks"])
def test_a_row_of_weight_two_is_a_row_twice(likelihood, rng):
    once = table(rng, False, (0, 10, N))
    weighted = Rows(once.X, once.y, np.full(N, 2.0), once.bounds)
    twice = Rows(np.repeat(once.X, 2, axis=0), np.repeat(once.y, 2), None, 2 * once.bounds)
    model = Model(inducing(rng), -1.5)
    one, other = (collapsed_bound(rows, model, likelihood, 1) for rows in (weighted, twice))
    assert one[0] == pytest.approx(other[0], rel=1e-6)
    np.testing.assert_allclose(one[1], other[1], rtol=1e-4, atol=1e-4)


def test_threads_do_not_matter(rng):
    rows, model = table(rng, False, tuple(range(0, N + 1, 3))), Model(variational(rng), -1.0)
    one, two = (collapsed_bound(rows, model, RowLikelihood, n_jobs) for n_jobs in (1, 2))
    assert one[0] == two[0]
    np.testing.assert_array_equal(one[1], two[1])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_sums_of_many_blocks_are_the_sums_of_their_rows(rng, n_jobs):
    n_rows = 3 * BLOCKS_PER_CHUNK + 5
    X, y = rng.normal(size=(n_rows, D)), rng.normal(size=n_rows)
    model = Model(inducing(rng), -1.0)
    one, many = Rows(X, y, None, np.array([0, n_rows])), Rows(X, y, None, np.arange(n_rows + 1))
    whole, parts = sum_blocks(one, model, RowLikelihood, n_jobs), sum_blocks(many, model, RowLikelihood, n_jobs)
    np.testing.assert_allclose(parts.gram, whole.gram)
    np.testing.assert_allclose(parts.cross, whole.cross)
    assert parts.constant == pytest.approx(whole.constant)


def test_every_thread_that_sums_blocks_has_one_blas_thread():
    """Some libraries count threads per calling thread, so it is not enough that the caller has one."""
    rows, together = Rows(np.zeros((2, 1)), np.zeros(2), None, np.arange(3)), Barrier(2)

    def limited(_):
        together.wait(60)
        return [_blas_limit.holds_here()]

    assert _reduce_blocks(limited, add, rows, 2) == [True, True]
