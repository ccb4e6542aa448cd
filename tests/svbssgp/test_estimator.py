import signal

import numpy as np
import pytest

from helpers import cut_short, quick, wavy
from posteriors import Shifted
from ssgp import SVBSSGPRegressor
from ssgp.metrics import coverage, log_score, rmse


@pytest.mark.slow
def test_recovers_known_frequencies_and_noise(rng):
    """Two waves of known frequency and noise of deviation 0.2, from 4,000 rows."""
    X = rng.uniform(-1, 1, size=(4000, 1))
    y = np.sin(2 * np.pi * 0.8 * X[:, 0]) + np.cos(2 * np.pi * 2.5 * X[:, 0]) + 0.2 * rng.normal(size=4000)
    model = SVBSSGPRegressor(n_frequencies=12, lengthscale=0.1, gamma=1.0, random_state=0).fit(X, y)
    frequencies, weights = model.posterior_.split(model.posterior_.shift[None])
    power = np.hypot(weights[0, :12], weights[0, 12:])
    carriers = np.abs(frequencies[0, :, 0])[power > 0.3 * power.max()]
    for known in (0.8, 2.5):
        assert np.abs(carriers - known).min() < 0.1
    assert np.sqrt(model.noise_variance_) == pytest.approx(0.2, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["global", "local"])
def test_predicts_a_smooth_function_and_knows_how_well(objective, waves, rng):
    X, y, _ = waves
    model = quick(objective=objective, max_iter=2500, n_draws=10).fit(X, y)
    X_new = rng.uniform(-1.9, 1.9, size=(2000, 2))
    latent = np.sin(2 * X_new[:, 0]) + np.cos(1.5 * X_new[:, 1])
    y_new = latent + 0.1 * rng.normal(size=2000)
    predicted = model.predict_distribution(X_new)
    assert rmse(latent, predicted.mean()) < 0.06
    assert 0.9 < coverage(y_new, predicted) < 0.99
    assert log_score(y_new, predicted) < -0.6


@pytest.mark.slow
@pytest.mark.parametrize("posterior", ["full", "triangular", "block", "diagonal"])
@pytest.mark.parametrize("base", ["normal", "student-t", "laplace", "logistic"])
def test_every_posterior_and_base_learns(posterior, base, waves):
    X, y, latent = waves
    model = quick(posterior=posterior, base=base, gamma=0.5).fit(X, y)
    assert rmse(latent, model.predict(X)) < 0.3 * latent.std()


class UsersBase(Shifted):
    def score(self, z):
        step = 1e-6
        return np.stack(
            [
                (self.log_density(z + step * e) - self.log_density(z - step * e)) / (2 * step)
                for e in np.eye(z.shape[-1])
            ],
            axis=-1,
        )


@pytest.mark.slow
@pytest.mark.parametrize("posterior", ["full", "triangular"])
def test_a_users_base_learns(posterior, waves):
    X, y, latent = waves
    model = quick(posterior=posterior, base=UsersBase()).fit(X, y)
    assert rmse(latent, model.predict(X)) < 0.3 * latent.std()
    model.partial_fit(X, y)
    assert model.n_rows_ == 2 * len(y)
    assert rmse(latent, model.predict(X)) < 0.3 * latent.std()


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"minibatch": "blocks", "n_blocks": 5, "blocks_per_step": 2, "draws_per_step": 3},
        {"minibatch": "blocks", "n_blocks": 5, "partition_metric": "standardized", "partition": "tree"},
        {"optimizer": "robbins-monro", "max_iter": 2000},
        {"posterior": "block", "base": "laplace"},
        {"normalize": False},
        {"learn_hyperparameters": False, "noise_variance": 0.01, "signal_variance": 1.0, "lengthscale": 1.0},
        {"n_blocks": 20, "partition": "kmeans"},
        {"batch_size": 50},
    ],
    ids=str,
)
def test_every_part_of_the_framework_learns(settings, waves):
    X, y, latent = waves
    model = quick(**settings).fit(X, y)
    assert rmse(latent, model.predict(X)) < 0.4 * latent.std()
    assert model.bound_trace_[-100:].mean() > model.bound_trace_[:20].mean()


def test_fixed_hyperparameters_stay(waves):
    X, y, _ = waves
    model = quick(
        learn_hyperparameters=False, lengthscale=[0.7, 1.3], signal_variance=2.0, noise_variance=0.04, max_iter=20
    ).fit(X, y)
    np.testing.assert_allclose(model.lengthscale_, [0.7, 1.3], rtol=1e-5)
    assert (model.signal_variance_, model.noise_variance_) == pytest.approx((2.0, 0.04), rel=1e-5)


def test_tiny_fixed_hyperparameters_stay(waves):
    X, y, _ = waves
    model = quick(max_iter=3, learn_hyperparameters=False, noise_variance=1e-9, lengthscale=1e-5).fit(X, y)
    assert model.noise_variance_ == pytest.approx(1e-9, rel=1e-4)
    np.testing.assert_allclose(model.lengthscale_, 1e-5, rtol=1e-4)


