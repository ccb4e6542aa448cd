"""The spectral forest as a user meets it."""

import pickle
import time

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from helpers import small_forest, wavy
from ssgp import SpectralForestRegressor
from ssgp.metrics import rmse
from ssgp.spectrum.kernels import KERNELS

LEVELS = [0.001, 0.05, 0.5, 0.8, 0.999]


@pytest.fixture(scope="module", params=[True, False], ids=["shrunk", "not shrunk"])
def fitted(request):
    """A model of 600 rows."""
    X, y, _ = wavy(600)
    return small_forest(shrink=request.param, leaf_size=40).fit(X, y)


@pytest.fixture(scope="module")
def stepped():
    """A model of noise of deviation 0.1 on the left and 0.5 on the right, and fresh rows of the same."""

    def table(seed):
        X, _, latent = wavy(2500, seed)
        return X, latent + np.where(X[:, 0] < 0, 0.1, 0.5) * np.random.default_rng(seed + 1).normal(size=2500)

    return small_forest(max_iter=150, leaf_size=60).fit(*table(0)), *table(10)


class TestAccuracy:
    def test_a_smooth_function_is_recovered(self):
        X, y, _ = wavy(1500)
        new, _, latent = wavy(1000, seed=1)
        model = small_forest(max_iter=200).fit(X, y)
        assert rmse(latent, model.predict(new)) < 0.04
        assert model.score(X, y) > 0.98

    @pytest.mark.slow
    def test_a_line_goes_on_beyond_the_rows(self):
        x = np.linspace(0, 1, 300)
        model = small_forest().fit(x[:, None], 3 * x + 0.01 * np.random.default_rng(0).normal(size=300))
        assert model.predict([[1.3]])[0] == pytest.approx(3.9, abs=0.3)

    def test_intervals_cover_where_noise_differs(self, stepped):
        """Of 2,500 fresh rows, within 4 standard errors of these and of the 500 that calibrated at least."""
        model, X, y = stepped
        for coverage in (0.5, 0.9, 0.98):
            low, high = model.predict_interval(X, coverage).T
            error = 4 * np.sqrt(coverage * (1 - coverage) * (1 / 2500 + 1 / 500))
            assert np.mean((low <= y) & (y <= high)) == pytest.approx(coverage, abs=error)

    def test_intervals_are_wide_where_noise_is_large(self, stepped):
        model, X, _ = stepped
        width = np.ptp(model.predict_interval(X, 0.9), axis=1)
        assert np.median(width[X[:, 0] > 0.3]) > 3 * np.median(width[X[:, 0] < -0.3])

    def test_noise_variance_follows_the_region(self, stepped):
        model, X, _ = stepped
        noise = model.noise_variance(X)
        assert np.median(noise[X[:, 0] < -0.3]) == pytest.approx(0.01, rel=0.4)
        assert np.median(noise[X[:, 0] > 0.3]) == pytest.approx(0.25, rel=0.4)
        assert (noise < model.predict(X, return_std=True)[1] ** 2 * (1 + 1e-9)).all()


