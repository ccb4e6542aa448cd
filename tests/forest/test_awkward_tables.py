"""Tables as users have them, and mistakes as users make them, of the spectral forest; warnings are errors here."""

import numpy as np
import pandas as pd
import pytest

from helpers import small_forest, wavy
from ssgp import SpectralForestRegressor

pytestmark = pytest.mark.slow

TABLES = {
    "one row": lambda rng: (np.ones((1, 1)), np.ones(1)),
    "two rows": lambda rng: (rng.normal(size=(2, 5)), np.array([1.0, 2.0])),
    "two rows alike": lambda rng: (np.ones((2, 2)), np.array([1.0, 2.0])),
    "15 rows": lambda rng: (rng.normal(size=(15, 2)), rng.normal(size=15)),
    "20 rows": lambda rng: (rng.normal(size=(20, 2)), rng.normal(size=20)),
    "45 rows": lambda rng: (rng.normal(size=(45, 1)), rng.normal(size=45)),
    "constant inputs": lambda rng: (np.ones((200, 3)), rng.normal(size=200)),
    "constant column": lambda rng: (np.c_[rng.normal(size=200), np.full(200, 7.0)], rng.normal(size=200)),
    "constant target": lambda rng: (rng.normal(size=(200, 2)), np.full(200, -3.0)),
    "all constant": lambda rng: (np.full((200, 2), 4.0), np.full(200, -3.0)),
    "duplicates": lambda rng: (np.repeat(rng.normal(size=(40, 2)), 5, axis=0), rng.normal(size=200)),
    "duplicates without noise": lambda rng: (
        np.repeat(rng.normal(size=(3, 2)), 70, axis=0),
        np.repeat([0.0, 1.0, 2.0], 70),
    ),
    "offsets": lambda rng: (1e9 + rng.normal(size=(200, 2)), 1e9 + rng.normal(size=200)),
    "tiny scales": lambda rng: (1e-9 * rng.normal(size=(200, 2)), 1e-9 * rng.normal(size=200)),
    "tiniest scales": lambda rng: (1e-200 * rng.normal(size=(200, 2)), 1e-100 * rng.normal(size=200)),
    "huge scales": lambda rng: (1e30 * rng.normal(size=(200, 2)), 1e30 * rng.normal(size=200)),
    "integers": lambda rng: (rng.integers(0, 5, size=(200, 3)), rng.integers(0, 9, size=200)),
    "zeros and ones": lambda rng: (rng.integers(0, 2, size=(200, 4)), rng.integers(0, 2, size=200)),
    "booleans": lambda rng: (rng.random((200, 3)) < 0.5, rng.normal(size=200)),
    "float32": lambda rng: (rng.normal(size=(200, 2)).astype(np.float32), rng.normal(size=200).astype(np.float32)),
    "half precision": lambda rng: (rng.normal(size=(200, 2)).astype(np.float32), rng.normal(size=200).astype("f2")),
    "nine zeros in ten": lambda rng: (
        rng.normal(size=(300, 2)),
        np.where(rng.random(300) < 0.9, 0.0, rng.exponential(10.0, size=300)),
    ),
    "zeros on one side": lambda rng: (lambda X: (X, np.where(X[:, 0] < 1.0, 0.0, X[:, 0])))(rng.normal(size=(300, 2))),
    "wild tails": lambda rng: (rng.standard_cauchy(size=(300, 2)), rng.standard_cauchy(size=300)),
    "one wild row": lambda rng: (
        rng.normal(size=(300, 2)),
        np.where(np.arange(300) == 7, 1e8, rng.normal(size=300)),
    ),
    "more inputs than rows": lambda rng: (rng.normal(size=(30, 80)), rng.normal(size=30)),
    "no noise": lambda rng: (np.linspace(0, 1, 300)[:, None], np.sin(20 * np.linspace(0, 1, 300))),
    "columns alike": lambda rng: (np.tile(rng.normal(size=(200, 1)), (1, 4)), rng.normal(size=200)),
    "fortran order": lambda rng: (np.asfortranarray(rng.normal(size=(200, 3))), rng.normal(size=400)[::2]),
}


