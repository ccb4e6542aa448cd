"""What every regressor predicts is one distribution: all of it agrees with integrals of its density."""

from inspect import signature
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import kstest

import ssgp
from helpers import quick, small_forest, wavy

pytestmark = pytest.mark.slow

LEVELS = [0.01, 0.2, 0.5, 0.9, 0.995]
COVERAGE = 0.8
# Rows of the table, and one that is far from all of them.
ROWS = np.array([[0.3, -1.2], [1.9, 1.9], [9.0, -7.0]])


def recalibrated(model):
    """Fitted, and corrected on rows whose targets it does not expect."""
    (X, y, _), (X_held, y_held, _) = wavy(150), wavy(60, seed=1)
    return ssgp.recalibrate(model.fit(X, y), X_held, 1.5 * y_held + 0.2 * np.exp(y_held))


def fitted(model):
    X, y, _ = wavy(150)
    return model.fit(X, y)


def process():
    return ssgp.DTCRegressor(10, max_iter=20, random_state=0)


MAKE = {
    "SVBSSGPRegressor": lambda: fitted(quick(max_iter=40)),
    "SVBSSGPRegressor of blocks": lambda: fitted(quick(max_iter=40, n_blocks=3)),
    "SpectralForestRegressor": lambda: fitted(small_forest(max_iter=20)),
    "SSGPRegressor": lambda: fitted(ssgp.SSGPRegressor(5, max_iter=10, n_restarts=1, random_state=0)),
    "VSSGPRegressor": lambda: fitted(ssgp.VSSGPRegressor(8, max_iter=10, random_state=0)),
    "DTCRegressor": lambda: fitted(process()),
    "PICRegressor": lambda: fitted(ssgp.PICRegressor(10, max_iter=20, random_state=0)),
    "ExactGPRegressor": lambda: fitted(ssgp.ExactGPRegressor(random_state=0)),
    "RecalibratedRegressor of a forest": lambda: recalibrated(small_forest(max_iter=20)),
    "RecalibratedRegressor of a process": lambda: recalibrated(process()),
}
# They predict no function beside its observations.
OBSERVATIONS_ALONE = {"SpectralForestRegressor", "RecalibratedRegressor"}


@pytest.fixture(scope="module", params=MAKE)
def model(request) -> Any:
    return MAKE[request.param]()


@pytest.fixture(scope="module")
def said(model):
    return model.predict_distribution(ROWS)


class Density:
    """One row's distribution, of which nothing is known but its density."""

    def __init__(self, row):
        self._row, middle, width = row, float(row.mean()[0]), float(row.std()[0])
        # Where to look, as integrals over a line need to be told: steps and narrow peaks lie between these.
        away = np.array([0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0])
        self._points = (middle + width * np.concatenate([-away[::-1], [0.0], away])).tolist()

    def __call__(self, y):
        return float(self._row.pdf(y)[0])

    def integral(self, function, low=-np.inf, high=np.inf):
        """Of the function times the density."""
        ends = [low, *(point for point in self._points if low < point < high), high]
        return sum(quad(lambda y: function(y) * self(y), *piece, limit=200)[0] for piece in pairwise(ends))

    def below(self, y):
        return self.integral(lambda _: 1.0, high=y)

    def quantile(self, level):
        """By a search from the next point whose share is known."""
        shares = [self.below(point) for point in self._points]
        at = int(np.argmin(np.abs(np.array(shares) - level)))
        start, share = self._points[at], shares[at]

        def missing(y):
            piece = quad(self, start, y, epsabs=1e-8, epsrel=1e-8)[0]
            return share + piece - level

        width = self._points[-1] - self._points[0]
        return brentq(missing, start - 2 * width, start + 2 * width, xtol=1e-8 * width)


@pytest.fixture(scope="module")
def densities(said):
    assert len(said) == len(ROWS)
    return [Density(said[[row]]) for row in range(len(ROWS))]


def test_no_regressor_is_left_out():
    public = [name for name in ssgp.__all__ if hasattr(getattr(ssgp, name), "_distributions")]
    assert {name.split(" ")[0] for name in MAKE} == set(public)


