"""Forests of a card, by PyTorch on the processor, against those of NumPy."""

from copy import deepcopy

import numpy as np
import pytest

import ssgp
from devices import CARD, DEVICE
from ssgp import SpectralForestRegressor
from ssgp.engine.on_card.cards import Card
from ssgp.forest import nodes
from ssgp.forest.card_nodes import fit_tree as fit_on_card
from ssgp.forest.leaf_features import LeafFeatures
from ssgp.forest.tree import TreeSkeleton
from ssgp.rows import card_tables
from ssgp.rows.bisecting_tree import grow_tree
from ssgp.rows.blocks import Rows
from ssgp.rows.card_tables import CardTable, rows_on_card
from ssgp.rows.row_tables import MemoryTable

pytestmark = pytest.mark.card

RIDGE = 0.7


def table(rng, weighted, n_rows=1500):
    X = rng.normal(size=(n_rows, 3)).astype(np.float32)
    y = (np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n_rows)).astype(np.float32)
    weight = rng.uniform(0.3, 3.0, size=n_rows).astype(np.float32) if weighted else None
    return MemoryTable(Rows(X, y, weight, np.array([0, n_rows])), held_out=np.arange(7))


def skeleton(rng, rows, n_leaves, wide=False):
    partition, _ = grow_tree(rows.X[:600], n_leaves, rng, np.ones(3, np.float32), 0.3, rows.y[:600])
    features = LeafFeatures.of(0.3 * rng.normal(size=(6, 3)), np.ones(3), np.array([0, 2]) if wide else None)
    return TreeSkeleton(partition, features, 3, (16, 4, 1))


def assert_same_trees(one, other):
    for level, own in zip(one[0].levels, other[0].levels, strict=True):
        for name in ("weights", "sketch"):
            a, b = (getattr(part, name) for part in (level, own))
            scale = np.abs(a.scale[:, :, None]).max()
            np.testing.assert_allclose(
                a.values * a.scale[:, :, None], b.values * b.scale[:, :, None], atol=3e-3 * scale
            )
        np.testing.assert_allclose(level.count, own.count, rtol=1e-5)
        np.testing.assert_allclose(level.rss, own.rss, rtol=1e-3, atol=1e-3)
        assert level.noise_prior.scale == pytest.approx(own.noise_prior.scale, rel=1e-3)
    assert (one[1] is None) == (other[1] is None)
    if one[1] is not None:
        order, other_order = np.argsort(one[1].rows), np.argsort(other[1].rows)
        np.testing.assert_array_equal(one[1].rows[order], other[1].rows[other_order])
        np.testing.assert_allclose(one[1].error[:, order], other[1].error[:, other_order], atol=1e-3)
        np.testing.assert_allclose(one[1].noise_variance[:, order], other[1].noise_variance[:, other_order], rtol=1e-3)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kept", ["on the card", "in memory"])
@pytest.mark.parametrize(
    ("n_leaves", "shrink", "n_sketches", "ridge"),
    [(64, True, 1, RIDGE), (32, False, "exact", 1e-3), pytest.param(128, True, 2, 3.0, marks=pytest.mark.slow)],
)
def test_trees_are_those_of_the_processor(n_leaves, shrink, n_sketches, ridge, kept, weighted, rng, monkeypatch):
    """Leaves of many rows and of few, in several chunks; a large table comes leaf by leaf from where it is."""
    monkeypatch.setattr(card_tables, "ROWS_SHARE", 0.25 if kept == "on the card" else 0.0)
    monkeypatch.setattr(Card, "numbers_at_once", 1 << 13)
    host = table(rng, weighted)
    tree = skeleton(rng, host.rows, n_leaves, wide=n_leaves == 32)
    settings = tree, ridge, n_sketches, shrink, range(0, n_leaves // 16, 2)
    on_card = rows_on_card(CARD, host).without(host.held_out)
    assert isinstance(on_card, CardTable) == (kept == "on the card")
    assert_same_trees(nodes.fit_tree(host, *settings), fit_on_card(CARD, on_card, *settings))


def test_a_table_on_a_card_gives_the_rows_of_the_table(rng):
    host = table(rng, True)
    on_card = rows_on_card(CARD, host)
    index = np.array([5, 3, 1400])
    for name in ("X", "y", "weight"):
        np.testing.assert_array_equal(getattr(on_card.take(index), name), getattr(host.take(index), name))
    assert (on_card.n_rows, on_card.total, on_card.checksums()) == (host.n_rows, host.total, host.checksums())


def rmse(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


def forest(device, **settings):
    settings = {"n_trees": 2, "max_iter": 40, "n_frequencies": 20, "random_state": 0, "n_jobs": 1, **settings}
    return SpectralForestRegressor(device=device, **settings)


@pytest.mark.slow
def test_forests_predict_as_well_as_those_of_the_processor(waves):
    """Their trees are others: equally random."""
    X, y, latent = waves
    one, other = (forest(device).fit(X, y).predict(X, return_std=True) for device in ("cpu", DEVICE))
    assert rmse(latent, other[0]) == pytest.approx(rmse(latent, one[0]), rel=0.3)
    assert rmse(one[0], other[0]) < 0.03
    assert np.median(other[1] / one[1]) == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_forest(waves):
    X, y, _ = waves
    one, other = (forest(DEVICE).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.slow
def test_rows_join_a_forest_on_a_card(waves):
    X, y, _ = waves
    one = forest(DEVICE).fit(X[:1000], y[:1000])
    other = deepcopy(one).set_params(device="cpu")
    for model in (one, other):
        model.partial_fit(X[1000:], y[1000:])
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-3)


@pytest.mark.slow
def test_batches_make_the_same_forest_as_the_table(waves, monkeypatch):
    monkeypatch.setattr("ssgp.forest.sizes.LEAST_SAMPLED", 1000)
    monkeypatch.setattr("ssgp.forest.sizes.MOST_SAMPLED", 1000)
    X, y, _ = waves
    whole = forest(DEVICE).fit(X, y)
    parts = forest(DEVICE).fit_batches([(X[:700], y[:700]), (X[700:], y[700:])])
    np.testing.assert_array_equal(whole.predict(X), parts.predict(X))


@pytest.mark.slow
def test_files_do_not_keep_the_device(waves, tmp_path):
    X, y, _ = waves
    model = forest(DEVICE).fit(X, y)
    model.save(tmp_path / "model")
    loaded = ssgp.load(tmp_path / "model")
    assert loaded.device == "cpu"
    np.testing.assert_allclose(loaded.predict(X), model.predict(X), atol=1e-5)
    np.testing.assert_allclose(loaded.set_params(device=DEVICE).predict(X), model.predict(X), rtol=0, atol=0)
