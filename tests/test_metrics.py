"""Scores of distributions, beside SciPy, scikit-learn, scoringrules and what they mean."""

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import sklearn
from scipy.stats import kstest, norm, poisson
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mixtures import components, random_mixtures
from ssgp import ExactGPRegressor, SSGPRegressor
from ssgp.distributions import NormalDistribution
from ssgp.metrics import (
    coverage,
    crps,
    crps_scorer,
    interval_score,
    interval_scorer,
    log_score,
    log_score_scorer,
    pinball_loss,
    pit,
    pit_uniformity,
    rmse,
)

SCORES = (log_score, crps, interval_score, pinball_loss, coverage)


@pytest.fixture
def predictions(rng):
    """Targets, means and deviations."""
    mean, std = rng.normal(size=200), rng.uniform(0.5, 2.0, size=200)
    return mean + std * rng.normal(size=200), mean, std


@pytest.fixture
def predicted(predictions):
    """Targets and the distributions they are drawn from."""
    y, mean, std = predictions
    return y, NormalDistribution.of(mean, std)


@dataclass
class Poisson:
    """Counts, of n rows with these rates: every value has a probability."""

    rate: np.ndarray

    def __len__(self):
        return len(self.rate)

    def cdf(self, y):
        return poisson.cdf(y, self.rate)

    def cdf_left(self, y):
        return poisson.cdf(np.asarray(y) - 1, self.rate)

    def interval(self, coverage=0.95):
        return np.stack(poisson.interval(coverage, self.rate), axis=1)


class TestScores:
    def test_rmse_is_the_root_of_the_mean_square(self, predictions):
        y, mean, _ = predictions
        assert rmse(y, mean) == pytest.approx(np.sqrt(np.mean((y - mean) ** 2)))
        distributions: Any = NormalDistribution.of(mean, 1.0 + 0.0 * mean)
        with pytest.raises(TypeError, match=r"give distribution.mean\(\)"):
            rmse(y, distributions)

    def test_the_log_score_of_a_mixture_is_by_its_own_density(self, rng):
        mixtures = random_mixtures(rng, 30)
        y = rng.normal(size=30)
        densities = [np.mean([part.pdf(y[i]) for part in components(mixtures, i)]) for i in range(30)]
        assert log_score(y, mixtures) == pytest.approx(-np.log(densities).mean())

    def test_crps_is_that_of_draws(self, rng):
        mixtures = random_mixtures(rng, 30)
        y, draws, others = rng.normal(size=30), mixtures.sample(40_000, 1), mixtures.sample(40_000, 2)
        expected = np.abs(draws - y[:, None]).mean() - np.abs(draws - others).mean() / 2
        assert crps(y, mixtures) == pytest.approx(expected, rel=0.01)

    @pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
    def test_the_interval_score_is_the_pinball_loss_of_both_ends(self, level, predicted):
        y, distribution = predicted
        low, high = (0.5 - level / 2, 0.5 + level / 2)
        losses = [mean_pinball_loss(y, distribution.quantile(end), alpha=end) for end in (low, high)]
        assert interval_score(y, distribution, coverage=level) == pytest.approx(2 / (1 - level) * sum(losses))

    def test_the_pinball_loss_is_scikit_learns(self, predicted):
        y, distribution = predicted
        weight, levels = np.arange(200) % 3, [0.1, 0.5, 0.95]
        found = pinball_loss(y, distribution, level=levels, sample_weight=weight)
        expected = [mean_pinball_loss(y, distribution.quantile(a), alpha=a, sample_weight=weight) for a in levels]
        np.testing.assert_allclose(found, expected)
        assert pinball_loss(y, distribution, level=0.1, sample_weight=weight) == pytest.approx(expected[0])

    def test_are_those_of_scoringrules(self, predictions, predicted):
        sr = pytest.importorskip("scoringrules", reason="an independent package of scores")
        y, mean, std = predictions
        distribution = predicted[1]
        assert log_score(y, distribution) == pytest.approx(np.mean(sr.logs_normal(y, mean, std)))
        assert crps(y, distribution) == pytest.approx(np.mean(sr.crps_normal(y, mean, std)))
        low, high = norm(mean, std).interval(0.8)
        expected = np.mean(sr.interval_score(y, low, high, 0.2))
        assert interval_score(y, distribution, coverage=0.8) == pytest.approx(expected)


