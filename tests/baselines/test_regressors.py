"""SSGP, VSSGP, DTC+, PIC+ and the exact GP: against each other, dense formulas and independent implementations."""

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import ssgp.baselines.exact
import ssgp.baselines.gaussian_regressor
import ssgp.baselines.lbfgs
import ssgp.baselines.pic
from helpers import dual_gp, squared_exponential, wavy
from ssgp import DTCRegressor, ExactGPRegressor, PICRegressor, SSGPRegressor, SVBSSGPRegressor, VSSGPRegressor
from ssgp.baselines.feature_maps import InducingMap, VariationalMap
from ssgp.baselines.linear_bound import WeightPosterior, feature_gradient
from ssgp.baselines.model import Model, RowLikelihood, sum_blocks
from ssgp.metrics import rmse
from ssgp.rows.blocks import Rows

QUICK = {
    "SSGP": SSGPRegressor(15, max_iter=60, n_restarts=2, random_state=0),
    "SSGP, fixed frequencies": SSGPRegressor(80, learn_frequencies=False, max_iter=40, random_state=0),
    "VSSGP": VSSGPRegressor(30, max_iter=80, random_state=0),
    "VSSGP, stochastic": VSSGPRegressor(30, batch_size=200, max_iter=600, random_state=0),
    "DTC+": DTCRegressor(40, batch_size=200, max_iter=300, random_state=0),
    "DTC+, all rows": DTCRegressor(40, batch_size=None, max_iter=40, random_state=0),
    "PIC+": PICRegressor(20, n_blocks=8, max_iter=500, random_state=0),
    "exact GP": ExactGPRegressor(random_state=0, learn_rows=300),
}
every = pytest.mark.parametrize("name", QUICK)


@pytest.fixture(scope="module")
def fitted():
    X, y, latent = wavy(900)
    return {name: model.fit(X[:700], y[:700]) for name, model in QUICK.items()}, X[700:], y[700:], latent[700:]


@every
def test_finds_a_smooth_function(fitted, name):
    models, X, y, latent = fitted
    model = models[name]
    mean, deviation = model.predict(X, return_std=True)
    assert rmse(latent, mean) < 0.05
    assert np.sqrt(model.noise_variance_) == pytest.approx(0.1, abs=0.03)
    assert np.mean(np.abs(y - mean) < 1.96 * deviation) == pytest.approx(0.95, abs=0.05)


@every
def test_everything_is_of_one_distribution(fitted, name):
    models, X, y, _ = fitted
    model = models[name]
    mean, deviation = model.predict(X, return_std=True)
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-6, atol=1e-8)
    low, high = model.predict_interval(X, 0.9).T
    np.testing.assert_allclose(high - low, 2 * 1.6448536 * deviation, rtol=1e-5)
    np.testing.assert_allclose(0.5 * (low + high), mean, atol=1e-6)
    np.testing.assert_allclose(
        model.log_prob(X, y), -0.5 * ((y - mean) / deviation) ** 2 - np.log(deviation * np.sqrt(2 * np.pi)), rtol=1e-6
    )
    _, latent = model.predict(X, return_std=True, latent=True)
    np.testing.assert_allclose(latent**2 + model.noise_variance_, deviation**2, rtol=1e-6)


@every
def test_units_do_not_matter(fitted, name):
    """A table in other units gives the same predictions in other units, to rounding and what ascents make of it."""
    models, X, *_ = fitted
    table, target, _ = wavy(900)
    other = QUICK[name].__class__(**QUICK[name].get_params()).fit(1e3 * table[:700] + 5e4, 1e-3 * target[:700] - 7.0)
    np.testing.assert_allclose((other.predict(1e3 * X + 5e4) + 7.0) * 1e3, models[name].predict(X), atol=0.03)


@pytest.mark.parametrize("name", [name for name in QUICK if name != "exact GP"])
def test_bounds_rise(fitted, name):
    model = fitted[0][name]
    assert model.n_iter_ == len(model.bound_trace_)
    # Lengthscales of fixed frequencies are there after the short runs that choose the start.
    if name != "SSGP, fixed frequencies":
        assert np.mean(model.bound_trace_[-5:]) > np.mean(model.bound_trace_[:5]) + 10.0 / 700


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


