"""The likelihood of blocks of rows, against PIC's dense covariance."""

import itertools

import numpy as np
import pytest

from helpers import central_difference
from linear_models import D, N, inducing, normal_log_density, spectral, table
from ssgp.baselines.block_likelihood import BlockLikelihood
from ssgp.baselines.model import Model, collapsed_bound
from ssgp.rows.blocks import Block


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("bounds", [(0, N), (0, 10, 17, N), tuple(range(N + 1))], ids=["one block", "three", "rows"])
def test_gradients_of_blocks_by_finite_differences(bounds, weighted, rng):
    rows, model = table(rng, weighted, bounds), Model(inducing(rng), -1.5)
    _, gradient = collapsed_bound(rows, model, BlockLikelihood, 1)
    expected = central_difference(
        lambda v: collapsed_bound(rows, model.with_vector(v), BlockLikelihood, 1)[0], model.to_vector()
    )
    np.testing.assert_allclose(gradient, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("bounds", [(0, N), (0, 10, 17, N), tuple(range(N + 1))], ids=["exact", "PIC", "FITC"])
def test_the_bound_of_blocks_is_the_evidence_of_pic(bounds, weighted, rng):
    """One block is the exact process, blocks of a row are FITC."""
    rows, own = table(rng, weighted, bounds), inducing(rng)
    model, features = Model(own, -1.5), own.inducing
    psi, K = features(rows.X), features.kernel(rows.X, rows.X)
    dense = psi @ psi.T
    for start, stop in itertools.pairwise(bounds):
        dense[start:stop, start:stop] = K[start:stop, start:stop]
    noise = model.noise * (np.ones(N) if rows.weight is None else 1.0 / rows.weight)
    expected = normal_log_density(rows.y, dense + np.diag(noise))
    if rows.weight is not None:
        # A row that counts for several has as many factors in the likelihood.
        expected -= 0.5 * np.sum((rows.weight - 1) * np.log(2 * np.pi * model.noise) + np.log(rows.weight))
    bound, _ = collapsed_bound(rows, model, BlockLikelihood, 1)
    assert bound == pytest.approx(expected, rel=1e-7)


def test_a_block_needs_inducing_features(rng):
    with pytest.raises(TypeError, match="SpectralMap"):
        BlockLikelihood(Model(spectral(rng), 0.0), Block(np.zeros((2, D)), np.zeros(2)))