class TestCoverage:
    @pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
    def test_is_the_share_inside_the_interval(self, level, predictions, predicted):
        y, mean, std = predictions
        low, high = norm(mean, std).interval(level)
        assert coverage(y, predicted[1], level=level) == np.mean((low <= y) & (y <= high))

    def test_of_several_levels_is_that_of_each(self, predicted):
        found = coverage(*predicted, level=[0.5, 0.8])
        assert found.tolist() == [coverage(*predicted, level=level) for level in (0.5, 0.8)]

    @pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
    def test_of_counts_is_the_share_inside_the_closed_interval(self, level, rng):
        counts = Poisson(rng.uniform(0.1, 4.0, size=2000))
        y = rng.poisson(counts.rate)
        low, high = counts.interval(level).T
        assert coverage(y, counts, level=level) == np.mean((low <= y) & (y <= high))


class TestPIT:
    def test_is_the_distribution_function_at_the_target(self, predictions, predicted):
        y, mean, std = predictions
        np.testing.assert_allclose(pit(*predicted), norm.cdf(y, mean, std))

    def test_of_counts_is_uniform_if_they_are_right(self, rng):
        counts = Poisson(rng.uniform(0.1, 4.0, size=20_000))
        y = rng.poisson(counts.rate)
        found = pit(y, counts)
        assert kstest(found, "uniform").pvalue > 1e-3
        assert kstest(counts.cdf(y), "uniform").pvalue < 1e-9
        np.testing.assert_array_equal(found, pit(y, counts, random_state=0))
        assert not np.array_equal(found, pit(y, counts, random_state=np.random.default_rng(1)))
        assert ((found > counts.cdf_left(y)) & (found <= counts.cdf(y))).all()

    def test_uniformity_is_tested_as_by_scipy(self, rng):
        for values in (rng.uniform(size=300), rng.beta(1.2, 1.0, size=300)):
            found, expected = pit_uniformity(values), kstest(values, "uniform")
            assert found.distance == pytest.approx(expected.statistic)
            assert found.p_value == pytest.approx(expected.pvalue)

    @pytest.mark.slow
    def test_a_distance_by_chance_is_that_of_1_of_20(self, rng):
        found = [pit_uniformity(rng.uniform(size=20)) for _ in range(400)]
        exceeded = np.mean([one.distance > one.by_chance for one in found])
        assert 0.015 < exceeded < 0.09
        assert exceeded == np.mean([one.p_value < 0.05 for one in found])

    def test_weights_of_one_are_no_weights(self, rng):
        values = rng.uniform(size=5000)
        plain, weighted = pit_uniformity(values), pit_uniformity(values, sample_weight=np.full(5000, 0.3))
        assert weighted.distance == pytest.approx(plain.distance)
        assert weighted.by_chance == pytest.approx(plain.by_chance, rel=0.01)
        assert weighted.p_value == pytest.approx(plain.p_value, rel=0.05)

    def test_weights_correct_a_sample_that_is_not_as_the_rows(self, rng):
        values = rng.uniform(size=4000)
        kept = rng.uniform(size=4000) < np.where(values < 0.5, 1.0, 0.25)
        weight = np.where(values < 0.5, 1.0, 4.0)[kept]
        assert pit_uniformity(values[kept]).p_value < 1e-9
        assert pit_uniformity(values[kept], sample_weight=weight).p_value > 1e-3


@pytest.mark.parametrize("score", SCORES)
def test_weights_count_rows(score, predictions):
    y, mean, std = predictions
    counts = np.arange(200) % 3
    again = [np.repeat(values, counts) for values in (y, mean, std)]
    weighted = score(y, NormalDistribution.of(mean, std), sample_weight=counts)
    assert weighted == pytest.approx(score(again[0], NormalDistribution.of(*again[1:])))


