"""The features of a forest's trees, one at a time."""

import numpy as np
import pytest

from helpers import naive_features
from ssgp.forest.leaf_features import Waves


@pytest.mark.parametrize(("m", "d"), [(5, 3), (1, 1), (4, 7)])
def test_features_against_one_at_a_time(m, d, rng):
    X, frequencies, lengthscale = rng.normal(size=(20, d)), rng.normal(size=(m, d)), rng.uniform(0.3, 3.0, size=d)
    waves = Waves.of(frequencies, lengthscale)
    phi = waves.features(np.column_stack([X, np.ones(20)]).astype(np.float32))
    trend = [np.full(20, np.sqrt(m)), *(np.sqrt(m / d) * X[:, j] / lengthscale[j] for j in range(d))]
    # Phases of some tens of radians in float32.
    np.testing.assert_allclose(phi, np.column_stack([naive_features(X, frequencies), *trend]), atol=5e-5)
    assert phi.shape[1] == waves.n_features == 2 * m + 1 + d


def test_rows_may_come_in_tiles(rng):
    waves = Waves.of(rng.normal(size=(3, 2)), np.ones(2))
    joined = np.concatenate([rng.normal(size=(12, 2)), np.ones((12, 1))], axis=1).astype(np.float32)
    np.testing.assert_allclose(
        waves.features(joined.reshape(3, 4, 3)).reshape(12, -1), waves.features(joined), atol=1e-6
    )


def test_a_prior_draw_has_the_signal_of_waves_constant_and_line(rng):
    """Under weights of one variance, waves, constant and lines each have variance m."""
    X = rng.normal(size=(4000, 3))
    phi = Waves.of(rng.normal(size=(6, 3)), np.ones(3)).features(np.column_stack([X, np.ones(4000)]).astype(np.float32))
    squares = (phi.astype(float) ** 2).mean(axis=0)
    assert squares[:12].sum() == pytest.approx(6.0, rel=1e-5)
    assert squares[12] == pytest.approx(6.0, rel=1e-5)
    assert squares[13:].sum() == pytest.approx(6.0, rel=0.1)