def test_the_bound_is_of_the_targets_own_density(waves):
    """Another unit of the target is a change of variables: the log of the ratio for each row."""
    X, y, _ = waves
    bound = quick(max_iter=20).fit(X, y).bound_trace_
    scaled = quick(max_iter=20).fit(X, 1e5 * y).bound_trace_
    np.testing.assert_allclose(bound - scaled, np.log(1e5), rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("x_unit", [1e-3, 1.0, 1e3])
def test_without_normalisation_units_do_not_matter_either(x_unit, waves):
    X, y, latent = waves
    model = quick(normalize=False).fit(x_unit * X, 1e4 * y)
    predicted = model.predict_distribution(x_unit * X)
    assert model.target_mean_ == 0.0
    assert rmse(1e4 * latent, predicted.mean()) < 1e4 * 0.1
    assert 0.9 < coverage(1e4 * y, predicted) < 0.99


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_the_local_objective_learns_where_there_is_hardly_any_noise(noise, waves, rng):
    """No step is lost to a matrix that float32 sums leave indefinite: that would be a warning, here an error."""
    X, _, latent = waves
    y = latent + noise * rng.normal(size=1500)
    model = quick(objective="local", n_frequencies=20, max_iter=1500).fit(X, y)
    assert rmse(latent, model.predict(X)) < 5e-3


def test_an_input_that_does_not_matter_does_not_cut_blocks(rng):
    """The default partition follows the function: blocks are stacked along the one input that matters."""
    X = rng.uniform(-1, 1, size=(3000, 2))
    y = np.sin(6 * X[:, 0]) + 0.05 * rng.normal(size=3000)
    spreads = {}
    for metric in ("learned", "standardized"):
        model = quick(n_blocks=16, partition="tree", partition_metric=metric).fit(X, y)
        at = model.partition_.assign(model._context.units.inputs(X))
        spreads[metric] = np.mean([X[at == k, 0].std() for k in range(16)])
    assert spreads["learned"] < 0.5 * spreads["standardized"]


def test_gamma_one_is_the_posterior_mean_function(waves):
    """Predictions at gamma = 1 follow from the published posterior alone."""
    X, y, _ = waves
    model = quick(max_iter=300, n_draws=200).fit(X, y)
    draws = model.posterior_.sample(4000, np.random.default_rng(3))
    frequencies, weights = model.posterior_.split(draws)
    phase = 2 * np.pi * np.einsum("nd,rmd->rnm", X[:7] - model.input_mean_, frequencies)
    latent = np.einsum("rnm,rm->rn", np.concatenate([np.cos(phase), np.sin(phase)], axis=2), weights)
    latent += model.target_mean_
    mean, std = model.predict(X[:7], return_std=True, gamma=1.0, latent=True)
    np.testing.assert_allclose(mean, latent.mean(axis=0), atol=6 * latent.std(axis=0).max() / np.sqrt(200))
    np.testing.assert_allclose(std, latent.std(axis=0), rtol=0.35)


def test_std_is_an_observations_and_latent_leaves_the_noise_out(waves):
    X, y, _ = waves
    model = quick(max_iter=200).fit(X, y)
    _, noisy = model.predict(X, return_std=True)
    _, latent = model.predict(X, return_std=True, latent=True)
    np.testing.assert_allclose(noisy**2 - latent**2, model.noise_variance_, rtol=1e-6)


def test_units_change_nothing(waves):
    """Inputs and target in other units: the same predictions, in those units."""
    X, y, _ = waves
    mean, std = quick().fit(X, y).predict(X[:50], return_std=True)
    scale, offset = np.array([1e-9, 1e7]), np.array([3.0, -4e9])
    other = quick().fit(X * scale + offset, 1e5 * y - 1e6)
    other_mean, other_std = other.predict(X[:50] * scale + offset, return_std=True)
    np.testing.assert_allclose((other_mean + 1e6) / 1e5, mean, atol=5e-3)
    np.testing.assert_allclose(other_std / 1e5, std, rtol=5e-2)


class TestSameSeedSameAnswer:
    @pytest.mark.slow
    @pytest.mark.parametrize("objective", ["global", "local"])
    def test_on_one_thread_or_many(self, objective, waves):
        X, y, _ = waves
        settings = {"max_iter": 100, "n_blocks": 12, "objective": objective}
        one = quick(n_jobs=1, **settings).fit(X, y).predict(X, return_std=True)
        for n_jobs in (1, 2, None):
            again = quick(n_jobs=n_jobs, **settings).fit(X, y).predict(X, return_std=True)
            np.testing.assert_array_equal(one, again)

    def test_another_seed_another_answer(self, waves):
        X, y, _ = waves
        other = quick(max_iter=50, random_state=1).fit(X, y).predict(X)
        assert not np.allclose(quick(max_iter=50).fit(X, y).predict(X), other)

    @pytest.mark.slow
    def test_rows_alone_or_together(self, waves):
        X, y, _ = waves
        model = quick(max_iter=50, n_blocks=10).fit(X, y)
        together = model.predict(X[:100])
        np.testing.assert_array_equal(together, [model.predict(X[i : i + 1])[0] for i in range(100)])


class TestStopping:
    @pytest.mark.slow
    def test_early_on_a_plateau(self, rng):
        X = rng.normal(size=(300, 1))
        model = quick(max_iter=20_000, tol=1e-2).fit(X, rng.normal(size=300))
        assert model.n_iter_ < 10_000
        assert len(model.bound_trace_) == model.n_iter_

    @pytest.mark.slow
    def test_never_early_without_a_tolerance(self, rng):
        X = rng.normal(size=(50, 1))
        assert quick(max_iter=900, tol=None).fit(X, X[:, 0]).n_iter_ == 900

    def test_ctrl_c_leaves_the_model_of_the_last_step(self, waves):
        X, y, _ = waves

        def interrupt(n_iter, snapshot):
            if n_iter == 40:
                raise KeyboardInterrupt

        with cut_short("interrupted after 40 of at most 800 steps"):
            (model := quick()).fit(X, y, monitor=interrupt)
        assert model.n_iter_ == 40
        stopped = quick().fit(X, y, monitor=lambda n_iter, snapshot: n_iter == 40)
        np.testing.assert_array_equal(model.predict(X), stopped.predict(X))

    def test_a_real_sigint_does(self, waves):
        X, y, _ = waves

        def press(n_iter, snapshot):
            if n_iter == 30:
                signal.raise_signal(signal.SIGINT)

        with cut_short(r"interrupted after 3\d of at most 800 steps"):
            (model := quick()).fit(X, y, monitor=press)
        assert np.isfinite(model.predict(X)).all()

    @pytest.mark.parametrize("presses", [1, 2])
    def test_ctrl_c_while_the_local_models_are_built(self, presses, waves, monkeypatch):
        """One press is forgiven, for there is no model without them; a second one is obeyed."""
        import ssgp.svbssgp.conditional
        import ssgp.svbssgp.fitted

        X, y, _ = waves
        left, build = [presses], ssgp.svbssgp.conditional.build_conditional

        def interrupted(*arguments):
            if left[0]:
                left[0] -= 1
                raise KeyboardInterrupt
            return build(*arguments)

        monkeypatch.setattr(ssgp.svbssgp.fitted, "build_conditional", interrupted)
        model = quick(max_iter=20)
        with cut_short("interrupted while the local models were built"):
            model.fit(X, y)
        assert hasattr(model, "posterior_") == (presses == 1)
        assert hasattr(model, "n_features_in_") == (presses == 1)


def test_gamma_of_the_local_objective_is_zero(waves):
    X, y, _ = waves
    with pytest.raises(ValueError, match=r"gamma must be 0, got 0\.5"):
        quick(objective="local", gamma=0.5).fit(X, y)
    with pytest.raises(ValueError, match="gamma must be 0, got 1"):
        quick(objective="local", max_iter=5).fit(X, y).predict(X, gamma=1)
    with pytest.raises(ValueError, match=r"gamma must lie in \[-1, 1\], got 2"):
        quick(max_iter=5).fit(X, y).predict(X, gamma=2)


def test_verbose_prints_about_ten_lines(waves, capsys):
    X, y, _ = waves
    quick(max_iter=100, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("step 10/100  bound per row ")


@pytest.mark.slow
def test_memory_of_prediction_does_not_grow_with_the_rows(waves):
    """Beyond rows in and predictions out: traced peaks at 200,000 and 600,000 rows are alike."""
    import tracemalloc

    X, y, _ = waves
    model = quick(max_iter=5).fit(X, y)
    peaks = []
    for n in (200_000, 600_000):
        rows = np.resize(X, (n, 2))
        tracemalloc.start()
        model.predict(rows, return_std=True)
        peaks.append(tracemalloc.get_traced_memory()[1] - 6 * 8 * n)
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 20e6


@pytest.mark.slow
def test_local_noise_is_learned_beside_a_target_that_is_not_centred():
    """The prior of the blocks' noise is relative to the target's variance, not to its mean square."""
    X, y, _ = wavy(300, noise=0.05)
    model = quick(n_frequencies=12, objective="local", normalize=False).fit(X, 200 + y)
    assert np.sqrt(model.noise_variance_) == pytest.approx(np.std(200 + y - model.predict(X)), rel=0.3)
    assert np.sqrt(model.noise_variance_) < 0.3


@pytest.mark.slow
@pytest.mark.parametrize(("max_iter", "n_iter"), [(1831, 1831), (1832, 1539)])
def test_few_steps_are_never_cut_short(max_iter, n_iter):
    """Eleven looks, one every 100 steps, have to fit into the first three fifths."""
    X, y, _ = wavy(60)
    model = quick(n_frequencies=2, posterior="diagonal", max_iter=max_iter, n_draws=1, tol=1e9).fit(X, y)
    assert model.n_iter_ == n_iter