class TestMistakes:
    @pytest.mark.parametrize("score", SCORES)
    def test_means_in_place_of_distributions(self, score, predictions):
        y, mean, _ = predictions
        with pytest.raises(TypeError, match=r"predict_distribution\(X\) .* got ndarray of shape \(200,\)"):
            score(y, mean)

    def test_are_named(self, predicted):
        y, distribution = predicted
        with pytest.raises(ValueError, match="y_true has 2 targets, and distribution 200 rows"):
            crps(y[:2], distribution)
        with pytest.raises(ValueError, match="y_true contains NaN"):
            log_score([np.nan] * 200, distribution)
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            coverage(y, distribution, level=95)
        with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
            interval_scorer(95)
        with pytest.raises(TypeError, match=r"give scoring=interval_scorer\(0\.9\)"):
            interval_scorer(LinearRegression(), [[0.0]], [0.0])  # pyright: ignore[reportArgumentType]
        with pytest.raises(ValueError, match="sample_weight must not be negative"):
            crps(y, distribution, sample_weight=-np.ones(200))
        with pytest.raises(ValueError, match="inconsistent"):
            crps(y, distribution, sample_weight=[1.0])
        with pytest.raises(ValueError, match=r"pit must lie between 0 and 1, found 0\.5 to 2\.0"):
            pit_uniformity([0.5, 2.0])


class TestScorers:
    X = np.linspace(0, 6, 90)[np.random.default_rng(0).permutation(90), None]
    y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=90)
    model = SSGPRegressor(5, n_restarts=1, max_iter=20, random_state=0)

    @pytest.mark.parametrize(
        ("scorer", "score"),
        [
            (crps_scorer, crps),
            (log_score_scorer, log_score),
            (interval_scorer(0.8), lambda y, d: interval_score(y, d, coverage=0.8)),
        ],
    )
    def test_are_minus_the_score(self, scorer, score):
        fitted = self.model.fit(self.X, self.y)
        assert scorer(fitted, self.X, self.y) == -score(self.y, fitted.predict_distribution(self.X))
        assert pickle.loads(pickle.dumps(scorer))(fitted, self.X, self.y) == scorer(fitted, self.X, self.y)

    def test_see_through_pipelines_and_searches(self):
        plain = cross_val_score(self.model, self.X, self.y, scoring=crps_scorer, cv=3)
        piped = cross_val_score(
            make_pipeline("passthrough", StandardScaler(), self.model), self.X, self.y, scoring=crps_scorer, cv=3
        )
        np.testing.assert_allclose(piped, plain, rtol=0.1)
        assert (plain < 0).all()
        search = GridSearchCV(
            make_pipeline(StandardScaler(), self.model),
            {"ssgpregressor__n_frequencies": [1, 5]},
            scoring=log_score_scorer,
            cv=3,
        ).fit(self.X, self.y)
        assert search.best_params_ == {"ssgpregressor__n_frequencies": 5}
        assert crps_scorer(search, self.X, self.y) == crps_scorer(search.best_estimator_, self.X, self.y)

    def test_stand_beside_scikit_learns(self):
        scoring = {"crps": crps_scorer, "width": interval_scorer(0.9), "rmse": "neg_root_mean_squared_error"}
        found = cross_validate(self.model, self.X, self.y, scoring=scoring, cv=2)
        assert {"test_crps", "test_width", "test_rmse"} <= set(found)
        assert repr(scoring["width"]) == "scorer of minus interval_score, coverage=0.9"

    def test_get_the_weights_that_a_search_was_given_where_they_ask(self):
        weight = np.where(self.X[:, 0] < 3, 1.0, 5.0)
        with sklearn.config_context(enable_metadata_routing=True):
            model = self.model.set_fit_request(sample_weight=False)
            arguments = {"cv": 3, "params": {"sample_weight": weight}}
            asking = crps_scorer.set_score_request(sample_weight=True)
            weighted = cross_val_score(model, self.X, self.y, scoring=asking, **arguments)
            with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
                cross_val_score(model, self.X, self.y, scoring=crps_scorer, **arguments)
        for found, (train, test) in zip(weighted, KFold(3).split(self.X), strict=True):
            predicted = self.model.fit(self.X[train], self.y[train]).predict_distribution(self.X[test])
            assert found == pytest.approx(-crps(self.y[test], predicted, sample_weight=weight[test]))

    def test_a_model_without_distributions_is_named(self):
        fitted = StandardScaler().fit(self.X)
        with pytest.raises(TypeError, match="StandardScaler predicts no distributions"):
            crps_scorer(fitted, self.X, self.y)
        assert crps_scorer(ExactGPRegressor(random_state=0).fit(self.X, self.y), self.X, self.y) < 0