class TestOneDistribution:
    """Everything that can be asked of a prediction agrees."""

    X = wavy(40, seed=5)[0]

    def test_quantiles_invert_the_cdf(self, fitted):
        quantiles = fitted.predict_quantiles(self.X, LEVELS)
        assert quantiles.shape == (40, 5)
        for level, at in zip(LEVELS, quantiles.T, strict=True):
            np.testing.assert_allclose(fitted.cdf(self.X, at), level, atol=1e-6)
        assert (np.diff(quantiles, axis=1) > 0).all()

    def test_intervals_are_quantiles(self, fitted):
        expected = fitted.predict_quantiles(self.X, [0.05, 0.95])
        np.testing.assert_allclose(fitted.predict_interval(self.X, 0.9), expected)

    def test_density_is_the_slope_of_the_cdf(self, fitted):
        y, step = fitted.predict_quantiles(self.X, [0.8])[:, 0], 1e-5
        slope = (fitted.cdf(self.X, y + step) - fitted.cdf(self.X, y - step)) / (2 * step)
        np.testing.assert_allclose(np.exp(fitted.log_prob(self.X, y)), slope, rtol=1e-5)

    def test_samples_are_of_the_cdf(self, fitted):
        """Kolmogorov-Smirnov at an error rate of 1e-3."""
        draws = fitted.sample_y(self.X, 50, random_state=3)
        assert draws.shape == (40, 50)
        levels = fitted.cdf(np.repeat(self.X, 50, axis=0), draws.ravel())
        assert kstest(levels, "uniform").pvalue > 1e-3

    def test_mean_and_deviation_are_those_of_samples(self, fitted):
        """10,000 draws for each of 40 rows, within 5 standard errors."""
        mean, std = fitted.predict(self.X, return_std=True)
        draws = fitted.sample_y(self.X, 10_000, random_state=1) - mean[:, None]
        assert (np.abs(draws.mean(axis=1)) < 5 * std / 100).all()
        squares = draws**2
        assert (np.abs(squares.mean(axis=1) - std**2) < 5 * squares.std(axis=1) / 100).all()

    def test_means_are_the_same_with_deviations_and_without(self, fitted):
        np.testing.assert_allclose(fitted.predict(self.X), fitted.predict(self.X, return_std=True)[0], rtol=1e-9)

    def test_samples_follow_their_seed(self, fitted):
        np.testing.assert_array_equal(fitted.sample_y(self.X, 3, 7), fitted.sample_y(self.X, 3, 7))
        assert not np.allclose(fitted.sample_y(self.X, 3, 7), fitted.sample_y(self.X, 3, 8))

    @pytest.mark.slow
    def test_units_of_the_target_scale_everything(self):
        X, y, _ = wavy(300)
        plain, scaled = small_forest().fit(X, y), small_forest().fit(X, 1000 * y + 5)
        np.testing.assert_allclose(scaled.predict(X), 1000 * np.asarray(plain.predict(X)) + 5, atol=3.0)
        np.testing.assert_allclose(scaled.noise_variance(X), 1e6 * plain.noise_variance(X), rtol=0.02)
        np.testing.assert_allclose(
            scaled.log_prob(X, 1000 * y + 5), plain.log_prob(X, y) - np.log(1000), rtol=0.02, atol=0.1
        )


class TestSameAnswer:
    @pytest.mark.slow
    def test_for_any_number_of_threads_and_again(self):
        X, y, _ = wavy(250)
        one, two, again = (small_forest(n_jobs=jobs).fit(X, y) for jobs in (1, 2, 1))
        for other in (two, again):
            np.testing.assert_array_equal(one.predict(X), other.predict(X))
            np.testing.assert_array_equal(one.predict_interval(X), other.predict_interval(X))
        assert not np.array_equal(one.predict(X), small_forest(random_state=1).fit(X, y).predict(X))

    def test_whichever_rows_come_together(self, fitted):
        X = wavy(20_000, seed=2)[0]
        mean, quantiles = fitted.predict(X), fitted.predict_quantiles(X[:2000], [0.1, 0.9])
        for some in (slice(0, 1), slice(511, 514), slice(1000, 1700), slice(16_380, 16_390), slice(19_999, 20_000)):
            np.testing.assert_allclose(fitted.predict(X[some]), mean[some], rtol=0, atol=1e-6)
        np.testing.assert_allclose(fitted.predict_quantiles(X[700:750], [0.1, 0.9]), quantiles[700:750], atol=1e-6)
        order = np.random.default_rng(0).permutation(20_000)
        np.testing.assert_allclose(fitted.predict(X[order]), mean[order], rtol=0, atol=1e-6)

    def test_in_parts(self, fitted, monkeypatch):
        X, y, _ = wavy(350, seed=3)
        asked = [
            lambda: fitted.predict(X),
            lambda: fitted.predict(X, return_std=True)[1],
            lambda: fitted.predict_interval(X),
            lambda: fitted.log_prob(X, y),
            lambda: fitted.cdf(X, y),
            lambda: fitted.noise_variance(X),
        ]
        whole = [ask() for ask in asked]
        monkeypatch.setattr("ssgp.forest.predictions.PREDICT_ROWS", 100)
        for ask, expected in zip(asked, whole, strict=True):
            np.testing.assert_allclose(ask(), expected, rtol=1e-5, atol=1e-6)

    def test_after_pickling(self, fitted):
        X = wavy(50, seed=4)[0]
        before = fitted.predict_interval(X)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_interval(X), before)


