"""The methods that all regressors share, against the predictive distribution that they are of."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from helpers import small_forest, wavy
from ssgp import DTCRegressor, SVBSSGPRegressor
from ssgp.distributions.regressor import ROWS_PER_TASK

MODELS = {
    "with blocks": SVBSSGPRegressor(8, max_iter=60, n_blocks=4, random_state=0),
    "with one noise": DTCRegressor(10, max_iter=20, random_state=0),
}


@pytest.fixture(scope="module", params=MODELS.values(), ids=list(MODELS))
def fitted(request):
    X, y, _ = wavy(400)
    return request.param.fit(X[:300], y[:300]), X[300:], y[300:]


@pytest.mark.parametrize("how", [{}, {"latent": True}], ids=["observations", "latent"])
def test_all_is_of_the_normal_distribution_that_predict_gives(fitted, how):
    model, X, y = fitted
    said: Any = norm(*model.predict(X, return_std=True, **how))
    levels = [0.01, 0.3, 0.9]
    np.testing.assert_allclose(
        model.predict_quantiles(X, levels, **how), np.transpose([said.ppf(level) for level in levels])
    )
    np.testing.assert_allclose(model.predict_interval(X, 0.8, **how), np.transpose(said.interval(0.8)))
    np.testing.assert_allclose(model.log_prob(X, y, **how), said.logpdf(y))
    np.testing.assert_allclose(model.cdf(X, y, **how), said.cdf(y))


def test_draws_have_its_moments(fitted):
    model, X, _ = fitted
    mean, deviation = model.predict(X, return_std=True)
    draws = model.sample_y(X, 4000)
    assert draws.shape == (len(X), 4000)
    z = (draws - mean[:, None]) / deviation[:, None]
    np.testing.assert_allclose(z.mean(axis=1), 0.0, atol=6 / np.sqrt(4000))
    np.testing.assert_allclose(z.std(axis=1), 1.0, atol=0.08)
    np.testing.assert_array_equal(draws, model.sample_y(X, 4000))


def test_another_test_conditional():
    X, y, _ = wavy(300)
    model = SVBSSGPRegressor(8, max_iter=60, n_blocks=4, random_state=0).fit(X, y)
    said = norm(*model.predict(X, return_std=True, gamma=1.0))
    np.testing.assert_allclose(model.cdf(X, y, gamma=1.0), said.cdf(y))
    assert not np.allclose(model.cdf(X, y), said.cdf(y))


def test_targets_that_do_not_fit(fitted):
    model, X, y = fitted
    with pytest.raises(ValueError, match="inconsistent"):
        model.cdf(X, y[:-1])


@pytest.mark.slow
def test_answers_about_many_rows_do_not_depend_on_threads():
    """More rows than one thread is given at a time."""
    X, y, _ = wavy(2 * ROWS_PER_TASK + 100)
    model = small_forest(max_iter=20).fit(X[:1000], y[:1000])
    for ask, rows in (("predict_quantiles", (X,)), ("predict_interval", (X,)), ("log_prob", (X, y)), ("cdf", (X, y))):
        alone, together = (getattr(model.set_params(n_jobs=jobs), ask)(*rows) for jobs in (1, 2))
        assert len(alone) == len(X)
        np.testing.assert_array_equal(alone, together)
