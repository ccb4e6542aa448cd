"""Trees and their predictions, against dense formulas."""

import numpy as np
import pytest

from ssgp.forest.growing import grow_skeleton
from ssgp.forest.leaf_features import LeafFeatures
from ssgp.forest.nodes import fit_tree
from ssgp.forest.tree import TreeShape
from ssgp.forest.tree_stack import TreeStack
from ssgp.rows.blocks import Rows
from ssgp.rows.row_tables import MemoryTable

RIDGE = 0.8


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(300, 2)).astype(np.float32)
    y = (np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=300)).astype(np.float32)
    return Rows(X, y, None, np.array([0, 300]))


@pytest.fixture
def features(rng):
    return LeafFeatures.of(0.3 * rng.normal(size=(4, 2)), np.ones(2))


@pytest.fixture
def tree(rows, features):
    skeleton = grow_skeleton(rows, np.ones(2), features, TreeShape(8, (4, 1)), (0, 0))
    return fit_tree(MemoryTable(rows), skeleton, RIDGE, "exact", True)[0]


def test_a_row_is_predicted_by_its_branch_and_its_leaf(rows, features, tree, rng):
    new = rng.normal(size=(50, 2)).astype(np.float32)
    phi, at = (features(X).astype(float) for X in (rows.X, new))
    leaf, new_leaf = tree.partition.assign(rows.X), tree.partition.assign(new)
    predictions = TreeStack.of([tree]).components(new)
    for i in range(50):
        prior = np.zeros(phi.shape[1])
        for level, per_node in enumerate((4, 1)):
            inside = leaf // per_node == new_leaf[i] // per_node
            A = phi[inside].T @ phi[inside] + RIDGE * np.eye(phi.shape[1])
            weights = prior + np.linalg.solve(A, phi[inside].T @ (rows.y[inside] - phi[inside] @ prior))
            # Half precision of the weights costs some thousandths of the noise.
            assert predictions.mean[level, i] == pytest.approx(at[i] @ weights, abs=0.01)
            assert predictions.leverage[level, i] == pytest.approx(at[i] @ np.linalg.solve(A, at[i]), rel=0.02)
            residual = rows.y[inside] - phi[inside] @ weights
            rss = residual @ residual + RIDGE * np.sum((weights - prior) ** 2)
            noise_prior = tree.levels[level].noise_prior
            assert predictions.shape[level, i] == pytest.approx(noise_prior.shape + inside.sum() / 2, rel=1e-5)
            assert predictions.scale[level, i] == pytest.approx(noise_prior.scale + rss / 2, rel=1e-4)
            prior = weights


class TestShape:
    def test_models_are_of_every_second_of_the_last_levels(self):
        assert [TreeShape.of_depth(depth).leaves_per_node for depth in (0, 1, 2, 3, 4, 9)] == [
            (1,),
            (1,),
            (4, 1),
            (4, 1),
            (16, 4, 1),
            (16, 4, 1),
        ]
        assert TreeShape.of_depth(9).n_leaves == 512
        assert TreeShape.of_depth(9).n_branches == 32

    def test_cut_at_a_level_its_nodes_are_leaves_with_the_same_ancestors(self):
        whole = TreeShape(64, (16, 4, 1))
        assert whole.cut_at(0) == TreeShape(4, (1,))
        assert whole.cut_at(1) == TreeShape(16, (4, 1))
        assert whole.cut_at(2) == whole

    def test_a_skeleton_that_is_cut_off_has_the_same_branches(self, rows, features):
        skeleton = grow_skeleton(rows, np.ones(2), features, TreeShape(16, (4, 1)), (0, 0))
        cut = skeleton.with_shape(skeleton.shape.cut_at(0))
        np.testing.assert_array_equal(cut.partition.assign(rows.X), skeleton.partition.assign(rows.X) // 4)
        assert cut.leaves_per_node == (1,)


def test_other_seeds_grow_other_trees(rows, features):
    """Where the target does not tell which way to cut."""
    shape, flat = TreeShape(8, (4, 1)), Rows(rows.X, np.zeros(300, np.float32), None, rows.bounds)
    one, same, other = (grow_skeleton(flat, np.ones(2), features, shape, (seed, 0)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.partition.directions, same.partition.directions)
    assert not np.array_equal(one.partition.directions, other.partition.directions)
