"""What held-out rows teach a calibration beyond four numbers: trends of the noise, and its shape."""

import numpy as np
import pytest
from scipy.special import digamma, gammaln

import ssgp
from devices import DEVICE
from ssgp.distributions.student_mixture import StudentMixture
from ssgp.forest import calibrating
from ssgp.forest.calibrating import calibrated_score, fit_calibration
from ssgp.forest.calibration import Components
from ssgp.forest.machines import find_machine

LEVELS = np.array([0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975])


def trees(rng, n, members=4, error=0.3):
    """Components that differ a little, whose noise is the same everywhere."""
    mean = rng.normal(size=n) + error * rng.normal(size=(members, n))
    variance = 0.2 * np.exp(0.3 * rng.normal(size=(members, n)))
    shape = np.full((members, n), 300.0)
    return Components(mean, rng.exponential(0.1, size=(members, n)), shape, variance * shape)


def skewed(rng, components, slope=0.0):
    """Targets around the components' mean with exponential noise, whose deviation goes with the mean."""
    mean = components.mean.mean(axis=0)
    return mean + 0.5 * np.exp(slope * mean) * (rng.exponential(size=len(mean)) - 1.0)


def assert_uniform(levels, n_learned):
    """Shares of levels below some are theirs, to four standard errors of those that were learned from and these."""
    shares = np.mean(levels[:, None] <= LEVELS, axis=0)
    error = np.sqrt(LEVELS * (1.0 - LEVELS) * (1.0 / len(levels) + 1.0 / n_learned))
    assert (np.abs(shares - LEVELS) < 4.0 * error).all()


