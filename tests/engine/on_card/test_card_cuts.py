"""Cuts of many nodes on a card, by PyTorch on the processor."""

import numpy as np
import pytest

from devices import CARD
from ssgp.engine import cuts as host
from ssgp.engine.on_card import cuts
from ssgp.engine.on_card.cards import Card
from ssgp.rows.bisecting_tree import grow_tree, grow_trees
from ssgp.rows.card_partitioner import CardPartitioner

pytestmark = pytest.mark.card

PARTITIONER = CardPartitioner(CARD)


@pytest.mark.parametrize("n_rows", [60, 61])
def test_likelihoods_are_those_of_numpy(n_rows, rng):
    X, y = rng.normal(size=(3, n_rows, 2)), rng.normal(size=(3, n_rows))
    y[2] = 1.0
    projections = rng.normal(size=(3, 4, n_rows))
    projections[1, 2] = 0.0
    found = cuts._log_likelihoods(*map(CARD.send, (X, y, projections))).cpu().numpy()
    np.testing.assert_allclose(found, host._log_likelihoods(X, y, projections), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [30, 700])
def test_without_a_target_a_node_is_cut_along_its_first_principal_direction(n_rows, rng):
    along = rng.normal(size=(4, n_rows, 1)) * rng.normal(size=(4, 1, 5))
    X = rng.normal(size=(4, n_rows, 5)) + 9.0 * along
    for rows, found in zip(X, cuts.cut_directions(CARD, CARD.send(X), None, rng, 0.0).cpu().numpy(), strict=True):
        expected = np.linalg.svd(rows - rows.mean(axis=0))[2][0]
        assert abs(found @ expected) == pytest.approx(1.0, abs=1e-3)


def test_the_target_chooses_among_directions(rng):
    """A step along an input that varies little is found, where that input competes."""
    X = rng.normal(size=(1, 500, 2)).astype(np.float32) * np.array([3.0, 1.0], np.float32)
    y = np.where(X[:, :, 1] > 0, 5.0, 0.0).astype(np.float32)
    found = cuts.cut_directions(CARD, *map(CARD.send, (X, y)), rng=rng, jitter=0.0).cpu().numpy()
    np.testing.assert_array_equal(np.abs(found), [[0.0, 1.0]])


@pytest.mark.parametrize("numbers_at_once", [1, 1 << 22])
@pytest.mark.parametrize("n_leaves", [1, 2, 13, 64])
def test_a_tree_is_balanced_and_sends_its_own_rows_to_their_leaves(n_leaves, numbers_at_once, rng, monkeypatch):
    monkeypatch.setattr(Card, "numbers_at_once", numbers_at_once)
    X, y = rng.normal(size=(1000, 4)).astype(np.float32), rng.normal(size=1000).astype(np.float32)
    tree, labels = grow_tree(X, n_leaves, rng, np.ones(4, np.float32), 0.3, y, PARTITIONER)
    counts = np.bincount(labels, minlength=n_leaves)
    assert counts.max() - counts.min() <= 1
    np.testing.assert_array_equal(tree.assign(X), labels)
    np.testing.assert_array_equal(PARTITIONER.leaves(tree, X), labels)


def test_trees_grown_together_differ_and_are_the_same_again(rng):
    X, y = rng.normal(size=(400, 4)).astype(np.float32), rng.normal(size=400).astype(np.float32)
    one, other = (
        grow_trees(X, 8, 3, np.random.default_rng(1), np.ones(4, np.float32), 0.3, y, PARTITIONER) for _ in range(2)
    )
    assert len({tree.directions.tobytes() for tree in one}) == 3
    for tree, again in zip(one, other, strict=True):
        np.testing.assert_array_equal(tree.directions, again.directions)
        assert np.ptp(np.bincount(tree.assign(X))) == 0


def test_trees_of_many_inputs_are_grown_by_the_processor(rng):
    X = rng.normal(size=(300, 40)).astype(np.float32)
    one, other = (
        grow_tree(X, 4, np.random.default_rng(1), np.ones(40, np.float32), partitioner=partitioner)[0]
        for partitioner in (PARTITIONER, None)
    )
    np.testing.assert_array_equal(one.directions, other.directions)
