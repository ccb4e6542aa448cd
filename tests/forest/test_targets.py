"""Targets that are positive, counts or bounded: what is allowed, what is chosen, and forests that keep to it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError

import ssgp
from ssgp import SpectralForestRegressor, TableEncoder
from ssgp.distributions import CountDistribution, MappedDistribution
from ssgp.forest.sizes import MemoryShares
from ssgp.forest.targets import check_allowed, possible_maps
from ssgp.rows.target_maps import Logit, SoftLog

QUICK: dict[str, Any] = {"n_trees": 3, "max_iter": 60, "correct": False, "random_state": 0}


def rows(n_rows=450, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    return X, np.sin(2 * X[:, 0]) + 0.8 * rng.normal(size=n_rows), rng


@pytest.fixture(scope="module")
def incomes():
    """Targets whose logarithms have normal noise."""
    X, z, _ = rows()
    return X, 1000.0 * np.exp(z)


@pytest.fixture(scope="module")
def visits():
    X, z, rng = rows()
    return X, rng.poisson(np.exp(z - 1.0)).astype(float)


@pytest.fixture(scope="module")
def ratings():
    """From 0 to 10, with many of both."""
    X, z, _ = rows()
    return X, np.clip(5.0 + 4.0 * z, 0.0, 10.0)


@pytest.fixture(scope="module")
def of_incomes(incomes):
    return SpectralForestRegressor(**QUICK, target="positive").fit(*incomes)


class TestTheParameter:
    @pytest.mark.parametrize("target", ["auto", "any", "positive", "non-negative", "count", (0, 1), [0.0, 2.5]])
    def test_kinds_and_pairs_are_taken(self, target):
        copy: Any = clone(SpectralForestRegressor(target=target))
        assert copy.target == target
        check_allowed(target, [1.0])

    @pytest.mark.parametrize("target", ["log", (1, 0), (0, 1, 2), (0, np.inf), (0, 1e200), (True, 2), None, 3.0])
    def test_others_are_refused_with_what_is_allowed(self, target):
        with pytest.raises(InvalidParameterError, match=r"'positive'.* or a pair of numbers, the lower and the upper"):
            SpectralForestRegressor(target=target).fit(np.zeros((30, 1)), np.arange(30.0))


class TestWhatIsAllowed:
    @pytest.mark.parametrize(
        ("target", "value", "allowed"),
        [
            ("positive", 0.0, "numbers above 0"),
            ("positive", -2.5, "numbers above 0"),
            ("non-negative", -1.0, "numbers from 0 on"),
            ("count", 1.5, "whole numbers from 0 on"),
            ("count", -1.0, "whole numbers from 0 on"),
            ((0, 5), 6.0, "numbers from 0 to 5"),
        ],
    )
    def test_an_error_names_the_value_its_row_and_what_is(self, target, value, allowed):
        y = np.array([1.0, 2.0, value, 3.0, value])
        message = rf"y has the value {value:g} in row 2 \(2 of 5 rows\), and target=.* allows {allowed}"
        with pytest.raises(ValueError, match=message):
            SpectralForestRegressor(**QUICK, target=target).fit(np.arange(5.0)[:, None], y)

    def test_rows_of_weight_zero_may_be_anything(self):
        check_allowed("positive", [1.0, -1.0, 2.0], [1.0, 0.0, 2.0])
        with pytest.raises(ValueError, match="in row 1"):
            check_allowed("positive", [1.0, -1.0, 2.0], [0.0, 1.0, 2.0])

    def test_in_batches_the_error_names_the_batch(self):
        X = np.arange(8.0)[:, None]
        batches = [(X, np.ones(8)), (X, np.r_[1.0, -3.0, np.ones(6)])]
        with pytest.raises(ValueError, match="batch 1: y has the value -3 in row 1"):
            SpectralForestRegressor(**QUICK, target="positive").fit_batches(batches)

    @pytest.mark.slow
    def test_more_rows_are_those_of_the_map(self, incomes):
        model = SpectralForestRegressor(**QUICK, target="positive").fit(*incomes)
        before = model.predict(incomes[0][:5])
        with pytest.raises(ValueError, match="y has the value -1 in row 0"):
            model.partial_fit(incomes[0][:1], [-1.0])
        np.testing.assert_array_equal(model.predict(incomes[0][:5]), before)


class TestMaps:
    def test_only_positive_targets_are_mapped_unasked(self):
        y = np.linspace(1.0, 100.0, 50)
        assert possible_maps("any", y, 1.0) == possible_maps("auto", y, 0.0) == possible_maps("auto", y, -1.0) == [None]
        unasked = possible_maps("auto", y, 1.0)
        assert [target_map and target_map.kind for target_map in unasked] == [None, *["positive"] * 3]
        assert possible_maps("positive", y, 1.0) == unasked[1:]

    def test_bounds_have_a_mass_only_where_they_are_among_the_targets(self):
        assert possible_maps((0, 10), np.linspace(1.0, 9.0, 50), 1.0) == [Logit(0.0, 10.0)]
        (with_ends,) = possible_maps((0, 10), np.linspace(0.0, 10.0, 50), 0.0)
        assert isinstance(with_ends, Logit)
        assert 0 < with_ends.margin < 1

    @pytest.mark.parametrize("target", ["count", "non-negative"])
    def test_all_zeros(self, target):
        model = SpectralForestRegressor(**QUICK, target=target).fit(np.arange(40.0)[:, None], np.zeros(40))
        assert (model.predict_quantiles([[3.0]], [0.1, 0.5, 0.9]) == 0.0).all()


class TestTheChoice:
    def test_a_logarithm_is_found_where_it_is_right(self, incomes):
        model = SpectralForestRegressor(**QUICK).fit(*incomes)
        assert model.target_kind_ == "positive"
        assert (model.predict_interval(incomes[0], 0.999) > 0).all()

    @pytest.mark.slow
    def test_targets_of_normal_noise_are_learned_as_they_are(self):
        X, z, _ = rows()
        found = SpectralForestRegressor(**QUICK).fit(X, z + 20.0)
        given = SpectralForestRegressor(**QUICK, target="any").fit(X, z + 20.0)
        assert (found.target_kind_, found.target_map_) == ("any", None)
        np.testing.assert_array_equal(found.predict_interval(X), given.predict_interval(X))

    @pytest.mark.slow
    def test_it_depends_on_neither_threads_nor_the_size_of_the_target(self, incomes):
        X, y = incomes
        one, two = (SpectralForestRegressor(**QUICK, n_jobs=n_jobs).fit(X, y).target_map_ for n_jobs in (1, 2))
        assert one == two
        scaled = SpectralForestRegressor(**QUICK, n_jobs=1).fit(X, 1024.0 * y).target_map_
        assert isinstance(one, SoftLog)
        assert scaled == replace(one, scale=1024.0 * one.scale, largest=1024.0 * one.largest)

    @pytest.mark.slow
    def test_rows_of_weight_zero_and_repeats_by_weight(self, incomes):
        """Weights of two are rows that are there twice: the same scales are tried."""
        X, y = incomes
        zero = np.ones(len(y))
        zero[::3] = 0.0
        kept = zero > 0
        by_weight = SpectralForestRegressor(**QUICK).fit(X, y, zero)
        alone = SpectralForestRegressor(**QUICK).fit(X[kept], y[kept])
        assert by_weight.target_map_ == alone.target_map_ is not None

    @pytest.mark.slow
    def test_groups_are_held_out_as_a_whole(self, incomes):
        X, y = incomes
        groups = np.arange(len(y)) // 9
        assert SpectralForestRegressor(**QUICK).fit(X, y, groups=groups).target_kind_ == "positive"

    def test_ctrl_c_ends_it_with_nothing_learned(self, incomes, monkeypatch):
        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr("ssgp.forest.target_choice.quick_forest", interrupted)
        model = SpectralForestRegressor(**QUICK)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*incomes)
        assert not hasattr(model, "n_features_in_")
        assert not hasattr(model, "target_map_")

    def test_there_is_none_without_time(self, incomes):
        with pytest.warns(UserWarning, match="left out.*the choice of a map of the target"):
            model = SpectralForestRegressor(**QUICK, max_time=0.01).fit(*incomes)
        assert model.target_kind_ == "any"


@pytest.fixture(scope="module", params=["positive", "count", "bounded", "non-negative"])
def fitted(request, incomes, visits, ratings):
    X, y = {"positive": incomes, "count": visits, "bounded": ratings, "non-negative": visits}[request.param]
    target = (0, 10) if request.param == "bounded" else request.param
    return SpectralForestRegressor(**QUICK, target=target).fit(X, y), X, y


class TestForestsOfMappedTargets:
    def test_every_answer_is_of_one_distribution(self, fitted):
        model, X, y = fitted
        predicted = model.predict_distribution(X)
        mean, std = model.predict(X, return_std=True)
        np.testing.assert_array_equal(model.predict(X), mean)
        np.testing.assert_array_equal(mean, predicted.mean())
        np.testing.assert_array_equal(std, predicted.std())
        np.testing.assert_array_equal(model.predict(X[5:6]), mean[5:6])
        np.testing.assert_array_equal(model.log_prob(X, y), predicted.logpdf(y))
        np.testing.assert_array_equal(model.sample_y(X[:3], 4), predicted[:3].sample(4, 0))
        assert np.isfinite(model.log_prob(X, y)).all()
        assert isinstance(predicted, CountDistribution if model.target_kind_ == "count" else MappedDistribution)

    def test_the_mean_is_that_of_draws(self, fitted):
        model, X, _ = fitted
        draws = model.sample_y(X[:20], 20_000)
        # Six standard errors, of deviations that heavy tails make larger than those of the draws.
        error = 6.0 * draws.std(axis=1) / np.sqrt(20_000)
        assert (np.abs(model.predict(X[:20]) - draws.mean(axis=1)) < error).all()

    def test_predictions_are_within_the_ends_and_cover(self, fitted):
        model, X, y = fitted
        low, high = model.predict_interval(X, 0.9).T
        assert low.min() >= 0.0
        assert 0.85 < np.mean((low <= y) & (y <= high)) <= 1.0
        if model.target_kind_ == "bounded":
            assert high.max() <= 10.0
        if model.target_kind_ == "count":
            np.testing.assert_array_equal(high, np.floor(high))

    def test_a_file_holds_it(self, fitted, tmp_path):
        model, X, y = fitted
        model.save(tmp_path / "model")
        again = ssgp.load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict(X[:9]), model.predict(X[:9]))
        np.testing.assert_array_equal(again.log_prob(X[:9], y[:9]), model.log_prob(X[:9], y[:9]))
        assert again.target_map_ == model.target_map_
        assert (again.target_kind_, again.get_params()["target"]) == (model.target_kind_, model.get_params()["target"])
        assert ssgp.saved_models.read_summary(tmp_path / "model")["training"]["target_kind_"] == model.target_kind_

    def test_recalibration_by_targets_that_cannot_be_is_refused(self, fitted):
        model, X, y = fitted
        wrong = {"count": 2.5, "bounded": 10.5}.get(model.target_kind_, -1.0)
        with pytest.raises(ValueError, match=f"y has the value {wrong:g}, and the model is one of targets that are"):
            ssgp.recalibrate(model, X, np.r_[y[:-1], wrong])

    @pytest.mark.slow
    def test_recalibrated_it_stays_within_the_ends(self, fitted):
        model, X, y = fitted
        recalibrated = ssgp.recalibrate(model, X, y)
        assert recalibrated.predict_interval(X, 0.99).min() >= 0.0
        np.testing.assert_array_equal(recalibrated.predict(X), recalibrated.predict_distribution(X).mean())
        assert recalibrated.log_prob(X, y).mean() > model.log_prob(X, y).mean() - 0.02

    def test_noise_is_positive_and_of_the_size_of_the_spread(self, fitted):
        model, X, _ = fitted
        noise = model.noise_variance(X)
        assert (noise >= 0).all()
        assert np.median(noise) < 4 * np.median(model.predict(X, return_std=True)[1] ** 2)


def test_without_a_file_that_says_so_targets_are_as_they_are(tmp_path):
    X, z, _ = rows(60)
    SpectralForestRegressor(**QUICK, target="any").fit(X, z).save(tmp_path / "model")
    assert "target" not in ssgp.saved_models.read_summary(tmp_path / "model")["settings"]
    assert ssgp.load(tmp_path / "model").target == "any"


@pytest.mark.slow
def test_tables_with_gaps(incomes):
    """Rows that do not tell all are mixtures before they are mapped back."""
    pandas = pytest.importorskip("pandas")
    X, y = incomes
    table = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 0] > 0, "left", "right")})
    model = SpectralForestRegressor(**QUICK, target="positive").fit(table, y)
    table.loc[::2, ["a", "c"]] = None
    with pytest.warns(UserWarning, match="'a'"):
        predicted, mean = model.predict_distribution(table), model.predict(table)
    np.testing.assert_array_equal(mean, predicted.mean())
    assert predicted.interval(0.99).min() > 0.0
    known, gaps = predicted[1::2].interval(0.9), predicted[::2].interval(0.9)
    assert np.median(np.log(gaps[:, 1] / gaps[:, 0])) > np.median(np.log(known[:, 1] / known[:, 0]))


@pytest.mark.slow
@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("target", ["auto", "positive"])
def test_batches_give_the_same_model(sampled, target, incomes, monkeypatch):
    if sampled:
        monkeypatch.setattr(MemoryShares, "of", lambda *_: MemoryShares(2**24, 300, 2**22))
    X, y = incomes
    whole = SpectralForestRegressor(**QUICK, target=target).fit(X, y)
    parts = SpectralForestRegressor(**QUICK, target=target).fit_batches([(X[:200], y[:200]), (X[200:], y[200:])])
    assert whole.target_map_ == parts.target_map_ is not None
    np.testing.assert_array_equal(whole.predict_interval(X[:50]), parts.predict_interval(X[:50]))


@pytest.mark.slow
def test_means_look_at_rows_once(incomes, monkeypatch):
    X, y = incomes
    table = pa.table({"x": X[:, 0], "town": np.array(["a", "b"])[(X[:, 1] > 0).astype(int)]})
    model = SpectralForestRegressor(**QUICK, target="positive").fit(table, y)
    encoded, looks = TableEncoder.encoded, []
    monkeypatch.setattr(TableEncoder, "encoded", lambda self, X: looks.append(len(X)) or encoded(self, X))
    with pytest.warns(UserWarning, match="values that fit never saw") as warned:
        model.predict(pa.table({"x": [0.0, 1.0], "town": ["a", "elsewhere"]}))
    assert looks == [2]
    assert len(warned) == 1


@pytest.mark.slow
def test_far_rows_are_not_predicted_hundreds_of_times_the_largest_target(incomes):
    """Where lines lead to far from all rows, an exponential of it would be absurd."""
    X, y = incomes
    steep = 1000.0 * np.exp(2.0 * X[:, 0]) * y / y.mean()
    model = SpectralForestRegressor(**QUICK, target="positive").fit(X, steep)
    far = np.array([[20.0, 0.0], [50.0, 0.0]])
    assert model.predict_quantiles(far, [0.5]).max() <= 2.1 * steep.max()
    assert model.predict(far).max() <= 10.0 * steep.max()
    np.testing.assert_array_equal(model.predict(far), model.predict_distribution(far).mean())


def test_more_rows_keep_the_map(of_incomes, incomes):
    X, y = incomes
    model = SpectralForestRegressor(**QUICK, target="positive", keep_rows=True).fit(X[:300], y[:300])
    before = model.target_map_
    model.partial_fit(X[300:], y[300:])
    assert model.target_map_ == before
    assert model.n_rows_ == 450
    assert (model.predict(X) > 0).all()


@pytest.mark.slow
def test_a_fit_that_goes_on_keeps_the_map(incomes):
    X, y = incomes
    model = SpectralForestRegressor(**QUICK, target="positive", warm_start=True).fit(X, y)
    before = model.target_map_
    assert model.fit(X, 2.0 * y).target_map_ == before
    with pytest.raises(ValueError, match="y has the value -1"):
        model.fit(X, np.r_[-1.0, y[1:]])
