"""Going on from a fitted model: warm starts, more rows, blocks that the user knows."""

import numpy as np
import pytest

from helpers import quick
from ssgp.metrics import rmse


class TestWarmStart:
    def test_keeps_the_units(self, waves):
        X, y, _ = waves
        model = quick(max_iter=300, warm_start=True).fit(X, y)
        model.set_params(max_iter=1).fit(X + 0.3, y)
        np.testing.assert_allclose(model.input_mean_, X.mean(axis=0))

    def test_takes_new_fixed_hyperparameters(self, waves):
        X, y, _ = waves
        model = quick(max_iter=5, warm_start=True, learn_hyperparameters=False, lengthscale=1.0).fit(X, y)
        model.set_params(lengthscale=0.3).fit(X, y)
        np.testing.assert_allclose(model.lengthscale_, 0.3, rtol=1e-5)

    def test_goes_on_from_the_last_solution(self, waves):
        X, y, latent = waves
        model = quick(max_iter=300, warm_start=True, tol=None).fit(X, y)
        first = model.bound_trace_[:10].mean()
        model.fit(X, y)
        assert model.n_iter_ == 300
        assert model.bound_trace_[:10].mean() > first
        assert rmse(latent, model.predict(X)) < 0.1

    def test_refuses_another_shape(self, waves):
        X, y, _ = waves
        model = quick(max_iter=10, warm_start=True).fit(X, y)
        with pytest.raises(ValueError, match=r"cannot go on from .*n_frequencies=10.* now ask for .*n_frequencies=3"):
            model.set_params(n_frequencies=3).fit(X, y)


class TestPartialFit:
    def test_new_rows_are_learned(self, waves):
        X, y, latent = waves
        left = X[:, 0] < 0
        model = quick(max_iter=800).partial_fit(X[left], y[left])
        before = rmse(latent[~left], model.predict(X[~left]))
        for part in np.array_split(np.flatnonzero(~left), 4):
            model.partial_fit(X[part], y[part])
        assert rmse(latent[~left], model.predict(X[~left])) < 0.3 * before
        assert rmse(latent[left], model.predict(X[left])) < 0.15

    def test_rows_join_their_blocks_exactly(self, waves):
        """With frequencies held still, two calls know as much as the rows of both."""
        X, y, _ = waves
        still = {"learning_rate": 1e-12, "learn_hyperparameters": False, "max_iter": 1, "n_blocks": 1}
        still |= {"normalize": False}
        both = quick(**still).fit(X[:1000], y[:1000]).partial_fit(X[1000:], y[1000:])
        assert both._rows.total == 1500
        shuffled = np.random.default_rng(0).permutation(500)
        other = quick(**still).fit(X[:1000], y[:1000]).partial_fit(X[1000:][shuffled], y[1000:][shuffled])
        np.testing.assert_allclose(both.predict(X), other.predict(X), atol=1e-4)
        assert rmse(y[1000:], both.predict(X[1000:])) < rmse(
            y[1000:], quick(**still).fit(X[:1000], y[:1000]).predict(X[1000:])
        )

    @pytest.mark.slow
    def test_many_small_calls_are_as_good_as_one(self, waves, rng):
        X, y, latent = waves
        one = quick(max_iter=600).fit(X[:1000], y[:1000]).partial_fit(X[1000:], y[1000:])
        many = quick(max_iter=600).fit(X[:1000], y[:1000])
        for part in np.array_split(np.arange(1000, 1500), 50):
            many.partial_fit(X[part], y[part])
        for gamma in (0.0, 1.0):
            assert rmse(latent, many.predict(X, gamma=gamma)) < 1.2 * rmse(latent, one.predict(X, gamma=gamma)) + 0.01
        assert many.noise_variance_ == pytest.approx(one.noise_variance_, rel=0.1)

    def test_steps_come_with_every_batch_of_rows(self, waves):
        X, y, _ = waves
        model = quick(max_iter=10, batch_size=200).fit(X[:500], y[:500])
        for part, expected in [(150, 10), (100, 11), (400, 13)]:
            model.partial_fit(X[:part], y[:part])
            assert model.n_iter_ == len(model.bound_trace_) == expected

    def test_rows_join_the_blocks_they_lie_in(self, waves):
        X, y, _ = waves
        model = quick(max_iter=5, n_blocks=4).fit(X[:1000], y[:1000])
        expected = np.diff(model._rows.bounds) + np.bincount(
            model.partition_.assign(model._context.units.inputs(X[1000:])), minlength=4
        )
        np.testing.assert_array_equal(np.diff(model.partial_fit(X[1000:], y[1000:])._rows.bounds), expected)

    def test_or_those_that_are_given(self, waves):
        X, y, _ = waves
        model = quick(max_iter=5).fit(X[:1000], y[:1000], blocks=np.arange(1000) % 2)
        model.partial_fit(X[1000:], y[1000:], blocks=np.ones(500))
        np.testing.assert_array_equal(np.diff(model._rows.bounds), [500, 1000])

    def test_a_weight_of_two_is_a_row_twice(self, waves):
        X, y, _ = waves
        still = {"learning_rate": 1e-12, "learn_hyperparameters": False, "max_iter": 1, "n_blocks": 1}
        weighted = quick(**still).fit(X[:100], y[:100]).partial_fit(X[100:150], y[100:150], np.full(50, 2.0))
        twice = np.tile(np.arange(100, 150), 2)
        repeated = quick(**still).fit(X[:100], y[:100]).partial_fit(X[twice], y[twice])
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-4)

    @pytest.mark.parametrize("change", [{"n_frequencies": 3}, {"objective": "local"}, {"base": "laplace"}])
    def test_refuses_other_settings(self, change, waves):
        X, y, _ = waves
        model = quick(max_iter=5).fit(X, y).set_params(**change)
        with pytest.raises(ValueError, match="cannot go on from"):
            model.partial_fit(X, y)