@pytest.mark.parametrize(("together", "n_shape"), [(False, 0), (True, 0), (True, 16), (True, 32)])
def test_gradients_are_those_of_the_distributions_density(together, n_shape, rng):
    components = trees(rng, 60)
    rows = calibrating.HeldOutTargets.of(skewed(rng, components), rng.uniform(0.5, 2.0, size=60))
    likelihood = calibrating.Likelihood(components, rows, together)
    free = 0.3 * rng.normal(size=10 + n_shape)

    def value(free):
        return rows.share @ likelihood.calibration(free)(components).logpdf(rows.y)

    found, gradient = likelihood.density(likelihood.parts)(free)
    assert found == pytest.approx(value(free), abs=1e-7)
    steps = 1e-5 * np.eye(len(free))
    differences = [(value(free + step) - value(free - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(gradient, differences, atol=1e-7)


@pytest.mark.card
@pytest.mark.parametrize(("together", "n_shape"), [(False, 0), (True, 0), (True, 16), (True, 32)])
def test_a_card_finds_the_same_density_and_gradient(together, n_shape, rng):
    components = trees(rng, 700)
    rows = calibrating.HeldOutTargets.of(skewed(rng, components), rng.uniform(0.5, 2.0, size=700))
    likelihood = calibrating.Likelihood(components, rows, together)
    free = 0.3 * rng.normal(size=10 + n_shape)
    value, gradient = likelihood.density(likelihood.parts)(free)
    found, by_card = find_machine(DEVICE).density(likelihood, likelihood.parts)(free)
    assert found == pytest.approx(value, abs=1e-6)
    np.testing.assert_allclose(by_card, gradient, atol=1e-6)


def test_parts_of_the_rows_add_up(rng, monkeypatch):
    components = trees(rng, 500)
    y, free = skewed(rng, components), 0.3 * rng.normal(size=26)
    rows = calibrating.HeldOutTargets.of(y, rng.uniform(0.5, 2.0, size=500))
    one = calibrating.Likelihood(components, rows, together=True)
    monkeypatch.setattr(calibrating, "ROWS_PER_PART", 64)
    several = calibrating.Likelihood(components, rows, together=True)
    assert len(one.parts) == 1 < len(several.parts)
    whole, found = (likelihood.density(likelihood.parts)(free) for likelihood in (one, several))
    assert found[0] == pytest.approx(whole[0], rel=1e-12)
    np.testing.assert_allclose(found[1], whole[1], rtol=1e-10, atol=1e-12)


def test_peaks_are_those_of_the_exact_functions():
    dof = np.array([2.4, 2.5, 3.0, 7.0, 40.0, 1e4])
    value, slope = calibrating._log_peaks(dof)
    exact = gammaln(0.5 * dof + 0.5) - gammaln(0.5 * dof) - 0.5 * np.log(dof * np.pi)
    np.testing.assert_allclose(value, exact, atol=1e-7)
    np.testing.assert_allclose(slope, 0.5 * (digamma(0.5 * dof + 0.5) - digamma(0.5 * dof) - 1 / dof), atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["uniform", "exponential", "two peaks"])
def test_noise_of_another_shape_is_covered_at_every_level(noise, rng):
    draws = {
        "uniform": lambda n: rng.uniform(-1, 1, size=n),
        "exponential": lambda n: rng.exponential(size=n) - 1.0,
        "two peaks": lambda n: np.where(rng.random(n) < 0.4, -1.5, 1.0) + 0.3 * rng.normal(size=n),
    }
    learned, fresh = trees(rng, 3000), trees(rng, 6000)
    y, new = (part.mean.mean(axis=0) + 0.5 * draws[noise](part.mean.shape[1]) for part in (learned, fresh))
    calibration, _ = fit_calibration(learned, y)
    mixture = calibration(fresh)
    assert calibration.shape is not None
    # An edge, or a gap, is as sharp as sixteen components can have it.
    np.testing.assert_allclose(np.mean(mixture.cdf(new)[:, None] <= LEVELS, axis=0), LEVELS, atol=0.05)
    one_student = -calibrated_score(fresh, new)
    assert -mixture.logpdf(new).mean() < one_student - 0.08


@pytest.mark.slow
def test_many_rows_have_a_finer_shape_that_is_right_at_every_level(rng):
    learned, fresh = trees(rng, 10_000, error=0.05), trees(rng, 20_000, error=0.05)
    y, new = (part.mean.mean(axis=0) + rng.uniform(-0.5, 0.5, size=part.mean.shape[1]) for part in (learned, fresh))
    calibration, _ = fit_calibration(learned, y)
    assert calibration.shape is not None
    assert len(calibration.shape.offsets) == calibrating.FINER_COMPONENTS
    shares = np.mean(calibration(fresh).cdf(new)[:, None] <= LEVELS, axis=0)
    np.testing.assert_allclose(shares, LEVELS, atol=0.015)


@pytest.mark.slow
def test_a_shape_does_not_move_means(rng):
    learned = trees(rng, 2000)
    calibration, _ = fit_calibration(learned, skewed(rng, learned))
    mixture = calibration(learned)
    assert len(mixture.location) == 8
    np.testing.assert_array_equal(mixture.mean(), calibration.centres(learned.mean)[0])
    np.testing.assert_allclose(mixture.location.mean(axis=0), mixture.mean(), atol=1e-12)


def test_noise_that_grows_with_the_mean_is_found(rng):
    """Levels of rows of low and of high means are as uniform as those of all."""
    learned, fresh = trees(rng, 4000, error=0.05), trees(rng, 8000, error=0.05)

    def target(components):
        mean = components.mean.mean(axis=0)
        return mean + 0.4 * np.exp(0.4 * mean) * rng.normal(size=len(mean))

    calibration, _ = fit_calibration(learned, target(learned))
    y, mean = target(fresh), fresh.mean.mean(axis=0)
    for third in (mean < -0.4, mean > 0.4):
        inside = np.abs(calibration(fresh).cdf(y)[third] - 0.5) <= 0.4
        assert np.mean(inside) == pytest.approx(0.8, abs=0.03)


@pytest.mark.slow
def test_skewness_that_changes_with_the_mean_is_found(rng):
    learned, fresh = trees(rng, 5000, error=0.05), trees(rng, 5000, error=0.05)

    def target(components):
        mean = components.mean.mean(axis=0)
        return mean + 0.4 * np.sign(mean) * (rng.exponential(size=len(mean)) - 1.0)

    calibration, _ = fit_calibration(learned, target(learned))
    assert calibration.shape is not None
    assert any(calibration.shape.offset_slopes)
    y, mean = target(fresh), fresh.mean.mean(axis=0)
    for side in (mean < -0.5, mean > 0.5):
        assert np.mean(calibration(fresh).cdf(y)[side] <= 0.5) == pytest.approx(0.5, abs=0.05)


@pytest.mark.slow
def test_few_rows_and_normal_noise_keep_one_student(rng):
    for n in (50, 400, 3000):
        components = trees(rng, n, error=0.01)
        y = components.mean.mean(axis=0) + 0.45 * rng.normal(size=n)
        shape = fit_calibration(components, y)[0].shape
        assert shape is None or len(shape.offsets) == 1


@pytest.mark.slow
def test_trees_that_know_more_than_their_mean_keep_their_components(rng):
    """Targets around one of the trees, drawn at random: their mean knows nothing of it."""
    components = trees(rng, 2000, error=3.0)
    y = components.mean[rng.integers(0, 4, size=2000), np.arange(2000)] + 0.1 * rng.normal(size=2000)
    assert fit_calibration(components, y)[0].shape is None


@pytest.mark.slow
def test_noise_alone_is_the_variance_where_weights_are_certain_and_trees_agree(rng):
    components = trees(rng, 1500)
    calibration, _ = fit_calibration(components, skewed(rng, components))
    mean = components.mean.mean(axis=0)
    certain = Components(np.tile(mean, (4, 1)), 0.0 * components.leverage, components.shape, components.scale)
    np.testing.assert_allclose(calibration.noise_variance(components), calibration(certain).variance())


def test_mixtures_with_a_centre_are_sliced_and_joined(rng):
    location = rng.normal(size=(3, 5))
    whole = StudentMixture(location, np.ones((3, 5)), np.full((3, 5), 9.0), location.mean(axis=0))
    joined = StudentMixture.concatenate([whole[:2], whole[2:]])
    for name in ("location", "scale", "dof", "centre"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))
    tiny = StudentMixture(1e-200 * location, 1e-200 * whole.scale, whole.dof, 1e-200 * whole.mean())
    np.testing.assert_allclose(tiny.std() / 1e-200, whole.std(), rtol=1e-12)
    np.testing.assert_allclose(tiny.quantile(0.3) / 1e-200, whole.quantile(0.3), rtol=1e-6)


@pytest.mark.slow
def test_a_forest_of_skewed_targets_is_saved_with_its_shape(rng, tmp_path):
    X = rng.uniform(-2, 2, size=(4000, 2))
    y = 5.0 + np.sin(2 * X[:, 0]) + rng.exponential(size=4000)
    model = ssgp.SpectralForestRegressor(n_trees=4, max_iter=60, random_state=0).fit(X[:2000], y[:2000])
    assert model.calibration_.shape is not None
    model.save(tmp_path / "model.safetensors")
    again = ssgp.load(tmp_path / "model.safetensors")
    assert again.calibration_ == model.calibration_
    new, distribution = X[2000:], again.predict_distribution(X[2000:])
    np.testing.assert_array_equal(distribution.mean(), model.predict(new))
    assert_uniform(distribution.cdf(y[2000:]), 500)
    np.testing.assert_array_equal(model.predict_distribution(new[:1]).mean(), model.predict(new)[:1])