@pytest.mark.slow
class TestSampleWeight:
    def test_rows_of_weight_zero_are_not_there(self):
        X, y, _ = wavy(300)
        weight = (np.arange(300) % 3 != 0).astype(float)
        spoiled = small_forest().fit(np.where(weight[:, None] > 0, X, 1e4), np.where(weight > 0, y, 1e6), weight)
        without = small_forest().fit(X[weight > 0], y[weight > 0], np.ones(200))
        np.testing.assert_array_equal(spoiled.predict_interval(X), without.predict_interval(X))

    def test_weights_of_one_are_no_weights(self):
        X, y, _ = wavy(200)
        weighted, plain = small_forest().fit(X, y, np.ones(200)), small_forest().fit(X, y)
        np.testing.assert_allclose(weighted.predict_interval(X), plain.predict_interval(X), atol=0.02)

    @pytest.mark.filterwarnings("ignore:.*of the rows repeat another exactly")
    def test_a_weight_of_two_is_much_like_a_row_twice(self):
        X, y, latent = wavy(600)
        counts = np.random.default_rng(0).integers(1, 4, size=600)
        weighted = small_forest(max_iter=150).fit(X, y, counts)
        repeated = small_forest(max_iter=150).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
        # They are nearer to each other than the noise is large; copies of held-out rows are seen in the other case.
        assert rmse(weighted.predict(X), repeated.predict(X)) < 0.1
        assert rmse(latent, weighted.predict(X)) < 0.06
        assert weighted.leaf_size_ * weighted.n_leaves_ == pytest.approx(counts.sum())

    def test_heavy_rows_count_more(self, rng):
        X = 0.01 * rng.normal(size=(400, 1))
        y = np.where(np.arange(400) < 200, 0.0, 1.0) + 0.05 * rng.normal(size=400)
        weight = np.where(np.arange(400) < 200, 1.0, 9.0)
        assert small_forest().fit(X, y, weight).predict([[0.0]])[0] == pytest.approx(0.9, abs=0.05)


