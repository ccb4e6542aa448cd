"""Predictions on a card, by forests of the processor, against those of the processor."""

import gc
from copy import deepcopy

import numpy as np
import pytest

from devices import CARD, DEVICE
from ssgp import SpectralForestRegressor
from ssgp.engine.on_card.backend import torch
from ssgp.engine.on_card.cards import Card
from ssgp.forest import card_forest
from ssgp.forest.builder import Forest
from ssgp.forest.calibration import Calibration
from ssgp.forest.nodes import fit_tree
from ssgp.rows.row_tables import MemoryTable

pytestmark = pytest.mark.card


def rows(rng, n):
    return rng.uniform(-2, 2, size=(n, 3))


def target(X, rng):
    return np.sin(2 * X[:, 0]) + np.cos(1.5 * X[:, 1]) + (X[:, 2] > 0.5) + 0.1 * rng.normal(size=len(X))


def fitted(X, y, **settings):
    settings = {"n_trees": 4, "max_iter": 30, "n_frequencies": 10, "random_state": 0, "n_jobs": 1, **settings}
    return SpectralForestRegressor(**settings).fit(X, y)


def on_card(model):
    return deepcopy(model).set_params(device=DEVICE)


def assert_same_predictions(model, X):
    """To the rounding of single precision, but for rows that rounding puts on another side of a plane."""
    other = on_card(model)
    y = model.predict(X[::-1])
    for ask in (
        lambda one: one.predict(X),
        lambda one: np.stack(one.predict(X, return_std=True)),
        lambda one: one.predict_interval(X, 0.9),
        lambda one: one.predict_quantiles(X, [0.1, 0.5]),
        lambda one: one.log_prob(X, y),
        lambda one: one.cdf(X, y),
        lambda one: one.noise_variance(X),
    ):
        expected, found = ask(model), ask(other)
        assert isinstance(found, np.ndarray)
        close = np.isclose(found, expected, rtol=1e-4, atol=1e-5)
        assert np.mean(close) >= 0.999


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(5)
    X = rows(rng, 3000)
    return fitted(X, target(X, rng))


@pytest.mark.slow
def test_a_corrected_forest_predicts_the_same(model, rng):
    assert model.corrected_share_ > 0.0
    assert_same_predictions(model, rows(rng, 3000))


def test_in_chunks_too(model, rng, monkeypatch):
    monkeypatch.setattr(card_forest, "MOST_ROWS", 700)
    assert_same_predictions(model, rows(rng, 1500))


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"n_sketches": "exact"}, {"n_sketches": 3, "correct": False}])
def test_of_many_vectors_for_every_leaf(settings, rng, monkeypatch):
    monkeypatch.setattr(Card, "numbers_at_once", 1 << 17)
    X = rows(rng, 1200)
    assert_same_predictions(fitted(X, target(X, rng), **settings), rows(rng, 800))


@pytest.mark.slow
def test_of_a_mapped_target_with_atoms(rng):
    X = rows(rng, 1500)
    y = np.where(rng.random(1500) < 0.3, 0.0, np.exp(target(X, rng)))
    model = fitted(X, y, target="non-negative", atoms=[0.0])
    assert_same_predictions(model, rows(rng, 500))
    X = rows(rng, 500)
    np.testing.assert_allclose(on_card(model).cdf(X, np.zeros(500)), model.cdf(X, np.zeros(500)), rtol=1e-9)


@pytest.mark.slow
def test_of_a_wide_table(rng):
    X = rng.normal(size=(300, 320)).astype(np.float32)
    assert_same_predictions(fitted(X, X[:, 0] + 0.1 * rng.normal(size=300)), X)


def test_of_one_row(model, rng):
    X = rows(rng, 1)
    np.testing.assert_allclose(on_card(model).predict(X), model.predict(X), rtol=1e-5)


def test_all_levels_are_those_of_the_processor(rng):
    X = rows(rng, 2500)
    model = fitted(X, target(X, rng), keep_rows=True)
    skeletons, table = model._fitted.skeletons, model._fitted.rows
    trees = tuple(fit_tree(MemoryTable(table), skeleton, 0.7, 1, True)[0] for skeleton in skeletons)
    X = table.X[:400]
    expected = Forest(trees, Calibration()).all_components(X, 1)
    found = card_forest.all_components(CARD, trees, X)
    for name in ("mean", "leverage", "shape", "scale"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-3, atol=1e-4)


def test_a_forest_is_sent_once_and_files_do_not_have_it(model, rng, monkeypatch, tmp_path):
    other, X = on_card(model), rows(rng, 10)
    other.predict(X)
    monkeypatch.setattr("ssgp.forest.card_predictor.CardForest", None)
    other.predict_interval(X)
    assert "on_cards" not in deepcopy(other._fitted.forest).__dict__
    other.save(tmp_path / "one")
    model.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_name_that_is_none_is_refused(model, rng):
    with pytest.raises(ValueError, match=r"device must be a str: 'cpu', 'auto', 'cuda', .*got 'gpu'"):
        deepcopy(model).set_params(device="gpu").predict(rows(rng, 3))


def tensors_there():
    gc.collect()
    return sum(type(thing) is torch.Tensor for thing in gc.get_objects())


def out_of_memory(*args, **keywords):
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has ...")


@pytest.mark.slow
def test_a_full_card_is_told_of_and_left_empty_by_a_prediction(model, rng, monkeypatch):
    other, X = on_card(model), rows(rng, 10)
    before = tensors_there()
    monkeypatch.setattr("ssgp.forest.card_forest.CardCorrection.__call__", out_of_memory)
    with pytest.raises(
        MemoryError, match=r"has no room for 3\.00 GiB: .*predict fewer rows at a time, or use"
    ) as error:
        other.predict(X)
    assert error.value is not None
    assert tensors_there() <= before
    monkeypatch.undo()
    np.testing.assert_allclose(other.predict(X), model.predict(X), atol=1e-5)


@pytest.mark.slow
def test_a_full_card_is_told_of_and_left_empty_by_a_fit(rng, monkeypatch):
    X = rows(rng, 600)
    before = tensors_there()
    monkeypatch.setattr("ssgp.forest.card_nodes.leave_one_out", out_of_memory)
    with pytest.raises(MemoryError, match=r"has no room for 3\.00 GiB: .*n_frequencies lower") as error:
        fitted(X, target(X, rng), device=DEVICE)
    assert error.value is not None
    assert tensors_there() <= before