class TestDistribution:
    """Against integrals of its density."""

    def test_integrates_to_one(self, densities):
        for density in densities:
            assert density.integral(lambda _: 1.0) == pytest.approx(1.0, abs=1e-6)

    def test_mean_and_deviation(self, said, densities):
        np.testing.assert_allclose(said.std() ** 2, said.variance())
        for mean, deviation, density in zip(said.mean(), said.std(), densities, strict=True):
            assert mean == pytest.approx(density.integral(lambda y: y), abs=1e-5 * deviation)
            variance = density.integral(lambda y, mean=mean: (y - mean) ** 2)
            assert deviation == pytest.approx(np.sqrt(variance), rel=2e-4)

    def test_log_density(self, said):
        for k in (-30.0, -1.0, 0.1, 4.0):
            y = said.mean() + k * said.std()
            np.testing.assert_allclose(said.logpdf(y), np.log(said.pdf(y)), rtol=1e-9)

    @pytest.mark.parametrize("k", [-4.0, -0.7, 0.2, 2.5])
    def test_cumulative_probability(self, k, said, densities):
        y = said.mean() + k * said.std()
        expected = [density.below(at) for density, at in zip(densities, y, strict=True)]
        np.testing.assert_allclose(said.cdf(y), expected, rtol=1e-5, atol=1e-9)

    def test_quantiles(self, said, densities):
        found = said.quantile(LEVELS)
        expected = [[density.quantile(level) for level in LEVELS] for density in densities]
        np.testing.assert_allclose((found - expected) / said.std()[:, None], 0.0, atol=1e-5)
        np.testing.assert_array_equal(said.quantile(LEVELS[1]), found[:, 1])

    def test_intervals_leave_the_same_share_out_on_both_sides(self, said, densities):
        for (low, high), density in zip(said.interval(COVERAGE), densities, strict=True):
            assert density.below(low) == pytest.approx(0.5 - COVERAGE / 2, abs=1e-5)
            assert density.integral(lambda _: 1.0, low, high) == pytest.approx(COVERAGE, abs=1e-5)

    @pytest.mark.parametrize("k", [-3.0, 0.1, 1.2])
    def test_mean_excess(self, k, said, densities):
        y = said.mean() + k * said.std()
        for found, at, density in zip(said.excess(y), y, densities, strict=True):
            expected = density.integral(lambda x, at=at: x - at, low=at)
            assert found == pytest.approx(expected, rel=1e-4)

    @pytest.mark.parametrize("k", [-3.0, 0.1, 1.2])
    def test_ranked_probability_score(self, k, said):
        """The squared distance of the cumulative probability from the step at the observation, integrated."""
        y = said.mean() + k * said.std()
        for row, found in enumerate(said.crps(y)):
            one, steps = said[[row]], said.std()[row] * np.array([0.0, 0.5, 1.0, 3.0, 8.0, np.inf])
            lower = (quad(lambda x, one=one: one.cdf(x)[0] ** 2, *ends)[0] for ends in pairwise(y[row] - steps[::-1]))
            upper = (quad(lambda x, one=one: (1 - one.cdf(x)[0]) ** 2, *ends)[0] for ends in pairwise(y[row] + steps))
            assert found == pytest.approx(sum(lower) + sum(upper), rel=2e-3)

    def test_draws(self, said):
        draws = said.sample(2000, 0)
        assert draws.shape == (len(ROWS), 2000)
        np.testing.assert_array_equal(draws, said.sample(2000, 0))
        assert not np.array_equal(draws, said.sample(2000, 1))
        for row, values in enumerate(draws):
            assert kstest(values, said[np.full(2000, row)].cdf).pvalue > 1e-4


@pytest.mark.parametrize("rows", [slice(1, 3), slice(None, None, -1), [2, 0, 0], [True, False, True]], ids=str)
def test_rows_are_taken_as_from_an_array(rows, said):
    if isinstance(rows, list):
        rows = np.array(rows)
    y = said.mean() + np.array([-0.5, 0.3, 2.0]) * said.std()
    some = said[rows]
    assert len(some) == len(y[rows])
    for ask in ("mean", "std", "variance", "half_difference"):
        np.testing.assert_allclose(getattr(some, ask)(), getattr(said, ask)()[rows], rtol=1e-9, err_msg=ask)
    for ask in ("pdf", "logpdf", "cdf", "crps", "excess"):
        np.testing.assert_allclose(getattr(some, ask)(y[rows]), getattr(said, ask)(y)[rows], rtol=1e-9, err_msg=ask)
    np.testing.assert_allclose(some.quantile(LEVELS), said.quantile(LEVELS)[rows], rtol=1e-9)
    np.testing.assert_allclose(some.interval(COVERAGE), said.interval(COVERAGE)[rows], rtol=1e-9)
    assert some.sample(5).shape == (len(some), 5)


def keywords(model):
    """What may be asked of a model besides its predictions of observations."""
    takes = signature(model.predict_distribution).parameters
    return [{}, {"latent": True}] if "latent" in takes else [{}]


def test_the_regressor_says_what_its_distributions_say(model):
    y = np.array([-1.0, 0.4, 2.0])
    for how in keywords(model):
        said = model.predict_distribution(ROWS, **how)
        mean, deviation = model.predict(ROWS, return_std=True, **how)
        np.testing.assert_allclose(mean, said.mean())
        np.testing.assert_allclose(deviation, said.std())
        np.testing.assert_allclose(model.predict(ROWS, **how), said.mean(), rtol=1e-6)
        np.testing.assert_allclose(model.predict_quantiles(ROWS, LEVELS, **how), said.quantile(LEVELS))
        np.testing.assert_allclose(model.predict_interval(ROWS, COVERAGE, **how), said.interval(COVERAGE))
        np.testing.assert_allclose(model.predict_interval(ROWS, **how), said.interval(0.95))
        np.testing.assert_allclose(model.log_prob(ROWS, y, **how), said.logpdf(y))
        np.testing.assert_allclose(model.cdf(ROWS, y, **how), said.cdf(y))
        np.testing.assert_allclose(model.sample_y(ROWS, 4, random_state=3, **how), said.sample(4, 3))


@pytest.mark.parametrize("model", [name for name in MAKE if name.split()[0] not in OBSERVATIONS_ALONE], indirect=True)
def test_the_function_is_better_known_than_an_observation_of_it(model):
    observed, latent = (model.predict_distribution(ROWS, latent=latent) for latent in (False, True))
    np.testing.assert_allclose(latent.mean(), observed.mean())
    assert (latent.std() < observed.std()).all()


def test_means_are_the_same_with_deviations_and_without_and_nearly_so_for_a_row_alone(model):
    mean, std = model.predict(ROWS, return_std=True)
    np.testing.assert_array_equal(model.predict(ROWS), mean)
    alone = np.concatenate([model.predict(row[None]) for row in ROWS])
    np.testing.assert_allclose(alone, mean, rtol=0, atol=1e-5 * std.max())