class TestSettings:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "settings",
        [
            {"shrink": False},
            {"n_sketches": "exact"},
            {"n_sketches": 4},
            {"n_sketches": 1000},
            {"tol": None},
            {"n_trees": 1},
            {"leaf_size": 10},
            {"leaf_size": 10_000},
            {"n_frequencies": 1, "leaf_size": 30},
            *({"kernel": kernel} for kernel in [*KERNELS, "auto"]),
        ],
        ids=str,
    )
    def test_work(self, settings):
        X, y, latent = wavy(600)
        model = small_forest(**settings).fit(X, y)
        mean, std = model.predict(X, return_std=True)
        # Of signal of deviation 1 and noise of 0.1.
        assert rmse(latent, mean) < 0.2
        assert (std > 0.05).all()
        assert np.median(std) < 0.4
        assert model.kernel_ in KERNELS

    @pytest.mark.slow
    def test_sizes_are_as_set(self):
        X, y, _ = wavy(600)
        model = small_forest(leaf_size=300).fit(X, y)
        assert (model.n_trees_, model.n_frequencies_, model.n_leaves_) == (3, 8, 2)
        assert model.leaf_size_ == 300

    @pytest.mark.slow
    def test_time_is_kept(self):
        """Of a fit that takes longer; the machine may become far slower than it thought it was."""
        X, y, latent = wavy(4000)
        began = time.monotonic()
        model = SpectralForestRegressor(max_time=1.0, n_jobs=1, random_state=0)
        with pytest.warns(ConvergenceWarning, match="max_time was too short for everything; left out: "):
            model.fit(X, y)
        assert time.monotonic() - began < 60.0
        assert 1 <= model.n_iter_ < 1500
        assert rmse(latent, model.predict(X)) < 0.3

    def test_almost_no_time_is_enough_for_a_model(self):
        X, y, _ = wavy(500)
        model = small_forest(max_time=1e-3)
        with pytest.warns(ConvergenceWarning, match="left out: .*2 of 3 trees"):
            model.fit(X, y)
        assert model.n_iter_ >= 1
        assert model.n_trees_ >= 1
        assert np.isfinite(model.predict_interval(X)).all()

    @pytest.mark.slow
    def test_almost_no_time_is_enough_for_a_large_table(self):
        X, y, latent = wavy(20_000, d=4)
        model = SpectralForestRegressor(max_time=0.05, n_jobs=1, random_state=0)
        with pytest.warns(ConvergenceWarning, match="18,000 of 20,000 rows, 15 of 16 trees, the correction"):
            model.fit(X, y)
        assert rmse(latent[:1000], model.predict(X[:1000])) < 1.0
        assert np.isfinite(model.predict_interval(X[:1000])).all()

    @pytest.mark.slow
    @pytest.mark.parametrize("n_sketches", [1, 3])
    def test_models_are_half_precision_vectors_and_little_else(self, n_sketches):
        """Two bytes for each entry of the leaves' weights and sketches; the trees and scales add a third at most."""
        X = np.random.default_rng(0).normal(size=(4000, 6))
        y = np.sin(3 * X[:, 0]) + 0.3 * np.random.default_rng(1).normal(size=4000)
        model = small_forest(n_frequencies=40, max_iter=5, leaf_size=250, n_sketches=n_sketches, correct=False).fit(
            X, y
        )
        vectors = 3 * model.n_leaves_ * (1 + n_sketches)
        entries = vectors * (2 * 40 + 1 + 6)
        waves = 3 * 4 * (6 + 1) * (2 * 40 + 1 + 6)
        assert 2 * entries <= model._fitted.forest.nbytes - waves <= 2.7 * entries
        assert model._fitted.forest.nbytes < X.nbytes + y.nbytes

    @pytest.mark.slow
    def test_verbose_prints_steps_and_trees(self, capsys):
        X, y, _ = wavy(100)
        small_forest(verbose=1).fit(X, y)
        out = capsys.readouterr().out
        assert "step 60/60" in out
        assert "tree 3/3" in out
        small_forest().fit(X, y)
        assert not capsys.readouterr().out

    @pytest.mark.slow
    def test_a_random_state_object_gives_another_forest_every_time(self):
        X, y, _ = wavy(200)
        state = np.random.RandomState(0)
        model = small_forest(random_state=state)
        assert not np.array_equal(model.fit(X, y).predict(X), model.fit(X, y).predict(X))


