"""Rows with values that fit never saw: mixtures over those that they may have."""

import copy
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from safetensors import safe_open
from scipy.special import ndtr
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import ssgp
from helpers import quick, small_forest
from ssgp.distributions import NormalDistribution, StudentMixture
from ssgp.distributions.filled import FilledDistribution, InputRows
from ssgp.tables.donors import Donors

MODELS: dict[str, Any] = {
    "forest": small_forest,
    "sVBSSGP": lambda: quick(max_iter=20),
    "exact": lambda: ssgp.ExactGPRegressor(learn_rows=30, random_state=0),
}
every = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def table(n_rows, seed):
    """Two correlated numbers, and a category that says nothing."""
    rng = np.random.default_rng(seed)
    known = rng.normal(size=n_rows)
    hidden = 0.6 * known + 0.8 * rng.normal(size=n_rows)
    return pd.DataFrame({"known": known, "hidden": hidden, "kind": rng.choice(["a", "b"], n_rows)})


def target(X, seed):
    return 2.0 * X["hidden"] + X["known"] + 0.3 * np.random.default_rng(seed).normal(size=len(X))


def with_gaps(X):
    """The same rows, every third without the hidden number, and one of a new kind."""
    gaps = np.arange(len(X)) % 3 == 0
    gaps[4] = True
    kinds = np.where(np.arange(len(X)) == 4, "new", X["kind"])
    return X.assign(hidden=X["hidden"].where(np.arange(len(X)) % 3 != 0), kind=kinds), gaps


