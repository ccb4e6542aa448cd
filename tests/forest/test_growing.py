"""Skeletons of trees: the inputs they are cut by."""

import numpy as np
import pytest

from ssgp._utils.wide import CHOSEN_INPUTS, WIDE
from ssgp.forest.growing import grow_skeleton, grow_together
from ssgp.forest.leaf_features import LeafFeatures
from ssgp.forest.tree import TreeShape
from ssgp.rows.blocks import Rows

SHAPE = TreeShape.of_depth(3)


def grown(n_inputs, lengthscale, rng):
    X, y = rng.normal(size=(200, n_inputs)).astype(np.float32), rng.normal(size=200).astype(np.float32)
    features = LeafFeatures.of(rng.normal(size=(2, n_inputs)), lengthscale, np.arange(2))
    rows = Rows(X, y, None, np.array([0, 200]))
    alone = grow_skeleton(rows, lengthscale, features, SHAPE, (1, 2))
    return X, [alone, *grow_together(rows, lengthscale, [features] * 2, SHAPE, [(1, 2), (3, 4)])]


def test_trees_of_many_inputs_are_cut_by_those_of_short_lengthscales(rng):
    lengthscale = rng.uniform(1.0, 2.0, size=WIDE + 10)
    long = rng.permutation(WIDE + 10)[CHOSEN_INPUTS:]
    lengthscale[long] = 3.0
    X, skeletons = grown(WIDE + 10, lengthscale, rng)
    for skeleton in skeletons:
        assert skeleton.partition.directions.shape == (7, WIDE + 10)
        assert not skeleton.partition.directions[:, long].any()
        assert skeleton.partition.directions.any(axis=1).all()
        np.testing.assert_array_equal(np.bincount(skeleton.partition.assign(X)), 25)


@pytest.mark.parametrize("n_inputs", [3, WIDE])
def test_other_trees_may_be_cut_by_all(n_inputs, rng):
    _, skeletons = grown(n_inputs, np.ones(n_inputs), rng)
    for skeleton in skeletons:
        assert (skeleton.partition.directions != 0.0).any(axis=0).all()