@pytest.mark.slow
class TestImportances:
    def test_rank_the_inputs_and_sum_to_one(self):
        X, y, _ = wavy(1000, d=4)
        importances = small_forest(max_iter=300).fit(X, y).feature_importances_
        assert importances.sum() == pytest.approx(1.0)
        assert (importances >= 0).all()
        assert importances[:2].min() > 2 * importances[2:].max()

    def test_a_constant_input_has_none(self):
        X, y, _ = wavy(300)
        importances = small_forest().fit(np.column_stack([X, np.full(300, 5.0)]), y).feature_importances_
        assert importances[2] == 0.0

    def test_follow_the_definition(self):
        """The mean over all pairs of rows is within 4 standard errors of that over the pairs it takes."""
        X, y, _ = wavy(400)
        model = small_forest().fit(X, y)
        lost = []
        for j, length in enumerate(model.lengthscale_):
            apart = (X[:, j, None] - X[None, :, j]) / length
            lost.append(1 - np.exp(-0.5 * apart**2)[np.triu_indices(400, 1)].mean())
        np.testing.assert_allclose(model.feature_importances_, np.array(lost) / np.sum(lost), atol=4 * 0.5 / 20)


def test_nothing_can_be_asked_before_fit():
    X, y, _ = wavy(10)
    model = small_forest()
    for ask in (model.predict, model.predict_quantiles, model.predict_interval, model.sample_y, model.noise_variance):
        with pytest.raises(NotFittedError):
            ask(X)
    for ask in (model.log_prob, model.cdf):
        with pytest.raises(NotFittedError):
            ask(X, y)


@pytest.mark.slow
class TestCorrection:
    """An effect of the day that all regions share, far too rough for waves."""

    @pytest.fixture
    def rows(self):
        return self.drawn(0)

    def drawn(self, seed):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.integers(0, 200, 8000), rng.normal(size=(8000, 2))])
        signal = rng.normal(size=200)[X[:, 0].astype(int)] + np.sin(2 * X[:, 1])
        return X, signal, signal + 0.3 * rng.normal(size=8000)

    def errors(self, rows, **settings):
        X, signal, y = rows
        model = small_forest(n_frequencies=20, max_iter=150, leaf_size=60, **settings).fit(X[:6000], y[:6000])
        return model, rmse(signal[6000:], model.predict(X[6000:]))

    def test_finds_what_leaves_cannot_see(self, rows):
        model, error = self.errors(rows)
        without, more = self.errors(rows, correct=False)
        assert without.corrected_share_ == 0.0
        assert model.corrected_share_ > 0.5
        assert error < 0.4 * more

    def test_intervals_cover_what_they_say(self):
        """Of one table to two points or so, since 600 rows calibrate."""
        covered = []
        for seed in range(3):
            X, signal, y = self.drawn(seed)
            model, _ = self.errors((X, signal, y))
            low, high = model.predict_interval(X[6000:], 0.9).T
            covered.append(np.mean((low <= y[6000:]) & (y[6000:] <= high)))
        assert np.mean(covered) == pytest.approx(0.9, abs=0.02)

    def test_everything_is_said_of_the_corrected_prediction(self, rows):
        X, *_ = rows
        model, _ = self.errors(rows)
        mean, deviation = model.predict(X[:500], return_std=True)
        np.testing.assert_allclose(model.predict(X[:500]), mean, rtol=1e-6, atol=1e-6)
        # Half of the draws are below the median, which is near the mean.
        below = model.sample_y(X[:500], 400) < model.predict_quantiles(X[:500], [0.5])
        assert below.mean() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(500 * 400))
        assert np.abs(model.predict_quantiles(X[:500], [0.5])[:, 0] - mean).max() < 0.5 * deviation.max()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("max_iter", "tol", "n_iter"),
    [("auto", 1e9, 75 + 50 + 75 + 74), ("auto", None, 1500), (150, 1e9, 150), (300, 1e9, 100 + 75 + 74)],
)
def test_learning_ends_when_the_bound_is_flat(max_iter, tol, n_iter):
    """Three looks, one every 25 steps, in the first three fifths of each of two rounds; four blocks are few, so steps
    then fall over as many as there were."""
    X, y, _ = wavy(60)
    model = small_forest(n_trees=1, n_frequencies=2, max_iter=max_iter, tol=tol, correct=False).fit(X, y)
    assert model.n_iter_ == n_iter