class TestPIC:
    def test_one_block_is_the_exact_process(self):
        X, y, _ = wavy(150)
        model = PICRegressor(10, n_blocks=1, max_iter=60, normalize=False, random_state=0).fit(X, y)
        new = wavy(40, seed=1)[0]
        arguments = (model.lengthscale_, model.signal_variance_)
        K, K_star = squared_exponential(X, X, *arguments), squared_exponential(new, X, *arguments)
        mean, variance = dual_gp(K, K_star, np.full(40, model.signal_variance_), y, model.noise_variance_)
        found, latent = model.predict(new, return_std=True, latent=True)
        np.testing.assert_allclose(found, mean, atol=2e-4)
        np.testing.assert_allclose(latent**2, variance, atol=2e-4)

    @pytest.mark.parametrize("n_blocks", [6, 150], ids=["blocks", "rows"])
    def test_against_dense_formulas(self, n_blocks):
        """Training covariance Q + blockdiag(K - Q) + noise, and a test row covaries exactly with its own block."""
        X, y, _ = wavy(150)
        model = PICRegressor(12, n_blocks=n_blocks, max_iter=40, normalize=False, random_state=0).fit(X, y)
        new = wavy(40, seed=1)[0]
        arguments, U = (model.lengthscale_, model.signal_variance_), model.inducing_inputs_
        units = model._units
        own, theirs = (model.partition_.assign(units.inputs(A)) for A in (new, X))
        Kuu = squared_exponential(U, U, *arguments) + 1e-6 * model.signal_variance_ * np.eye(len(U))

        def nystrom(A, B):
            Ka, Kb = squared_exponential(A, U, *arguments), squared_exponential(B, U, *arguments)
            return Ka @ np.linalg.solve(Kuu, Kb.T)

        def pic(A, B, same):
            return np.where(same, squared_exponential(A, B, *arguments), nystrom(A, B))

        K = pic(X, X, theirs[:, None] == theirs)
        K_star = pic(new, X, own[:, None] == theirs)
        mean, variance = dual_gp(K, K_star, np.full(40, model.signal_variance_), y, model.noise_variance_)
        found, latent = model.predict(new, return_std=True, latent=True)
        np.testing.assert_allclose(found, mean, atol=1e-3)
        np.testing.assert_allclose(latent**2, variance, atol=1e-3)

    def test_without_the_correction_is_dtc(self, rng):
        """Where inducing inputs are the training rows there is nothing left to correct."""
        X, y, _ = wavy(40)
        rows = Rows(X, y, None, np.array([0, 20, 40]))
        features = InducingMap(X, np.zeros(2), 0.0)
        model = Model(features, -3.0)
        from ssgp.baselines.block_likelihood import BlockLikelihood

        pic, dtc = (
            WeightPosterior.best(sum_blocks(rows, model, kind, 1))[0] for kind in (BlockLikelihood, RowLikelihood)
        )
        new = rng.normal(size=(10, 2))
        np.testing.assert_allclose(features.inducing(new) @ pic.mean, features.inducing(new) @ dtc.mean, atol=1e-3)

    def test_more_blocks_than_rows_are_refused(self):
        with pytest.raises(ValueError, match="n_blocks=30 must be at most the number of rows, found 20"):
            PICRegressor(5, n_blocks=30).fit(*wavy(20)[:2])


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


def test_vssgp_is_svbssgp_with_a_factorised_posterior():
    """At gamma = 1, E phi(x)^T s over independent frequencies and weights is closed form; draws agree with it."""
    X, y, _ = wavy(400)
    model = SVBSSGPRegressor(
        6, posterior="diagonal", gamma=1.0, n_draws=4000, max_iter=150, n_blocks=2, normalize=False, random_state=0
    ).fit(X, y)
    shift, scale = model.posterior_.shift, np.asarray(model.posterior_.scale)
    centre, weights = model.posterior_.split(shift)
    deviation, weight_scale = model.posterior_.split(scale if scale.ndim == 1 else np.diagonal(scale))
    features = VariationalMap(
        mean=2 * np.pi * np.tile(centre, (2, 1)),
        log_deviation=np.log(2 * np.pi * np.tile(np.abs(deviation), (2, 1))),
        origin=np.zeros((12, 2)),
        phase=np.repeat([0.0, -0.5 * np.pi], 6),
        width_logit=np.full(12, -20.0),
        log_lengthscale=np.zeros(2),
        log_signal=float(np.log(6.0)),
    )
    new = wavy(25, seed=1)[0]
    moments = features.moments(new - model.input_mean_)
    expected = moments.mean @ weights
    second = moments.mean**2 + (moments.variance if moments.variance is not None else 0.0)
    spread = np.sqrt(second @ (weight_scale**2 + weights**2))
    np.testing.assert_array_less(np.abs(model.predict(new) - expected), 5 * spread / np.sqrt(4000) + 1e-6)


