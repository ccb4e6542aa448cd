"""PIC+, against dense formulas and the methods it is between."""

from typing import Any

import numpy as np
import pytest

import ssgp
import ssgp.baselines.gaussian_regressor
import ssgp.baselines.pic
from helpers import dual_gp, squared_exponential, wavy
from ssgp import PICRegressor
from ssgp.baselines.feature_maps import InducingMap
from ssgp.baselines.linear_bound import WeightPosterior
from ssgp.baselines.model import Model, RowLikelihood, sum_blocks
from ssgp.rows.blocks import Rows


class TestPIC:
    @pytest.mark.slow
    def test_one_block_is_the_exact_process(self):
        X, y, _ = wavy(150)
        model = PICRegressor(10, n_blocks=1, max_iter=60, normalize=False, random_state=0).fit(X, y)
        new = wavy(40, seed=1)[0]
        arguments = (model.lengthscale_, model.signal_variance_)
        K, K_star = squared_exponential(X, X, *arguments), squared_exponential(new, X, *arguments)
        mean, variance = dual_gp(K, K_star, np.full(40, model.signal_variance_), y, model.noise_variance_)
        found, latent = model.predict(new, return_std=True, latent=True)
        np.testing.assert_allclose(found, mean, atol=2e-4)
        np.testing.assert_allclose(latent**2, variance, atol=2e-4)

    @pytest.mark.parametrize("n_blocks", [6, 150, None], ids=["blocks", "rows", "blocks of the user"])
    def test_against_dense_formulas(self, n_blocks, rng):
        """Training covariance Q + blockdiag(K - Q) + noise, and a test row covaries exactly with its own block."""
        X, y, _ = wavy(150)
        new = wavy(40, seed=1)[0]
        given: Any = (
            [None, None] if n_blocks else [np.array(["e", "a", "c"])[rng.integers(3, size=n)] for n in (40, 150)]
        )
        model = PICRegressor(12, n_blocks=n_blocks or "auto", max_iter=40, normalize=False, random_state=0)
        model.fit(X, y, blocks=given[1])
        arguments, U = (model.lengthscale_, model.signal_variance_), model.inducing_inputs_
        units = model._units
        own, theirs = (model.partition_.assign(units.inputs(A)) for A in (new, X)) if n_blocks else given
        Kuu = squared_exponential(U, U, *arguments) + 1e-6 * model.signal_variance_ * np.eye(len(U))

        def nystrom(A, B):
            Ka, Kb = squared_exponential(A, U, *arguments), squared_exponential(B, U, *arguments)
            return Ka @ np.linalg.solve(Kuu, Kb.T)

        def pic(A, B, same):
            return np.where(same, squared_exponential(A, B, *arguments), nystrom(A, B))

        K = pic(X, X, theirs[:, None] == theirs)
        K_star = pic(new, X, own[:, None] == theirs)
        mean, variance = dual_gp(K, K_star, np.full(40, model.signal_variance_), y, model.noise_variance_)
        found, latent = model.predict(new, return_std=True, latent=True, **({} if n_blocks else {"blocks": given[0]}))
        np.testing.assert_allclose(found, mean, atol=1e-3)
        np.testing.assert_allclose(latent**2, variance, atol=1e-3)

    def test_without_the_correction_is_dtc(self, rng):
        """Where inducing inputs are the training rows there is nothing left to correct."""
        X, y, _ = wavy(40)
        rows = Rows(X, y, None, np.array([0, 20, 40]))
        features = InducingMap(X, np.zeros(2), 0.0)
        model = Model(features, -3.0)
        from ssgp.baselines.block_likelihood import BlockLikelihood

        pic, dtc = (
            WeightPosterior.best(sum_blocks(rows, model, kind, 1))[0] for kind in (BlockLikelihood, RowLikelihood)
        )
        new = rng.normal(size=(10, 2))
        np.testing.assert_allclose(features.inducing(new) @ pic.mean, features.inducing(new) @ dtc.mean, atol=1e-3)

    @pytest.mark.slow
    def test_more_blocks_than_rows_are_refused(self):
        with pytest.raises(ValueError, match="n_blocks=30 must be at most the number of rows, found 20"):
            PICRegressor(5, n_blocks=30).fit(*wavy(20)[:2])


def test_blocks_of_a_user_are_found_by_their_labels_or_by_the_nearest_row(tmp_path):
    X, y, _ = wavy(120)
    labels = np.where(X[:, 0] < 0, 7, 3)
    model = PICRegressor(5, max_iter=5, random_state=0).fit(X, y, blocks=labels)
    np.testing.assert_array_equal(model.block_labels_, [3, 7])
    by_label = model.predict(X, blocks=labels)
    np.testing.assert_array_equal(model.predict(X), by_label)
    assert np.abs(model.predict(X, blocks=10 - labels) - by_label).max() > 0.01
    model.save(tmp_path / "model.ssgp")
    np.testing.assert_array_equal(ssgp.load(tmp_path / "model.ssgp").predict(X, blocks=labels), by_label)
    with pytest.raises(ValueError, match="blocks has label 4, which was not among the blocks in fit"):
        model.predict(X, blocks=np.full(len(X), 4))
    with pytest.raises(ValueError, match="only where they were given to fit"):
        PICRegressor(5, n_blocks=2, max_iter=1, random_state=0).fit(X, y).predict(X, blocks=labels)


@pytest.fixture(scope="module")
def fitted():
    X, y, _ = wavy(500)
    return PICRegressor(20, n_blocks=8, max_iter=50, random_state=0).fit(X[:400], y[:400]), X[400:]


def test_a_block_is_factorised_once_for_many_rows(fitted, monkeypatch):
    model, new = fitted
    X = np.tile(new, (200, 1))
    assert len(X) > ssgp.baselines.gaussian_regressor.ROWS_PER_CHUNK
    solved, solve = [], ssgp.baselines.pic.solve_block
    monkeypatch.setattr(ssgp.baselines.pic, "solve_block", lambda *given: solved.append(1) or solve(*given))
    mean = model.predict(X)
    assert len(solved) <= model.partition_.n_blocks
    np.testing.assert_allclose(mean[-len(new) :], model.predict(new), rtol=1e-10)


def test_some_rows_of_a_block_are_predicted_at_a_time(fitted, monkeypatch):
    model, X = fitted
    whole = model.predict(X, return_std=True)
    monkeypatch.setattr(ssgp.baselines.pic, "ROWS_PER_TASK", 7)
    np.testing.assert_allclose(model.predict(X, return_std=True), whole, rtol=1e-9)
