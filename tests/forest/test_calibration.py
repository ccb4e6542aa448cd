"""Calibration on rows that were held out, where the truth is known because it was simulated."""

import numpy as np
import pytest
from scipy.integrate import quad

from ssgp.forest.calibrating import fit_calibration
from ssgp.forest.calibration import Calibration, Components


def simulated(rng, n, noise=1.0, dof=np.inf, members=4, error=0.0):
    """Components around a mean they share, with errors of their own, and targets with scaled, maybe heavy noise."""
    mean = rng.normal(size=n)
    means = mean + error * rng.normal(size=(members, n))
    means += mean - means.mean(axis=0)
    leverage = np.tile(rng.exponential(0.5, size=n), (members, 1))
    variance = np.tile(rng.uniform(0.02, 0.5, size=n), (members, 1))
    shape = np.full((members, n), 400.0)
    components = Components(means, leverage, shape, variance * shape)
    deviation = noise * np.sqrt(variance[0] * (1.0 + leverage[0]))
    z = rng.normal(size=n) if np.isinf(dof) else rng.standard_t(dof, size=n)
    return components, mean + deviation * z


@pytest.mark.parametrize(
    ("noise", "dof"), [(1.0, np.inf), (2.0, np.inf), (0.4, np.inf), (1.0, 5.0), (0.5, 4.0)], ids=str
)
def test_fresh_rows_are_covered_as_said(noise, dof, rng):
    """Calibrated on 3,000 rows, seen on 3,000 more: shares within 4 standard errors of both samples together."""
    calibration, _ = fit_calibration(*simulated(rng, 3000, noise, dof))
    fresh, y = simulated(rng, 3000, noise, dof)
    level = calibration(fresh).cdf(y)
    for p in (0.025, 0.25, 0.5, 0.75, 0.975):
        assert np.mean(level <= p) == pytest.approx(p, abs=4 * np.sqrt(2 * p * (1 - p) / 3000))


@pytest.mark.slow
def test_the_factor_of_the_noise_is_found(rng):
    """3,000 normal rows know it to 1.3 % (1 / sqrt(2 n)); what is found may be four times as far off."""
    for factor in (0.5, 1.0, 3.0):
        assert fit_calibration(*simulated(rng, 3000, factor))[0].noise == pytest.approx(factor, rel=0.055)


@pytest.mark.slow
def test_heavy_tails_are_found(rng):
    heavy, normal = (fit_calibration(*simulated(rng, 3000, dof=dof))[0].dof for dof in (4.0, np.inf))
    assert heavy < 7.0
    assert normal > 20.0


@pytest.mark.slow
def test_spread_follows_who_is_right(rng):
    """Targets around the components' mean pull them together; around one of them, drawn at random, they stay."""
    components, y = simulated(rng, 3000, error=2.0)
    assert fit_calibration(components, y)[0].spread < 0.2
    pick = rng.integers(0, 4, size=3000)
    y = y + (components.mean[pick, np.arange(3000)] - components.mean.mean(axis=0))
    assert fit_calibration(components, y)[0].spread > 0.8


@pytest.mark.slow
def test_fitting_never_makes_the_rows_less_probable_than_the_start(rng):
    components, y = simulated(rng, 2000, noise=2.5, dof=4.0, error=0.3)
    calibration, score = fit_calibration(components, y)
    assert score == pytest.approx(calibration(components).logpdf(y).mean())
    assert score > Calibration(1.0, 1.0, 0.5, 20.0)(components).logpdf(y).mean() + 0.1


@pytest.mark.slow
def test_a_weight_of_two_is_a_row_twice(rng):
    components, y = simulated(rng, 800, noise=1.5, error=0.2)
    counts = rng.integers(1, 4, size=800)
    twice = np.repeat(np.arange(800), counts)
    of = components
    repeated = Components(of.mean[:, twice], of.leverage[:, twice], of.shape[:, twice], of.scale[:, twice])
    by_weight = fit_calibration(components, y, counts.astype(float))[0]
    by_row = fit_calibration(repeated, y[twice])[0]
    # The hyperprior is worth a few rows, of 800 or of 1,600.
    assert by_weight.noise == pytest.approx(by_row.noise, rel=0.02)
    assert by_weight.spread == pytest.approx(by_row.spread, abs=0.05)


