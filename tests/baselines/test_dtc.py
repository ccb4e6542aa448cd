"""DTC+, against the exact process and an independent implementation."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from helpers import dual_gp, squared_exponential, wavy
from ssgp import DTCRegressor
from ssgp.baselines.feature_maps import InducingMap
from ssgp.baselines.linear_bound import WeightPosterior, feature_gradient
from ssgp.baselines.model import Model
from ssgp.rows.blocks import Rows


class TestDTC:
    def test_with_every_row_inducing_is_the_exact_process(self):
        X, y, _ = wavy(60)
        model = DTCRegressor(60, batch_size=None, max_iter=1, normalize=False, random_state=0).fit(X, y)
        new = wavy(30, seed=1)[0]
        arguments = (model.lengthscale_, model.signal_variance_)
        K, K_star = squared_exponential(X, X, *arguments), squared_exponential(new, X, *arguments)
        mean, variance = dual_gp(K, K_star, np.full(30, model.signal_variance_), y, model.noise_variance_)
        found, latent = model.predict(new, return_std=True, latent=True)
        np.testing.assert_allclose(found, mean, atol=5e-3)
        np.testing.assert_allclose(latent**2, variance, atol=5e-3)

    def test_fewer_different_rows_than_inducing_inputs(self):
        X = np.repeat(np.arange(5.0), 8)[:, None]
        model = DTCRegressor(20, max_iter=20, random_state=0).fit(X, np.sin(X[:, 0]))
        assert model.inducing_inputs_.shape == (5, 1)
        assert np.isfinite(model.predict(X)).all()

    def test_bound_and_predictions_are_gpytorchs(self, rng):
        """Given the same inducing inputs, hyperparameters and q(u)."""
        torch = pytest.importorskip("torch", reason="the peers extra is not installed")
        gpytorch = pytest.importorskip("gpytorch", reason="the peers extra is not installed")
        X, y, _ = wavy(80)
        places, lengths, signal, noise = X[:12], np.array([0.8, 1.3]), 1.7, 0.05
        model = Model(InducingMap(places, np.log(lengths), float(np.log(signal))), float(np.log(noise)))
        root = np.tril(rng.normal(size=(12, 12))) / 5 + np.eye(12) / 3
        q = WeightPosterior(rng.normal(size=12), root @ root.T)
        moments = model.features.moments(X)
        rows = Rows(X, y, None, np.array([0, 80]))
        bound = feature_gradient(moments, rows.part(slice(None)), q, noise)[0] - q.divergence()

        class Peer(gpytorch.models.ApproximateGP):
            def __init__(self):
                distribution = gpytorch.variational.CholeskyVariationalDistribution(12)
                strategy = gpytorch.variational.VariationalStrategy(
                    self, torch.tensor(places), distribution, learn_inducing_locations=False, jitter_val=1e-6 * signal
                )
                super().__init__(strategy)
                self.mean = gpytorch.means.ZeroMean()
                self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=2))

            def forward(self, x):
                return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

        peer, likelihood = Peer().double(), gpytorch.likelihoods.GaussianLikelihood().double()
        peer.kernel.base_kernel.lengthscale, peer.kernel.outputscale = torch.tensor(lengths), torch.tensor(signal)
        likelihood.noise = torch.tensor(noise)
        peer.variational_strategy.variational_params_initialized.fill_(1)
        distribution = peer.variational_strategy._variational_distribution
        distribution.variational_mean.data = torch.tensor(q.mean)
        distribution.chol_variational_covar.data = torch.tensor(root)
        with torch.no_grad():
            peer.train()
            loss = gpytorch.mlls.VariationalELBO(likelihood, peer, num_data=80)
            theirs = float(loss(peer(torch.tensor(X)), torch.tensor(y))) * 80
            peer.eval()
            said = peer(torch.tensor(X))
        mean, variance = q.predict(moments)
        np.testing.assert_allclose(mean, said.mean.numpy(), atol=1e-4)
        np.testing.assert_allclose(variance, said.variance.numpy(), atol=1e-4)
        assert bound == pytest.approx(theirs, rel=1e-4)


def test_steps_that_fail_are_told(monkeypatch):
    X, y, _ = wavy(150)
    moments, calls = InducingMap.moments, []

    def fragile(self, X):
        calls.append(1)
        if len(calls) == 10:
            raise np.linalg.LinAlgError("not positive definite")
        return moments(self, X)

    monkeypatch.setattr(InducingMap, "moments", fragile)
    with pytest.warns(ConvergenceWarning, match="1 of at most 50 steps led to models that cannot be evaluated"):
        model = DTCRegressor(20, batch_size=50, max_iter=50, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [None, 50])
def test_the_floor_of_the_noise_follows_the_variance_of_the_target(batch_size):
    X, y, _ = wavy(100)
    for offset in (0.0, 3.0):
        target = offset + y
        model = DTCRegressor(5, batch_size=batch_size, max_iter=1, normalize=False, random_state=0).fit(X, target)
        share = np.exp(model._model.least_log_noise) * np.mean(target**2) / np.var(target)
        assert share == pytest.approx(np.exp(-14.0), rel=1e-4)