class TestBlocks:
    def test_given_blocks_are_used(self, waves):
        X, y, latent = waves
        labels = np.where(X[:, 0] < 0, "west", "east")
        model = quick(max_iter=300).fit(X, y, blocks=labels)
        np.testing.assert_array_equal(model.block_labels_, ["east", "west"])
        assert model.partition_.n_blocks == 2
        assert rmse(latent, model.predict(X, blocks=labels)) < 0.3
        assert not np.allclose(model.predict(X, blocks=labels), model.predict(X, blocks=labels[::-1]))

    def test_errors(self, waves):
        X, y, _ = waves
        model = quick(max_iter=5)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            model.fit(X, y, blocks=[1, 2])
        with pytest.raises(ValueError, match="n_blocks=2000 must be at most the number of rows, found 1500"):
            quick(n_blocks=2000).fit(X, y)
        with pytest.raises(ValueError, match="only where they were given to fit"):
            model.fit(X, y).predict(X, blocks=np.zeros(1500))
        model.fit(X, y, blocks=np.arange(1500) % 3)
        with pytest.raises(ValueError, match=r"label 7, which was not among the blocks in fit"):
            model.predict(X[:1], blocks=[7])
        with pytest.raises(ValueError, match=r"of several types, such as 0 \(int\), 'a' \(str\)"):
            model.fit(X, y, blocks=np.array([0, "a"] * 750, dtype=object))
        model.fit(X, y, blocks=np.array(["a", "b"] * 750, dtype=object))
        with pytest.raises(ValueError, match=r"labels such as 7, and those in fit were such as 'a'"):
            model.predict(X[:1], blocks=[7])

    def test_weightless_rows_leave_with_their_labels(self, waves):
        X, y, _ = waves
        labels, weight = np.arange(1500) % 3, (np.arange(1500) % 3 != 2).astype(float)
        assert quick(max_iter=5).fit(X, y, weight, blocks=labels).partition_.n_blocks == 2
