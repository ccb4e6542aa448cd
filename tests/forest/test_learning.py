"""Frequencies learned from some blocks of large tables."""

import numpy as np
import pytest

from helpers import small_forest, wavy
from ssgp.forest import learning
from ssgp.metrics import rmse
from ssgp.spectrum.learner import Learner


@pytest.mark.slow
def test_a_large_table_of_few_different_rows(monkeypatch):
    monkeypatch.setattr("ssgp.forest.learning.LEARNING_ROWS", 300)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(4000, 2)).astype(float)
    y = X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=4000)
    model = small_forest(max_iter=100).fit(X, y)
    assert rmse(X.sum(axis=1), model.predict(X)) < 0.05


@pytest.mark.slow
def test_a_table_larger_than_learning_needs_is_learned_from_some_blocks(monkeypatch):
    monkeypatch.setattr("ssgp.forest.learning.LEARNING_ROWS", 300)
    X, y, latent = wavy(1500)
    model = small_forest(max_iter=200).fit(X, y)
    assert rmse(latent, model.predict(X)) < 0.5 * latent.std()


@pytest.mark.parametrize("is_large", [True, False])
def test_both_rounds_share_an_optimizer_where_the_table_is_large(is_large, monkeypatch):
    usual, trained = Learner.trainer, []

    def noted(self, parameters, rows, optimizers, rng):
        trained.append(optimizers)
        return usual(self, parameters, rows, optimizers, rng)

    monkeypatch.setattr(learning, "LARGE", 300 if is_large else 10_000)
    monkeypatch.setattr(Learner, "trainer", noted)
    X, y, _ = wavy(400)
    small_forest().fit(X, y)
    first, second = trained
    assert (first[0] is second[0]) == is_large
