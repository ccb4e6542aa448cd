"""Forests: averages of trees, corrected and calibrated."""

import pickle

import numpy as np
import pytest

from helpers import small_forest, wavy
from ssgp.forest.calibration import Calibration
from ssgp.forest.correction import Correction
from ssgp.forest.fitted import LEAST_CHUNK, MOST_CHUNK, Forest, _rows_per_chunk
from ssgp.forest.growing import grow_skeleton
from ssgp.forest.leaf_features import LeafFeatures
from ssgp.forest.nodes import fit_tree
from ssgp.forest.tree import TreeShape
from ssgp.forest.tree_stack import TreeStack
from ssgp.rows.blocks import Rows
from ssgp.rows.row_tables import MemoryTable


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(300, 2)).astype(np.float32)
    y = (np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=300)).astype(np.float32)
    return Rows(X, y, None, np.array([0, 300]))


@pytest.fixture
def trees(rows, rng):
    """Two trees that share their features, and one with others."""
    shared, others = (LeafFeatures.of(0.3 * rng.normal(size=(4, 2)), np.ones(2)) for _ in range(2))
    grown = [
        grow_skeleton(rows, np.ones(2), features, TreeShape(8, (4, 1)), (seed, seed))
        for seed, features in enumerate((shared, shared, others))
    ]
    return tuple(fit_tree(MemoryTable(rows), skeleton, 0.8, 1, True)[0] for skeleton in grown)


class Constant:
    """A booster."""

    def predict(self, X):
        return np.full(len(X), 0.5)


@pytest.mark.parametrize("corrected", [False, True])
def test_means_are_those_of_the_components(rows, trees, corrected):
    correction = Correction((Constant(),), 0.7) if corrected else None
    forest = Forest(trees, Calibration(), correction).only(-1)
    np.testing.assert_array_equal(forest.means(rows.X), forest.components(rows.X).mean)


def test_components_are_those_of_the_trees(rows, trees):
    found = Forest(trees, Calibration()).all_components(rows.X, 1)
    expected = [TreeStack.of([tree]).components(rows.X).mean for tree in trees]
    np.testing.assert_array_equal(found.mean, np.concatenate(expected))
    np.testing.assert_array_equal(found.every(2, 1).mean, np.stack([mean[1] for mean in expected]))


def test_a_correction_moves_every_tree_by_a_share_of_the_noise(rows, trees):
    plain = Forest(trees, Calibration()).only(-1).components(rows.X)
    moved = Forest(trees, Calibration(), Correction((Constant(),), 0.7)).only(-1).components(rows.X)
    np.testing.assert_allclose(moved.mean - plain.mean, np.tile(0.7 * 0.5 * plain.noise_deviation(), (3, 1)), rtol=1e-6)


def test_bytes_are_counted_once_for_shared_features(trees):
    one, two, three = (Forest(trees[:k], Calibration()).nbytes for k in (1, 2, 3))
    assert two - one == trees[1].nbytes
    assert three - two == trees[2].nbytes + trees[2].features.projection.nbytes


class TestViews:
    """Attributes of the estimator are those of what it was fitted to."""

    def test_are_there_after_fit_alone(self):
        X, y, _ = wavy(200)
        model = small_forest()
        for name in ("lengthscale_", "calibration_", "n_trees_"):
            with pytest.raises(AttributeError, match=f"has no attribute '{name}' before fit"):
                getattr(model, name)
        model.fit(X, y)
        assert model.lengthscale_.shape == (2,)
        assert model.n_trees_ == 3
        assert model.leaf_size_ == 200 / model.n_leaves_
        assert len(model.bound_trace_) == model.n_iter_ == 60
        assert 0 <= model.corrected_share_ <= 1


@pytest.fixture(scope="module")
def model():
    X, y, _ = wavy(600)
    model = small_forest(n_trees=9).fit(X, y + (X[:, 0] > 0))
    assert model.corrected_share_ > 0
    return model


@pytest.fixture(scope="module")
def new_rows():
    return wavy(40, seed=1)[0]


class TestRows:
    """What a row is predicted does not depend on what else is asked, to the last bit."""

    def test_means_are_the_same_with_deviations_and_without(self, model, new_rows):
        mean, std = model.predict(new_rows, return_std=True)
        np.testing.assert_array_equal(model.predict(new_rows), mean)
        distribution = model.predict_distribution(new_rows)
        np.testing.assert_array_equal(distribution.mean(), mean)
        np.testing.assert_array_equal(distribution.std(), std)

    @pytest.mark.parametrize("ask", [
        lambda model, X: model.predict(X)[:, None],
        lambda model, X: np.transpose(model.predict(X, return_std=True)),
        lambda model, X: model.predict_quantiles(X, (0.01, 0.3, 0.5)),
        lambda model, X: model.log_prob(X, np.ones(len(X)))[:, None],
        lambda model, X: model.cdf(X, np.ones(len(X)))[:, None],
        lambda model, X: model.predict_distribution(X).crps(1.0)[:, None],
        lambda model, X: model.noise_variance(X)[:, None],
    ], ids=["mean", "std", "quantiles", "log_prob", "cdf", "crps", "noise"])  # fmt: skip
    def test_a_row_alone_is_predicted_as_among_others(self, model, new_rows, ask):
        together = ask(model, new_rows)
        np.testing.assert_array_equal(np.concatenate([ask(model, row[None]) for row in new_rows]), together)
        np.testing.assert_array_equal(ask(model, new_rows[::-3]), together[::-3])

    def test_chosen_rows_of_a_distribution_are_as_they_were(self, model, new_rows):
        distribution, chosen = model.predict_distribution(new_rows), [3, 11, 7]
        for part in (distribution[chosen], model.predict_distribution(new_rows[chosen])):
            np.testing.assert_array_equal(part.mean(), distribution.mean()[chosen])
            np.testing.assert_array_equal(part.std(), distribution.std()[chosen])
            np.testing.assert_array_equal(part.quantile(0.1), distribution.quantile(0.1)[chosen])

    @pytest.mark.parametrize("n_jobs", [1, 3])
    def test_chunks_and_threads_change_nothing(self, model, n_jobs, monkeypatch):
        X = wavy(700, seed=2)[0]
        mean, std = model.predict(X, return_std=True)
        monkeypatch.setattr("ssgp.forest.fitted.LEAST_CHUNK", 64)
        monkeypatch.setattr("ssgp.forest.fitted.MOST_CHUNK", 100)
        monkeypatch.setattr(model, "n_jobs", n_jobs)
        np.testing.assert_array_equal(model.predict(X), mean)
        np.testing.assert_array_equal(model.predict(X, return_std=True), (mean, std))
        np.testing.assert_array_equal(model.predict_distribution(X).std(), std)
        assert model.noise_variance(X).shape == (700,)


def test_predicting_does_not_make_pickles_larger(model, new_rows):
    fresh = pickle.loads(pickle.dumps(model))
    before = len(pickle.dumps(fresh))
    fresh.predict_interval(np.tile(new_rows, (200, 1)))
    assert len(pickle.dumps(fresh)) == before


def test_chunks_are_a_share_of_a_thread_within_bounds():
    assert _rows_per_chunk(1, 8, 16) == _rows_per_chunk(50_000, 8, 16) == LEAST_CHUNK
    assert _rows_per_chunk(1_000_000, 8, 16) == 31_250
    assert _rows_per_chunk(1_000_000, 8, 1) == MOST_CHUNK
    assert _rows_per_chunk(1_000_000, 3000, 1) == MOST_CHUNK * 300 // 3000 // 8 * 8
    assert _rows_per_chunk(4000, 30_000, 1) == 40