@pytest.mark.filterwarnings("ignore:y has values that are far from all others")
@pytest.mark.filterwarnings("ignore:the forest is fitted to")
@pytest.mark.parametrize("settings", [{}, {"shrink": False, "leaf_size": 20}], ids=["shrunk", "not shrunk"])
@pytest.mark.parametrize("name", TABLES)
def test_ordinary_days_give_finite_predictions(name, settings, rng):
    X, y = TABLES[name](rng)
    model = small_forest(n_trees=2, n_frequencies=4, max_iter=20, **settings).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert (std > 0).all()
    y = np.asarray(y, dtype=float)
    spread = max(np.ptp(y), 1e-300)
    assert np.abs(mean - y.mean()).max() <= 10 * spread + 1e-6 * abs(y.mean())
    low, middle, high = model.predict_quantiles(X, [0.05, 0.5, 0.95]).T
    # Of one distribution, but units of the target may leave no number between two of its quantiles.
    assert (low <= middle).all()
    assert (middle <= high).all()
    for asked in (model.log_prob(X, y), model.cdf(X, y), model.sample_y(X, 2), model.noise_variance(X)):
        assert np.isfinite(asked).all()
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_offsets_and_scales_of_the_inputs_change_nothing(rng):
    X, y, _ = wavy(300)
    plain = small_forest().fit(X, y)
    moved = small_forest().fit(1e9 + 1e3 * X, y)
    # 1e9 + 1e3 x keeps ten digits of x, and float32 seven.
    np.testing.assert_allclose(moved.predict(1e9 + 1e3 * X), plain.predict(X), atol=0.02)


def test_a_constant_target_is_predicted_with_certainty(rng):
    X = rng.normal(size=(200, 2))
    model = small_forest().fit(X, np.full(200, 7.0))
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, 7.0, atol=1e-3)
    assert (std < 0.3).all()


@pytest.mark.filterwarnings("ignore:the forest is fitted to")
def test_one_row_is_remembered():
    model = small_forest().fit([[1.0, 2.0]], [5.0])
    assert model.predict([[1.0, 2.0]])[0] == pytest.approx(5.0)


def test_a_target_of_many_zeros_is_certain_where_all_are(rng):
    X = rng.uniform(-1, 1, size=(800, 2))
    y = np.where(X[:, 0] > 0.8, rng.exponential(5.0, size=800), 0.0)
    model = small_forest(leaf_size=50, max_iter=100).fit(X, y)
    width = np.ptp(model.predict_interval(X, 0.9), axis=1)
    assert np.median(width[X[:, 0] < 0]) < 0.2 * np.median(width[X[:, 0] > 0.85])


def test_rows_far_from_all_others_have_finite_predictions():
    X, y, _ = wavy(300)
    model = small_forest().fit(X, y)
    mean, std = model.predict(np.array([[1e6, -1e6], [1e3, 0.0]]), return_std=True)
    assert np.isfinite(mean).all()
    assert (std >= model.predict(X, return_std=True)[1].min()).all()


