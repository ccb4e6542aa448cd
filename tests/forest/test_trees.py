"""Trees filled with rows, against dense formulas."""

import numpy as np
import pytest

from ssgp.engine.threads import one_blas_thread
from ssgp.forest.branches import join_one
from ssgp.forest.calibration import Calibration
from ssgp.forest.leaf_features import Waves
from ssgp.forest.trees import Forest, TreeRecipe, grow_partition, plant
from ssgp.rows.row_tables import MemoryTable
from ssgp.rows.standardized import Rows

RIDGE = 0.8


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(300, 2)).astype(np.float32)
    y = (np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=300)).astype(np.float32)
    return Rows(X, y, None, np.array([0, 300]))


@pytest.fixture
def waves(rng):
    return Waves.of(0.3 * rng.normal(size=(4, 2)), np.ones(2))


def recipe(**settings):
    return TreeRecipe(**{"groups": (4, 1), "n_leaves": 8, "n_sketches": None, "shrink": True, **settings})


def planted(rows, waves, seed=0, **settings):
    partition = grow_partition(rows, np.ones(2), recipe(**settings), seed=0)
    return plant(MemoryTable(rows), partition, waves, RIDGE, recipe(**settings), seed)[0]


def said(tree, waves, X, level=-1):
    forest = Forest((tree,), Calibration()).only(level)
    return forest.components(X, n_jobs=1)


def test_a_row_is_predicted_by_its_branch_and_its_leaf(rows, waves, rng):
    tree = planted(rows, waves)
    new = rng.normal(size=(50, 2)).astype(np.float32)
    phi, at = (waves.features(join_one(X)).astype(float) for X in (rows.X, new))
    leaf, own = tree.partition.assign(rows.X), tree.partition.assign(new)
    branches, leaves = said(tree, waves, new, 0), said(tree, waves, new, 1)
    for i in range(50):
        prior = np.zeros(phi.shape[1])
        for found, inside in ((branches, leaf // 4 == own[i] // 4), (leaves, leaf == own[i])):
            A = phi[inside].T @ phi[inside] + RIDGE * np.eye(phi.shape[1])
            weights = prior + np.linalg.solve(A, phi[inside].T @ (rows.y[inside] - phi[inside] @ prior))
            # Half precision of the weights costs some thousandths of the noise.
            assert found.mean[0, i] == pytest.approx(at[i] @ weights, abs=0.01)
            assert found.leverage[0, i] == pytest.approx(at[i] @ np.linalg.solve(A, at[i]), rel=0.02)
            residual = rows.y[inside] - phi[inside] @ weights
            rss = residual @ residual + RIDGE * np.sum((weights - prior) ** 2)
            noise_prior = tree.levels[0 if found is branches else 1].noise_prior
            assert found.shape[0, i] == pytest.approx(noise_prior.shape + inside.sum() / 2, rel=1e-5)
            assert found.scale[0, i] == pytest.approx(noise_prior.scale + rss / 2, rel=1e-4)
            prior = weights


def test_the_order_of_the_rows_does_not_matter(rows, waves, rng):
    tree = planted(rows, waves)
    shuffled = rows.reorder(rng.permutation(300), rows.bounds)
    again = plant(MemoryTable(shuffled), tree.partition, waves, RIDGE, recipe(), 0)[0]
    one, other = said(tree, waves, rows.X), said(again, waves, rows.X)
    np.testing.assert_allclose(one.mean, other.mean, atol=2e-3)
    np.testing.assert_allclose(one.scale, other.scale, rtol=1e-4)


def test_one_sketch_is_unbiased(rows, waves):
    """Mean leverage of all rows over 60 seeds, within 4 standard errors of the exact one."""
    tree = planted(rows, waves)
    one = recipe(n_sketches=1)
    with one_blas_thread():
        sketched = [plant(MemoryTable(rows), tree.partition, waves, RIDGE, one, seed)[0] for seed in range(60)]
    found = [said(other, waves, rows.X).leverage.mean() for other in sketched]
    assert abs(np.mean(found) - said(tree, waves, rows.X).leverage.mean()) < 4 * np.std(found) / np.sqrt(60)
    assert np.std(found) > 0


def test_means_are_those_of_the_components(rows, waves):
    forest = Forest(tuple(planted(rows, waves, seed) for seed in range(3)), Calibration()).only(-1)
    np.testing.assert_allclose(forest.means(rows.X, 1), forest.calibration(forest.components(rows.X, 1)).mean())


def test_bytes_are_counted_once_for_shared_waves(rows, waves):
    tree = planted(rows, waves)
    one, two = (Forest((tree,) * k, Calibration()).nbytes() for k in (1, 2))
    assert two - one == tree.nbytes()
    assert one - tree.nbytes() == waves.projection.nbytes


def test_models_are_of_every_second_of_the_last_levels():
    assert [TreeRecipe.groups_of(depth) for depth in (0, 1, 2, 3, 4, 9)] == [
        (1,),
        (1,),
        (4, 1),
        (4, 1),
        (16, 4, 1),
        (16, 4, 1),
    ]


def test_left_out_errors_belong_to_their_rows(rows, waves, rng):
    partition = grow_partition(rows, np.ones(2), recipe(), seed=0)
    order = rng.permutation(300)
    own = recipe()
    _, one = plant(MemoryTable(rows), partition, waves, RIDGE, own, 0, tested=range(2))
    _, other = plant(MemoryTable(rows.reorder(order, rows.bounds)), partition, waves, RIDGE, own, 0, tested=range(2))
    assert one is not None
    assert other is not None
    by_row, again = np.empty((2, 300)), np.empty((2, 300))
    by_row[:, one.rows], again[:, order[other.rows]] = one.error, other.error
    np.testing.assert_allclose(by_row, again, rtol=1e-3, atol=1e-4)
    # Leaving a row out makes its error larger, and a forest that has not seen it no better.
    tree = planted(rows, waves)
    fitted = rows.y - said(tree, waves, rows.X).mean[0]
    assert np.mean(one.error[-1] ** 2) > np.mean(fitted**2)


def test_only_the_branches_asked_for_are_left_out(rows, waves):
    partition = grow_partition(rows, np.ones(2), recipe(), seed=0)
    _, found = plant(MemoryTable(rows), partition, waves, RIDGE, recipe(), 0, tested=[1])
    assert found is not None
    np.testing.assert_array_equal(np.sort(found.rows), np.flatnonzero(partition.assign(rows.X) // 4 == 1))