class TestSSGP:
    def test_learned_frequencies_are_in_cycles(self):
        """A pure wave of frequency 0.7 is found."""
        X = np.linspace(0, 20, 400)[:, None]
        y = np.sin(2 * np.pi * 0.7 * X[:, 0]) + 0.01 * np.random.default_rng(0).normal(size=400)
        model = SSGPRegressor(5, n_restarts=20, random_state=0, lengthscale=0.3).fit(X, y)
        assert np.abs(np.abs(model.frequencies_) - 0.7).min() < 0.01

    def test_restarts_can_only_help_the_start(self):
        X, y, _ = wavy(300)
        one, many = (SSGPRegressor(5, n_restarts=k, max_iter=1, random_state=0).fit(X, y).bound_ for k in (1, 8))
        assert many > one

    def test_fixed_frequencies_stay_the_draw(self):
        X, y, _ = wavy(200)
        models = [SSGPRegressor(10, learn_frequencies=False, n_restarts=1, max_iter=k, random_state=0) for k in (1, 30)]
        first, last = (m.fit(X, y).frequencies_ * m.lengthscale_ for m in models)
        np.testing.assert_allclose(first, last, rtol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        SSGPRegressor(5, n_restarts=1, max_iter=50, random_state=0),
        VSSGPRegressor(5, batch_size=50, max_iter=50, random_state=0),
        PICRegressor(5, max_iter=50, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
class TestSteps:
    def test_a_monitor_sees_models_and_stops(self, model):
        X, y, _ = wavy(150)
        seen = []

        def monitor(n_iter, snapshot):
            if n_iter == 3:
                seen.append(snapshot().predict(X[:5]))
            return n_iter == 5

        model = model.__class__(**model.get_params()).fit(X, y, monitor=monitor)
        assert model.n_iter_ == 5
        assert np.isfinite(seen[0]).all()

    def test_an_interrupt_leaves_a_model(self, model):
        X, y, _ = wavy(150)

        def monitor(n_iter, snapshot):
            if n_iter == 4:
                raise KeyboardInterrupt

        model = model.__class__(**model.get_params())
        with pytest.warns(ConvergenceWarning, match="after 4 of at most 50 steps"):
            model.fit(X, y, monitor=monitor)
        assert model.n_iter_ == 4
        assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("n_evaluations", [3, 40])
def test_an_interrupt_while_starts_compete_leaves_the_best_so_far(n_evaluations, monkeypatch):
    X, y, _ = wavy(150)
    whole, calls = ssgp.baselines.lbfgs.collapsed_bound, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) > n_evaluations:
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(ssgp.baselines.lbfgs, "collapsed_bound", interrupted)
    model = SSGPRegressor(10, n_restarts=4, random_state=0)
    with pytest.warns(ConvergenceWarning, match="interrupted after 0 of at most"):
        model.fit(X, y)
    assert model.score(X, y) > (0.9 if n_evaluations == 40 else 0.0)


@pytest.mark.parametrize("n_looks", [1, 20])
def test_a_monitor_ends_the_competition_of_starts(n_looks):
    X, y, _ = wavy(150)
    errors = []

    def monitor(n_iter, snapshot):
        assert n_iter == 0
        errors.append(snapshot().score(X, y))
        return len(errors) == n_looks

    model = SSGPRegressor(10, n_restarts=4, random_state=0).fit(X, y, monitor=monitor)
    assert len(errors) == n_looks
    assert model.n_iter_ == 0
    assert model.score(X, y) == pytest.approx(max(errors), abs=0.02)


def test_a_start_that_is_the_best_there_is_counts():
    X = np.linspace(0, 6, 200)[:, None]
    for seed in range(3):
        model = SSGPRegressor(10, random_state=seed).fit(X, np.sin(X[:, 0]))
        np.testing.assert_allclose(model.predict(X), np.sin(X[:, 0]), atol=1e-3)


def test_pic_factorises_a_block_once_for_many_rows(fitted, monkeypatch):
    model, X = fitted[0]["PIC+"], np.tile(fitted[1], (100, 1))
    assert len(X) > ssgp.baselines.gaussian_regressor.ROWS_PER_CHUNK
    solved, solve = [], ssgp.baselines.pic.solve_block
    monkeypatch.setattr(ssgp.baselines.pic, "solve_block", lambda *given: solved.append(1) or solve(*given))
    mean = model.predict(X)
    assert len(solved) <= model.partition_.n_blocks
    np.testing.assert_allclose(mean[-len(fitted[1]) :], model.predict(fitted[1]), rtol=1e-10)


def test_pic_predicts_some_rows_of_a_block_at_a_time(fitted, monkeypatch):
    models, X, *_ = fitted
    whole = models["PIC+"].predict(X, return_std=True)
    monkeypatch.setattr(ssgp.baselines.pic, "ROWS_PER_TASK", 7)
    np.testing.assert_allclose(models["PIC+"].predict(X, return_std=True), whole, rtol=1e-9)


def test_the_exact_process_holds_few_covariances_at_once(fitted, monkeypatch):
    model, X = fitted[0]["exact GP"], fitted[1]
    whole = model.predict(X, return_std=True)
    monkeypatch.setattr(ssgp.baselines.exact, "COVARIANCES_PER_CHUNK", 7 * model.n_rows_)
    np.testing.assert_allclose(model.predict(X, return_std=True), whole, rtol=1e-8)


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


FAR = {
    "exact GP": ExactGPRegressor(normalize=False, random_state=0),
    "SSGP": SSGPRegressor(10, n_restarts=1, normalize=False, random_state=0),
}


@pytest.mark.parametrize("name", FAR)
def test_noise_is_learned_beside_a_target_that_is_not_centred(name):
    """Its deviation is a quarter of a thousandth of the target's mean."""
    X, y, _ = wavy(300, noise=0.05)
    assert FAR[name].fit(X, 200 + y).noise_variance_ == pytest.approx(0.05**2, rel=0.3)


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
@pytest.mark.parametrize("name", FAR)
def test_a_target_too_far_from_zero_is_told(name):
    X, y, _ = wavy(100)
    far = 5000 + y
    away = f"the target is {np.sqrt(np.mean(far**2)) / np.std(far):,.0f} of its deviations from zero"
    with pytest.warns(UserWarning, match=away) as told:
        FAR[name].fit(X, far)
    assert any(warning.filename == __file__ for warning in told)


@pytest.mark.parametrize("batch_size", [None, 50])
def test_the_floor_of_the_noise_follows_the_variance_of_the_target(batch_size):
    X, y, _ = wavy(100)
    for offset in (0.0, 3.0):
        target = offset + y
        model = DTCRegressor(5, batch_size=batch_size, max_iter=1, normalize=False, random_state=0).fit(X, target)
        share = np.exp(model._model.least_log_noise) * np.mean(target**2) / np.var(target)
        assert share == pytest.approx(np.exp(-14.0), rel=1e-4)


@pytest.mark.parametrize("model", [SSGPRegressor(10, n_restarts=1), DTCRegressor(20, batch_size=None)], ids=repr)
def test_models_on_the_way_that_cannot_be_evaluated_are_told(model, monkeypatch):
    X, y, _ = wavy(150)
    best, calls = WeightPosterior.best, []

    def fragile(sums):
        calls.append(1)
        if len(calls) == 2:
            raise np.linalg.LinAlgError("not positive definite")
        return best(sums)

    monkeypatch.setattr(WeightPosterior, "best", fragile)
    with pytest.warns(ConvergenceWarning, match="1 of the models on the way cannot be evaluated"):
        model.set_params(random_state=0).fit(X, y)
    assert model.n_iter_ > 10
    assert model.score(X, y) > 0.9
