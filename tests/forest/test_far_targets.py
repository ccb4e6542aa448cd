"""One enormous target among thousands does not spoil what is learned of the others."""

import re

import numpy as np
import pytest

from ssgp import DTCRegressor, SpectralForestRegressor

QUICK = {"n_trees": 4, "max_iter": 100, "random_state": 0}


def drawn(n_rows, rng):
    X = rng.normal(size=(n_rows, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n_rows)


@pytest.mark.parametrize("far", [*(pytest.param(far, marks=pytest.mark.slow) for far in (1e9, -1e5)), 300.0])
@pytest.mark.parametrize("model", [SpectralForestRegressor(**QUICK), DTCRegressor(20, max_iter=100, random_state=0)])
def test_others_are_predicted_as_without_it(model, far, rng):
    (X, y), (new_X, new_y) = drawn(1000, rng), drawn(2000, rng)
    before = np.sqrt(np.mean((model.fit(X, y).predict(new_X) - new_y) ** 2))
    log_density = model.log_prob(new_X, new_y).mean()
    y[17] = far
    with pytest.warns(UserWarning, match=re.escape(f"y has values that are far from all others, {far:.6g} in row 17:")):
        model.fit(X, y)
    assert np.sqrt(np.mean((model.predict(new_X) - new_y) ** 2)) < 1.05 * before
    assert model.log_prob(new_X, new_y).mean() > log_density - 0.1


@pytest.mark.slow
@pytest.mark.parametrize("row", [3, 500])
def test_in_batches_as_in_memory(row, rng, monkeypatch):
    """Whether the row is among those that are sampled or not."""
    for name in ("LEAST_SAMPLED", "MOST_SAMPLED"):
        monkeypatch.setattr(f"ssgp.forest.sizes.{name}", 300)
    X, y = drawn(600, rng)
    y[row] = 1e9
    with pytest.warns(UserWarning, match="far from all others, 1e\\+09"):
        one = SpectralForestRegressor(**QUICK).fit(X, y)
    with pytest.warns(UserWarning, match="far from all others, 1e\\+09"):
        other = SpectralForestRegressor(**QUICK).fit_batches([(X[:250], y[:250]), (X[250:], y[250:])])
    np.testing.assert_array_equal(one.predict_interval(X), other.predict_interval(X))


def test_it_is_kept_in_the_file(rng, tmp_path):
    import ssgp

    X, y = drawn(300, rng)
    y[17] = 1e9
    with pytest.warns(UserWarning, match="far from all others"):
        model = SpectralForestRegressor(**QUICK).fit(X, y)
    model.save(tmp_path / "m")
    loaded = ssgp.load(tmp_path / "m")
    more = np.array([[0.0, 0.0, 0.0]]), np.array([1e9])
    np.testing.assert_array_equal(loaded.partial_fit(*more).predict(X), model.partial_fit(*more).predict(X))
    assert np.abs(loaded.predict(X)).max() < 10