class TestBadInput:
    @pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
    def test_a_column_that_is_not_finite_is_named(self, bad, word):
        X, y, _ = wavy(100)
        broken = X.copy()
        broken[3, 1] = bad
        with pytest.raises(ValueError, match=rf"Input X contains {word} in column 1: 1 of 100 rows"):
            small_forest().fit(broken, y)
        with pytest.raises(ValueError, match=rf"Input X contains {word} in column 'speed'"):
            small_forest(encoder=None).fit(pd.DataFrame({"time": broken[:, 0], "speed": broken[:, 1]}), y)
        model = small_forest(keep_rows=True).fit(X, y)
        asks = (model.predict, model.predict_interval, model.sample_y, model.noise_variance)
        for ask in (*asks, lambda X: model.log_prob(X, y), lambda X: model.partial_fit(X, y)):
            with pytest.raises(ValueError, match=rf"Input X contains {word} in column 1"):
                ask(broken)
        with pytest.raises(ValueError, match=rf"Input y contains {word}"):
            small_forest().fit(X, np.where(np.arange(100) == 5, bad, y))

    @pytest.mark.parametrize("name", ["X", "y"])
    def test_values_too_extreme_to_standardise_are_named(self, name):
        X, y, _ = wavy(100)
        # A single target would be taken for the farthest of the others.
        (X if name == "X" else y)[(7, 1) if name == "X" else slice(7, 12)] = 1e308
        with pytest.raises(
            ValueError, match=f"Input {name} has values{' in column 1' if name == 'X' else ''} too extr"
        ):
            small_forest().fit(X, y)

    @pytest.mark.parametrize("bad", [0.0, 1.0, -0.5, 1.5, np.nan])
    def test_coverage_and_quantiles_lie_between_zero_and_one(self, bad):
        X, y, _ = wavy(50)
        model = small_forest().fit(X, y)
        with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
            model.predict_interval(X, bad)
        with pytest.raises(ValueError, match="quantiles must lie between 0 and 1"):
            model.predict_quantiles(X, [0.5, bad])

    def test_targets_are_finite_and_one_a_row(self):
        X, y, _ = wavy(50)
        model = small_forest().fit(X, y)
        for ask in (model.log_prob, model.cdf):
            with pytest.raises(ValueError, match="inconsistent numbers of samples"):
                ask(X, y[:-1])
            with pytest.raises(ValueError, match="y has 1 values that are not finite, the first in row 3"):
                ask(X, np.where(np.arange(50) == 3, np.nan, y))

    def test_weights(self):
        X, y, _ = wavy(50)
        for weight, message in [
            (np.zeros(50), "(?i)sample.weight"),
            (np.full(50, 1e39), "sample_weight sums to 5e.40: .* beyond what can be computed"),
            (np.full(50, -1.0), "(?i)negative"),
            (np.ones(49), "sample_weight must have a number for each of the 50 rows"),
        ]:
            with pytest.raises(ValueError, match=message):
                small_forest().fit(X, y, weight)

    @pytest.mark.parametrize(
        ("name", "bad"), [("n_trees", 0), ("kernel", "cosine"), ("leaf_size", 1.5), ("n_sketches", "none")]
    )
    def test_a_failed_fit_leaves_the_old_model(self, name, bad):
        X, y, _ = wavy(100)
        model = small_forest().fit(X, y)
        before, good = model.predict(X), model.get_params()[name]
        with pytest.raises(ValueError, match=name):
            model.set_params(**{name: bad}).fit(X[:, :1], y)
        with pytest.raises(ValueError, match="NaN"):
            model.set_params(**{name: good}).fit(X[:, :1], np.full(100, np.nan))
        np.testing.assert_array_equal(model.predict(X), before)

    def test_another_number_of_columns_is_an_error(self):
        X, y, _ = wavy(50)
        model = small_forest().fit(X, y)
        with pytest.raises(ValueError, match="X has 1 features, but SpectralForestRegressor is expecting 2"):
            model.predict(X[:, :1])


@pytest.mark.parametrize("n_rows", [21, 1024, 1100, 1137, 1138])
def test_leaves_of_one_row(n_rows):
    X, y, _ = wavy(n_rows)
    model = small_forest(leaf_size=1, max_iter=10).fit(X, y)
    assert np.isfinite(model.predict_interval(X)).all()


def test_a_target_far_beyond_those_seen_is_named():
    X, y, _ = wavy(200)
    model = small_forest(keep_rows=True).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="y has values too extreme to standardise"):
        model.partial_fit(X[:1], [1e39])
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.slow
def test_a_correction_does_not_learn_the_noise_of_a_table_of_few_cells(rng):
    def truth(X):
        return X @ [1.0, -2.0, 0.5]

    X = rng.integers(0, 2, size=(5500, 3)).astype(float)
    y, cells = truth(X) + 5.0 * rng.normal(size=5500), np.unique(X, axis=0)

    def error(correct):
        model = SpectralForestRegressor(correct=correct, max_iter=10, n_trees=4, random_state=0).fit(X, y)
        return np.sqrt(np.mean((model.predict(cells) - truth(cells)) ** 2))

    assert error(True) < max(2.0 * error(False), 0.5)