def quietly(method, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return method(*arguments)


def mixtures(n_rows, n_components, seed):
    rng = np.random.default_rng(seed)
    shape = n_components, n_rows
    return StudentMixture(rng.normal(size=shape), rng.uniform(0.5, 2.0, shape), rng.uniform(3.0, 9.0, shape))


@pytest.mark.slow
def test_the_distribution_is_the_conditional_one_given_what_is_known():
    X, new = table(400, 0), table(800, 1)
    y, observed = target(X, 2), target(new, 3).to_numpy()
    model = ssgp.ExactGPRegressor(learn_rows=100, random_state=0).fit(X, y)
    distribution = quietly(model.predict_distribution, new.assign(hidden=np.nan))
    # By hand: the hidden number is normal around 0.6 times the known one, with deviation 0.8.
    mean, deviation = 2.2 * new["known"].to_numpy(), np.hypot(2.0 * 0.8, 0.3)
    assert np.sqrt(np.mean((distribution.mean() - mean) ** 2)) < 0.4 * deviation
    assert np.mean(distribution.variance()) == pytest.approx(deviation**2, rel=0.15)
    low, high = distribution.interval(0.9).T
    assert np.mean((low <= observed) & (observed <= high)) == pytest.approx(0.9, abs=0.04)
    exact = NormalDistribution(mean, np.full(len(mean), deviation))
    assert np.mean(distribution.crps(observed)) < 1.08 * np.mean(exact.crps(observed))


@pytest.mark.slow
@pytest.mark.parametrize("n_missing", [1, 5])
def test_a_few_gaps_in_fit_do_not_teach_what_a_gap_means(n_missing):
    X, new = table(600, 0), table(800, 1)
    y, observed = target(X, 2), target(new, 3).to_numpy()
    model = ssgp.ExactGPRegressor(learn_rows=100, random_state=0)
    model.fit(X.assign(hidden=X["hidden"].where(np.arange(600) >= n_missing)), y)
    with pytest.warns(UserWarning, match=r"hardly any were missing in fit: column 'hidden' in 800 of 800 \(100.0%\)"):
        distribution = model.predict_distribution(new.assign(hidden=np.nan))
    exact = NormalDistribution(2.2 * new["known"].to_numpy(), np.full(800, np.hypot(2.0 * 0.8, 0.3)))
    low, high = distribution.interval(0.9).T
    assert np.mean((low <= observed) & (observed <= high)) == pytest.approx(0.9, abs=0.04)
    assert np.mean(distribution.crps(observed)) < 1.08 * np.mean(exact.crps(observed))


@every
def test_other_rows_are_predicted_to_the_last_bit_as_without_gaps_beside_them(make):
    X, (new, gaps) = table(200, 0), with_gaps(table(30, 1))
    model = make().fit(X, target(X, 2))
    with pytest.warns(UserWarning, match=r"'hidden' in 10 of 30 \(33.3%\), 'kind' in 1 of 30.*similar training rows"):
        filled = model.predict_distribution(new)
    before = copy.deepcopy(model)
    del before.encoder_._donors
    without = quietly(before.predict_distribution, new)
    assert not isinstance(without, FilledDistribution)
    assert_array_equal(filled.cdf(0.5)[~gaps], without.cdf(0.5)[~gaps])
    assert_array_equal(filled.interval(0.8)[~gaps], without.interval(0.8)[~gaps])
    assert_array_equal(model.predict(new[~gaps]), before.predict(new[~gaps]))
    assert np.mean(filled.std()[::3]) > 1.1 * np.mean(filled[~gaps].std())
    assert_array_equal(quietly(model.predict, new), filled.mean())
    assert_array_equal(quietly(model.predict_quantiles, new, [0.1, 0.7]), filled.quantile([0.1, 0.7]))
    assert_array_equal(quietly(model.log_prob, new, np.arange(30.0)), filled.logpdf(np.arange(30.0)))
    parts = [quietly(model.predict, part) for part in (new[:7], new[7:])]
    assert_allclose(np.concatenate(parts), filled.mean(), rtol=1e-9)


@pytest.mark.slow
def test_saved_recalibrated_and_streamed_models_fill_the_same(tmp_path):
    X, (new, _) = table(200, 0), with_gaps(table(30, 1))
    y = target(X, 2)
    model = small_forest().fit(X, y)
    expected = quietly(model.predict_interval, new, 0.9)
    model.save(tmp_path / "model")
    assert_array_equal(quietly(ssgp.load(tmp_path / "model").predict_interval, new, 0.9), expected)
    batches = [(X[start : start + 70], y[start : start + 70]) for start in range(0, 200, 70)]
    assert_array_equal(quietly(small_forest().fit_batches(batches).predict_interval, new, 0.9), expected)
    held_out = table(60, 4)
    recalibrated = ssgp.recalibrate(model, held_out, target(held_out, 5))
    distribution = quietly(recalibrated.predict_distribution, new)
    assert_allclose(distribution.cdf(distribution.quantile(0.3)), 0.3, rtol=1e-6)
    assert_array_equal(quietly(recalibrated.predict, new), distribution.mean())
    assert quietly(model.noise_variance, new).shape == (30,)


def test_models_of_earlier_files_predict_from_the_median(tmp_path):
    X, (new, _) = table(200, 0), with_gaps(table(30, 1))
    model = small_forest().fit(X, target(X, 2))
    del model.encoder_._donors
    model.save(tmp_path / "model")
    with pytest.warns(UserWarning, match="may be too narrow"):
        found = ssgp.load(tmp_path / "model").predict(new.assign(kind="a"))
    assert_array_equal(found, model.predict(new.assign(kind="a", hidden=new["hidden"].fillna(X["hidden"].median()))))


def test_labels_of_blocks_go_with_their_rows():
    X, new = table(200, 0), table(30, 1)
    labels = np.where(X["known"] > 0, "up", "down")
    model = quick(max_iter=20).fit(X, target(X, 2), blocks=labels)
    new, blocks = new.assign(hidden=np.nan), np.where(new["known"] > 0, "up", "down")
    distribution = quietly(lambda: model.predict_distribution(new, blocks=blocks))
    for label in ("up", "down"):
        rows = blocks == label
        part = quietly(lambda rows=rows: model.predict_distribution(new[rows], blocks=blocks[rows]))
        assert_allclose(distribution[rows].std(), part.std(), rtol=1e-9)


def test_donors_give_all_unknown_features_together():
    rng = np.random.default_rng(0)
    known = rng.normal(size=300)
    rows = np.column_stack([known, 3.0 * known + 1.0, -known, rng.normal(size=300)])
    X = np.column_stack([np.linspace(-1.5, 1.5, 9), np.zeros((9, 3))])
    unknown = np.tile([False, True, True, False], (9, 1))
    unknown[::2, 3] = True
    filled = Donors(rows).fill(X, unknown)
    assert_array_equal(filled[:, :, 0], np.broadcast_to(X[:, 0], filled.shape[:2]))
    assert_array_equal(filled[:, 1::2, 3], 0.0)
    # One donor has both, and those of similar known numbers give about what belongs to these.
    assert_allclose(filled[:, :, 1], 1.0 - 3.0 * filled[:, :, 2])
    assert np.abs(filled[:, :, 2] + X[:, 0]).max() < 0.5
    assert np.isin(filled[:, ::2, 3], rows[:, 3]).all()


@pytest.mark.slow
@pytest.mark.parametrize("step", [None, StandardScaler(), FunctionTransformer(lambda X: X[:, ::-1])])
def test_pipelines_with_an_encoder_fill_as_regressors_do(step, tmp_path):
    X, (new, gaps) = table(200, 0), with_gaps(table(30, 1))
    y, regressor = target(X, 2), ssgp.ExactGPRegressor(learn_rows=30, random_state=0)
    between = [] if step is None else [("step", step), ("nothing", "passthrough")]
    model = ssgp.Pipeline([("encoder", ssgp.TableEncoder()), *between, ("model", regressor)]).fit(X, y)
    with pytest.warns(UserWarning, match="'hidden' in 10 of 30 .*similar training rows"):
        found = model.predict_distribution(new)
    alone = ssgp.ExactGPRegressor(learn_rows=30, random_state=0).fit(X, y)
    # A Gaussian process of standardised inputs is the same after these steps, but for rounding while it learns.
    expected = quietly(alone.predict_distribution, new)
    assert_allclose(found.mean(), expected.mean(), rtol=1e-3, atol=1e-3)
    assert_allclose(found.std(), expected.std(), rtol=1e-3)
    assert np.mean(found.std()[::3]) > 1.1 * np.mean(found.std()[~gaps])
    assert_array_equal(quietly(model.predict, new), found.mean())
    assert_array_equal(quietly(model.predict_interval, new, 0.9), found.interval(0.9))
    assert_array_equal(quietly(model.log_prob, new, np.arange(30.0)), found.logpdf(np.arange(30.0)))
    recalibrated = quietly(ssgp.recalibrate, model, new, found.mean() + 1.0)
    assert recalibrated.steps[-1][1].recalibration_.shift == pytest.approx(1.0, abs=1e-6)
    if step is None:
        model.save(tmp_path / "model")
        assert_array_equal(quietly(ssgp.load(tmp_path / "model").predict, new), found.mean())


@pytest.mark.slow
def test_steps_that_take_frames_get_them_and_the_encoder_tells_of_its_medians():
    X, (new, _) = table(200, 0), with_gaps(table(30, 1))
    encoder = ssgp.TableEncoder().set_output(transform="pandas")
    model = ssgp.Pipeline([("encoder", encoder), ("model", ssgp.ExactGPRegressor(learn_rows=30, random_state=0))])
    model.fit(X, target(X, 2))
    with pytest.warns(UserWarning, match="A median or a mean stands for them"):
        model.predict(new)
    with sklearn.config_context(transform_output="pandas"):
        other = ssgp.ExactGPRegressor(learn_rows=30, random_state=0).fit(X, target(X, 2))
        assert_allclose(other.predict(X), model.predict(X), rtol=1e-6)


@pytest.mark.slow
def test_a_model_without_kept_rows_has_none_in_its_file(tmp_path):
    X, (new, _) = table(200, 0), with_gaps(table(30, 1))
    model = small_forest(n_trees=2, max_iter=10, encoder=ssgp.TableEncoder(kept_rows=0)).fit(X, target(X, 2))
    model.save(tmp_path / "model")
    with safe_open(tmp_path / "model", framework="np") as file:
        rows = [name for name in file.keys() if "donors" in name]
    assert not rows
    with pytest.warns(UserWarning, match="may be too narrow"):
        ssgp.load(tmp_path / "model").predict(new)
    few = small_forest(n_trees=2, max_iter=10, encoder=ssgp.TableEncoder(kept_rows=7)).fit(X, target(X, 2))
    assert len(few.encoder_.donors.rows) == 7


def test_mixtures_are_the_means_over_the_fillings():
    rng = np.random.default_rng(0)
    X, donors = rng.normal(size=(40, 3)), Donors(rng.normal(size=(100, 3)))
    unknown = np.zeros((40, 3), bool)
    unknown[5:12, 1:] = True
    rows = InputRows(X, unknown, donors.fill)
    found = rows.distribution(lambda part, _: NormalDistribution(part.sum(axis=1), np.full(len(part), 0.5)))
    means = donors.fill(X[5:12], unknown[5:12]).sum(axis=2)
    assert_allclose(found.mean()[5:12], means.mean(axis=0))
    # The mean squared distance of a new draw from the mean of k that are known, and their own, both without bias.
    predictive = (1.0 + 1.0 / len(means)) * means.var(axis=0, ddof=1)
    assert_allclose(found.variance()[5:12], 0.25 + predictive, rtol=1e-3)
    scale = np.sqrt(0.25 + predictive - means.var(axis=0))
    assert_allclose(found.cdf(0.3)[5:12], ndtr((0.3 - means) / scale).mean(axis=0), atol=1e-4)
    assert_array_equal(rows.means(lambda part, _: part.sum(axis=1)), found.mean())


class TestFilledDistribution:
    before, filled, places = mixtures(8, 3, 0), mixtures(3, 20, 1), np.array([1, 4, 7])
    both = FilledDistribution(before, filled, places)
    others = np.array([0, 2, 3, 5, 6])

    @pytest.mark.parametrize(
        "method", ["mean", "variance", "std", "upper_variance", "half_difference", "cdf", "logpdf", "excess", "crps"]
    )
    def test_rows_have_the_numbers_of_their_distribution(self, method):
        y = [np.linspace(-1.0, 1.0, 8)] if method in ("cdf", "logpdf", "excess", "crps") else []
        found = getattr(self.both, method)(*y)
        assert_array_equal(found[self.places], getattr(self.filled, method)(*(part[self.places] for part in y)))
        assert_array_equal(found[self.others], getattr(self.before, method)(*y)[self.others])

    @pytest.mark.parametrize("rows", [slice(1, 5), np.array([7, 0, 4, 4]), np.arange(8) % 2 == 0, slice(2, 4)])
    def test_rows_are_selected_as_in_an_array(self, rows):
        assert len(self.both[rows]) == len(self.both.mean()[rows])
        assert_array_equal(self.both[rows].quantile([0.1, 0.6]), self.both.quantile([0.1, 0.6])[rows])
        assert_array_equal(self.both[rows].with_tails(5.0).cdf(0.2), self.both.with_tails(5.0).cdf(0.2)[rows])

    def test_draws_are_independent_and_have_the_distribution(self):
        draws = self.both.sample(4000, 0)
        assert_array_equal(draws, self.both.sample(4000, 0))
        assert_array_equal(draws[self.others], self.before.sample(4000, 0)[self.others])
        levels = np.mean(draws < self.both.quantile(0.3)[:, None], axis=1)
        assert_allclose(levels, 0.3, atol=0.04)
        ranks = draws.argsort(axis=1).argsort(axis=1)
        assert np.abs(np.corrcoef(ranks) - np.eye(8)).max() < 0.08


def test_several_numbers_of_a_row_are_means_over_the_same_fillings():
    rng = np.random.default_rng(0)
    X, unknown = rng.standard_normal((7, 2)), np.zeros((7, 2), bool)
    unknown[[1, 4], 0] = True
    ways = rng.standard_normal((5, 7, 2))
    rows = InputRows(X, unknown, lambda part, _: np.where(unknown[[1, 4]], ways[:, [1, 4]], part))
    filled = np.where(unknown, ways, X)
    found = rows.means(lambda X, _: np.stack([X[:, 0], X[:, 1], X.prod(axis=1)]))
    assert_allclose(found, [*filled.mean(axis=0).T, filled.prod(axis=2).mean(axis=0)], rtol=1e-12)
