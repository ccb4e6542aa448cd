"""What SSGP, VSSGP, DTC+, PIC+ and the exact process have in common."""

from typing import Any, cast

import numpy as np
import pytest
from sklearn import clone
from sklearn.exceptions import ConvergenceWarning

from helpers import cut_short, wavy
from ssgp import DTCRegressor, ExactGPRegressor, PICRegressor, SSGPRegressor, VSSGPRegressor
from ssgp.baselines.linear_bound import WeightPosterior
from ssgp.metrics import rmse

pytestmark = pytest.mark.slow

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


@pytest.fixture(scope="module")
def rows():
    """Rows to learn from, and rows to predict with the function itself."""
    X, y, latent = wavy(900)
    return (X[:700], y[:700]), (X[700:], y[700:], latent[700:])


@pytest.fixture(scope="module", params=QUICK)
def fitted(request, rows):
    """Name of a method, and its model."""
    return request.param, QUICK[request.param].fit(*rows[0])


def test_finds_a_smooth_function(fitted, rows):
    (_, model), (X, y, latent) = fitted, rows[1]
    mean, deviation = model.predict(X, return_std=True)
    assert rmse(latent, mean) < 0.05
    assert np.sqrt(model.noise_variance_) == pytest.approx(0.1, abs=0.03)
    assert np.mean(np.abs(y - mean) < 1.96 * deviation) == pytest.approx(0.95, abs=0.05)


def test_everything_is_of_one_distribution(fitted, rows):
    (_, model), (X, y, _) = fitted, rows[1]
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


def test_units_do_not_matter(fitted, rows):
    """A table in other units gives the same predictions in other units, to rounding and what ascents make of it."""
    (_, model), ((X, y), (new, *_)) = fitted, rows
    other = cast(Any, clone(model)).fit(1e3 * X + 5e4, 1e-3 * y - 7.0)
    np.testing.assert_allclose((other.predict(1e3 * new + 5e4) + 7.0) * 1e3, model.predict(new), atol=0.03)


def test_bounds_rise(fitted):
    name, model = fitted
    if name == "exact GP":
        assert model.bound_ > 0
        return
    assert model.n_iter_ == len(model.bound_trace_)
    # Lengthscales of fixed frequencies are there after the short runs that choose the start.
    if name != "SSGP, fixed frequencies":
        assert np.mean(model.bound_trace_[-5:]) > np.mean(model.bound_trace_[:5]) + 10.0 / 700


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
        with cut_short("after 4 of at most 50 steps"):
            model.fit(X, y, monitor=monitor)
        assert model.n_iter_ == 4
        assert np.isfinite(model.predict(X)).all()


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
