"""The features of a forest's trees, one at a time."""

import numpy as np
import pytest

from helpers import naive_features
from ssgp.engine.tiles import TILE_ROWS
from ssgp.forest.leaf_features import LeafFeatures, WideLeafFeatures
from ssgp.saving.contents import ContentsError
from ssgp.saving.kinds import kind_of


@pytest.mark.parametrize(("m", "d"), [(5, 3), (1, 1), (4, 7)])
def test_features_against_one_at_a_time(m, d, rng):
    X, frequencies, lengthscale = rng.normal(size=(20, d)), rng.normal(size=(m, d)), rng.uniform(0.3, 3.0, size=d)
    features = LeafFeatures.of(frequencies, lengthscale)
    phi = features(X.astype(np.float32))
    trend = [np.full(20, np.sqrt(m)), *(np.sqrt(m / d) * X[:, j] / lengthscale[j] for j in range(d))]
    # Phases of some tens of radians in float32.
    np.testing.assert_allclose(phi, np.column_stack([naive_features(X, frequencies), *trend]), atol=5e-5)
    assert phi.shape[1] == features.n_features == 2 * m + 1 + d


def test_stacks_of_rows_have_the_features_of_their_rows(rng):
    features, X = LeafFeatures.of(rng.normal(size=(3, 2)), np.ones(2)), rng.normal(size=(3, 4, 2)).astype(np.float32)
    np.testing.assert_allclose(features(X).reshape(12, -1), features(X.reshape(12, 2)), atol=1e-6)


@pytest.mark.parametrize("n", [1, 7, TILE_ROWS, TILE_ROWS + 1, 3 * TILE_ROWS])
def test_in_tiles_a_row_has_the_same_features_whatever_rows_come_with_it(n, rng):
    features, X = LeafFeatures.of(rng.normal(size=(3, 2)), np.ones(2)), rng.normal(size=(n, 2)).astype(np.float32)
    phi = features.in_tiles(X)
    np.testing.assert_allclose(phi, features(X), atol=1e-6)
    np.testing.assert_array_equal(features.in_tiles(X[n // 2 :]), phi[n // 2 :])


def test_a_prior_draw_has_the_signal_of_waves_constant_and_line(rng):
    """Under weights of one variance, waves, constant and lines each have variance m."""
    X = rng.normal(size=(4000, 3))
    phi = LeafFeatures.of(rng.normal(size=(6, 3)), np.ones(3))(X.astype(np.float32))
    squares = (phi.astype(float) ** 2).mean(axis=0)
    assert squares[:12].sum() == pytest.approx(6.0, rel=1e-5)
    assert squares[12] == pytest.approx(6.0, rel=1e-5)
    assert squares[13:].sum() == pytest.approx(6.0, rel=0.1)


@pytest.mark.parametrize("n", [1, TILE_ROWS + 1])
def test_a_trend_of_some_inputs_against_one_at_a_time(n, rng):
    X, frequencies, lengthscale = rng.normal(size=(n, 6)), rng.normal(size=(4, 6)), rng.uniform(0.3, 3.0, size=6)
    features = LeafFeatures.of(frequencies, lengthscale, np.array([1, 4]))
    trend = [np.full(n, 2.0), *(np.sqrt(4 / 2) * X[:, j] / lengthscale[j] for j in (1, 4))]
    expected = np.column_stack([naive_features(X, frequencies), *trend])
    for phi in (features(X.astype(np.float32)), features.in_tiles(X.astype(np.float32))):
        np.testing.assert_allclose(phi, expected, atol=5e-5)
        assert phi.dtype == np.float32
    assert features.n_features == 2 * 4 + 1 + 2
    assert features(np.zeros((3, 5, 6), np.float32)).shape == (3, 5, 11)


@pytest.mark.parametrize(("inputs", "slopes"), [([0, 3], [1.0, 1.0]), ([-1], [1.0]), ([0, 1], [1.0]), ([[0]], [[1.0]])])
def test_a_file_s_trend_of_inputs_that_there_are_not_is_refused(inputs, slopes):
    kind = kind_of(WideLeafFeatures)
    assert kind is not None
    parts = {"projection": np.zeros((4, 3), np.float32), "n_cosines": 2}
    kind.check({**parts, "trend_inputs": np.array([0, 2]), "slopes": np.ones(2, np.float32)})
    with pytest.raises(ContentsError):
        kind.check({**parts, "trend_inputs": np.array(inputs), "slopes": np.array(slopes, np.float32)})
