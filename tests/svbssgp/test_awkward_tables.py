"""Tables as users have them, and mistakes as users make them, of the paper's regressor; warnings are errors here."""

import numpy as np
import pytest

from helpers import quick

pytestmark = pytest.mark.slow


class TestSampleWeight:
    def test_rows_of_weight_zero_are_not_there(self, waves):
        X, y, _ = waves
        y = np.where(np.arange(1500) < 700, 1e6, y)
        weight = (np.arange(1500) >= 700).astype(float)
        weighted = quick(max_iter=50).fit(X, y, sample_weight=weight)
        without = quick(max_iter=50).fit(X[700:], y[700:])
        np.testing.assert_allclose(weighted.predict(X), without.predict(X), atol=1e-5)

    def test_heavy_rows_count_more(self, rng):
        X = np.zeros((400, 1)) + 0.01 * rng.normal(size=(400, 1))
        y = np.where(np.arange(400) < 200, 0.0, 1.0) + 0.05 * rng.normal(size=400)
        weight = np.where(np.arange(400) < 200, 1.0, 9.0)
        assert quick().fit(X, y, weight).predict([[0.0]])[0] == pytest.approx(0.9, abs=0.08)

    def test_all_zero_is_an_error(self, waves):
        X, y, _ = waves
        with pytest.raises(ValueError, match=r"(?i)sample.weight"):
            quick().fit(X, y, np.zeros(1500))


class TestOrdinaryDays:
    """Awkward tables that users have; warnings are errors here."""

    @pytest.mark.parametrize("objective", ["global", "local"])
    @pytest.mark.parametrize("posterior", ["triangular", "full"])
    @pytest.mark.parametrize(
        "make",
        [
            lambda rng: (np.ones((1, 1)), np.ones(1)),
            lambda rng: (rng.normal(size=(2, 5)), np.array([1.0, 2.0])),
            lambda rng: (np.ones((300, 3)), rng.normal(size=300)),
            lambda rng: (np.c_[rng.normal(size=300), np.full(300, 7.0)], np.full(300, -3.0)),
            lambda rng: (np.repeat(rng.normal(size=(3, 2)), 100, axis=0), np.repeat([0.0, 1.0, 2.0], 100)),
            lambda rng: (1e12 + rng.normal(size=(300, 2)), 1e15 + rng.normal(size=300)),
            lambda rng: (1e-200 * rng.normal(size=(300, 2)), 1e-100 * rng.normal(size=300)),
            lambda rng: (rng.integers(0, 2, size=(300, 4)), rng.integers(0, 2, size=300)),
            lambda rng: (rng.normal(size=(300, 2)).astype(np.float32), rng.normal(size=300).astype(np.float16)),
            lambda rng: (rng.standard_cauchy(size=(300, 2)), rng.standard_cauchy(size=300)),
            lambda rng: (rng.normal(size=(30, 80)), rng.normal(size=30)),
            lambda rng: (np.linspace(0, 1, 400)[:, None], np.sin(20 * np.linspace(0, 1, 400))),
        ],
        ids=[
            "one row",
            "two rows",
            "constant inputs",
            "constant column and target",
            "duplicates without noise",
            "huge offsets",
            "tiny scales",
            "integers",
            "half precision",
            "wild tails",
            "more inputs than rows",
            "no noise",
        ],
    )
    def test_give_finite_predictions(self, make, objective, posterior, rng):
        X, y = make(rng)
        model = quick(objective=objective, posterior=posterior, max_iter=60, n_frequencies=3).fit(X, y)
        mean, std = model.predict(X, return_std=True)
        assert np.isfinite(mean).all()
        assert np.isfinite(std).all()
        assert (std > 0).all()
        spread = max(np.ptp(np.asarray(y, float)), 1e-300)
        assert np.abs(mean - np.mean(y, dtype=float)).max() <= 10 * spread + 1e-6 * abs(np.mean(y, dtype=float))

    def test_far_from_the_data_the_prior_returns(self, waves):
        X, y, _ = waves
        model = quick(objective="local", n_frequencies=60, n_draws=20, max_iter=1500).fit(X, y)
        _, near = model.predict(X, return_std=True, latent=True)
        _, far = model.predict(X + 1000.0, return_std=True, latent=True)
        assert np.median(far) > 3 * np.median(near)


class TestBadInput:
    @pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
    def test_a_column_that_is_not_finite_is_named(self, bad, word, waves):
        import pandas as pd

        X, y, _ = waves
        X = X.copy()
        X[3, 1] = bad
        with pytest.raises(ValueError, match=rf"Input X contains {word} in column 1: 1 of 1500 rows"):
            quick().fit(X, y)
        with pytest.raises(ValueError, match=rf"Input X contains {word} in column 'speed'"):
            quick(encoder=None).fit(pd.DataFrame(X, columns=pd.Index(["time", "speed"])), y)
        X[3, 1] = 0.0
        model = quick(max_iter=5).fit(X, y)
        X[4, 0] = bad
        with pytest.raises(ValueError, match=rf"Input X contains {word} in column 0"):
            model.predict(X)
        y = np.where(np.arange(1500) == 5, bad, y)
        with pytest.raises(ValueError, match=rf"Input y contains {word}"):
            quick().fit(waves[0], y)

    @pytest.mark.parametrize(("name", "value"), [("X", 1e308), ("y", 1e200)])
    def test_values_too_extreme_to_standardise_are_named(self, name, value, waves):
        X, y, _ = (part.copy() for part in waves)
        # A single target would be taken for the farthest of the others.
        (X if name == "X" else y)[(7, 1) if name == "X" else slice(7, 12)] = value
        with pytest.raises(
            ValueError, match=f"Input {name} has values{' in column 1' if name == 'X' else ''} too extr"
        ):
            quick().fit(X, y)

    def test_rows_too_far_away_are_predicted_as_rows_that_are_far_away(self, waves):
        model = quick(max_iter=5).fit(waves[0], waves[1])
        far, further, furthest = (model.predict([[value, 0.0]], return_std=True) for value in (1e13, 1e18, 1e308))
        assert np.isfinite([far, further, furthest]).all()
        assert far == further == furthest

    def test_weights_out_of_range_and_missing_labels(self, waves):
        X, y, _ = waves
        with pytest.raises(ValueError, match=r"sample_weight sums to 1\.5e"):
            quick().fit(X, y, np.full(1500, 1e39))
        with pytest.raises(ValueError, match="blocks has missing values"):
            quick().fit(X, y, blocks=np.array([None, *["a"] * 1499], dtype=object))

    def test_a_failed_fit_keeps_the_columns_of_the_old_model(self, waves):
        X, y, _ = waves
        model = quick(max_iter=5).fit(X, y)
        before = model.predict(X)
        for name, bad, good in (("n_blocks", 5000, "auto"), ("lengthscale", -1.0, "auto")):
            with pytest.raises(ValueError, match=name):
                model.set_params(**{name: bad}).fit(X[:, :1], y)
            np.testing.assert_array_equal(model.set_params(**{name: good}).predict(X), before)

    def test_a_failed_fit_leaves_the_old_model(self, waves):
        X, y, _ = waves
        model = quick(max_iter=5).fit(X, y)
        before = model.predict(X)
        with pytest.raises(ValueError, match="NaN"):
            model.fit(X, np.full(1500, np.nan))
        with pytest.raises(ValueError, match="NaN"):
            model.partial_fit(X, np.full(1500, np.nan))
        np.testing.assert_array_equal(model.predict(X), before)