@pytest.mark.slow
def test_rows_of_no_weight_do_not_count(rng):
    components, y = simulated(rng, 1000, noise=1.5)
    weight = (np.arange(1000) < 700).astype(float)
    spoiled = np.where(weight > 0, y, 1e3)
    one, other = fit_calibration(components, y, weight), fit_calibration(components, spoiled, weight)
    assert one == other


def test_the_density_integrates_to_one(rng):
    components, _ = simulated(rng, 5, error=0.5)
    mixture = Calibration(1.3, 0.7, 0.6, 4.0)(components)
    for row in range(5):

        def density(y, row=row):
            return np.exp(mixture.logpdf(np.full(5, y))[row])

        centre = mixture.mean()[row]
        total = quad(density, -np.inf, centre)[0] + quad(density, centre, np.inf)[0]
        assert total == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0])
def test_spread_moves_components_around_their_mean(spread, rng):
    components, _ = simulated(rng, 30, error=1.0)
    mixture = Calibration(spread=spread)(components)
    centre = components.mean.mean(axis=0)
    np.testing.assert_allclose(mixture.mean(), centre, atol=1e-12)
    np.testing.assert_allclose(mixture.location - centre, spread * (components.mean - centre), atol=1e-12)
    if spread == 0:
        np.testing.assert_allclose(mixture.location, np.tile(centre, (4, 1)), atol=1e-12)


def test_an_uncalibrated_component_is_the_leaf_at_its_word(rng):
    """Nearly: its degrees of freedom are 2 a_n unless tails are capped, its squared scale b_n / a_n (1 + leverage)."""
    components, _ = simulated(rng, 10)
    mixture = Calibration()(components)
    np.testing.assert_allclose(mixture.scale**2, components.scale / components.shape * (1 + components.leverage))
    np.testing.assert_allclose(mixture.dof, 2 * components.shape, rtol=0.1)


def test_noise_is_the_variance_without_leverage(rng):
    components, _ = simulated(rng, 10)
    calibration = Calibration(1.4, 0.6, 0.0, 8.0)
    bare = Components(components.mean, 0.0 * components.leverage, components.shape, components.scale)
    np.testing.assert_allclose(calibration.noise_variance(components), calibration(bare).variance())
    assert (calibration(components).variance() > calibration.noise_variance(components)).all()


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 20])
def test_few_rows_and_exact_ones_give_a_finite_calibration(n, rng):
    components, _ = simulated(rng, n)
    for y in (components.mean[0], components.mean[0] + 1e6):
        calibration, score = fit_calibration(components, y)
        assert np.isfinite([calibration.noise, calibration.leverage, calibration.spread, calibration.dof, score]).all()


def test_variances_exist_however_few_rows_a_leaf_had():
    scarce = Components(*(np.full((2, 3), value) for value in (0.0, 0.1, 0.5, 0.5)))
    assert np.isfinite(Calibration(dof=3.0)(scarce).variance()).all()
    assert np.isfinite(Calibration(dof=3.0).noise_variance(scarce)).all()


def test_parts_are_put_together_in_order(rng):
    whole, _ = simulated(rng, 20, error=1.0)
    by_rows = Components.concatenate([whole.rows(slice(0, 7)), whole.rows(slice(7, 20))], axis=1)
    np.testing.assert_array_equal(by_rows.mean, whole.mean)
    np.testing.assert_array_equal(whole.take(2).mean, whole.mean[:2])
    twice = Components.concatenate([whole, whole], axis=0)
    np.testing.assert_array_equal(twice.scale[4:], whole.scale)
