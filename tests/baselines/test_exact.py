"""The exact process, against scikit-learn's and dense formulas."""

from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import ssgp.baselines.exact
from helpers import dual_gp, squared_exponential, wavy
from ssgp import ExactGPRegressor


class TestExactGP:
    def test_is_scikit_learns(self):
        X, y, _ = wavy(120)
        model = ExactGPRegressor(normalize=False, random_state=0).fit(X, y)
        process: Any = GaussianProcessRegressor
        lengthscale: Any = model.lengthscale_
        kernel = ConstantKernel(model.signal_variance_) * RBF(lengthscale)
        other = process(kernel, alpha=model.noise_variance_, optimizer=None).fit(X, y)
        new = wavy(50, seed=1)[0]
        mean, deviation = other.predict(new, return_std=True)
        found, latent = model.predict(new, return_std=True, latent=True)
        np.testing.assert_allclose(found, mean, atol=1e-5)
        np.testing.assert_allclose(latent, deviation, atol=1e-4)
        assert model.bound_ == pytest.approx(other.log_marginal_likelihood_value_, abs=1e-2)

    @pytest.mark.slow
    def test_weights_are_rows_repeated(self):
        X, y, _ = wavy(60)
        weight = np.tile([1.0, 2.0, 3.0], 20)
        model = ExactGPRegressor(normalize=False, random_state=0).fit(X, y, weight)
        repeated = np.repeat(np.arange(60), weight.astype(int))
        K = [squared_exponential(A, B, model.lengthscale_, model.signal_variance_) for A, B in
             ((X[repeated], X[repeated]), (X[:9], X[repeated]))]  # fmt: skip
        mean, _ = dual_gp(K[0], K[1], np.full(9, model.signal_variance_), y[repeated], model.noise_variance_)
        np.testing.assert_allclose(model.predict(X[:9]), mean, atol=1e-4)

    def test_too_many_rows_are_refused(self):
        with pytest.raises(ValueError, match=r"120 rows .* max_rows is 100"):
            ExactGPRegressor(max_rows=100).fit(*wavy(120)[:2])


@pytest.mark.slow
def test_few_covariances_are_held_at_once(monkeypatch):
    X, y, _ = wavy(300)
    model = ExactGPRegressor(random_state=0).fit(X[:200], y[:200])
    whole = model.predict(X, return_std=True)
    monkeypatch.setattr(ssgp.baselines.exact, "COVARIANCES_PER_CHUNK", 7 * model.n_rows_)
    np.testing.assert_allclose(model.predict(X, return_std=True), whole, rtol=1e-8)
