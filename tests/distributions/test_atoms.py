"""Distributions with atoms, against integrals by brute force and large samples."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import t as student

from ssgp.distributions import AtomDistribution, CountDistribution, MappedDistribution, StudentMixture
from ssgp.rows.target_maps import SoftLog

ATOMS = np.array([-0.5, 2.0])
PROBABILITY = np.array([[0.3, 0.05, 0.0, 0.9], [0.1, 0.25, 0.0, 0.1]])
LEVELS = np.array([1e-4, 0.03, 0.2, 0.35, 0.5, 0.64, 0.8, 0.97, 0.9999])


def mixture() -> StudentMixture:
    rng = np.random.default_rng(0)
    return StudentMixture(rng.normal(0.5, 1.0, (3, 4)), rng.uniform(0.3, 1.0, (3, 4)), rng.uniform(4.0, 30.0, (3, 4)))


def with_atoms() -> AtomDistribution:
    return AtomDistribution(mixture(), ATOMS, PROBABILITY)


def mapped() -> AtomDistribution:
    """With an atom at the end of a map that gives this end a probability, too."""
    before = MappedDistribution(mixture(), SoftLog("non-negative", 1.5, 0.2))
    return AtomDistribution(before, np.array([0.0]), PROBABILITY[:1])


def counts() -> AtomDistribution:
    return AtomDistribution(CountDistribution(mixture(), SoftLog("count", 2.0, 0.5)), np.array([0.0]), PROBABILITY[:1])


def written_out_cdf(y: np.ndarray) -> np.ndarray:
    """Probabilities of at most y (k,) of all rows, shape (4, k)."""
    parts = mixture()
    smooth = student.cdf(y, parts.dof[..., None], parts.location[..., None], parts.scale[..., None]).mean(axis=0)
    jumps = (PROBABILITY[..., None] * (y >= ATOMS[:, None, None])).sum(axis=0)
    return (1.0 - PROBABILITY.sum(axis=0))[:, None] * smooth + jumps


def test_probabilities_are_those_written_out() -> None:
    y = np.array([-3.0, -0.5, -0.4999, 1.0, 2.0, 5.0])
    predicted = np.stack([with_atoms().cdf(value) for value in y], axis=1)
    np.testing.assert_allclose(predicted, written_out_cdf(y), atol=1e-12)
    np.testing.assert_allclose(with_atoms().sf(1.0), 1.0 - with_atoms().cdf(1.0), atol=1e-12)
    left = with_atoms().cdf(2.0) - with_atoms().cdf_left(2.0)
    np.testing.assert_allclose(left, PROBABILITY[1], atol=1e-12)


def test_log_densities_are_of_probabilities_at_atoms() -> None:
    atoms = with_atoms()
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(atoms.logpdf(2.0), np.log(PROBABILITY[1]))
    step = 1e-6
    slope = (atoms.cdf(0.7 + step) - atoms.cdf(0.7 - step)) / (2 * step)
    np.testing.assert_allclose(atoms.pdf(0.7), slope, rtol=1e-5, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("make", [with_atoms, mapped, counts])
def test_moments_and_scores_are_integrals_of_the_distribution_function(make: Callable[[], AtomDistribution]) -> None:
    atoms = make()
    grid = np.concatenate(
        [-np.geomspace(3e3, 20.0, 4000), np.arange(-20.0, 20.0, 2e-4) + 1e-4, np.geomspace(20, 3e3, 4000)]
    )
    below = np.stack([row.cdf(grid) for row in (_repeated(atoms, i, len(grid)) for i in range(4))])
    width = np.gradient(grid)
    positive = grid > 0
    mean = ((1.0 - below) * positive - below * ~positive) @ width
    np.testing.assert_allclose(atoms.mean(), mean, atol=2e-3)
    y = np.array([-0.5, 2.0, 1.0, 0.0])
    crps = ((below - (grid >= y[:, None])) ** 2) @ width
    np.testing.assert_allclose(atoms.crps(y), crps, atol=2e-3)
    np.testing.assert_allclose(atoms.excess(y), ((1.0 - below) * (grid >= y[:, None])) @ width, atol=2e-3)
    second = 2.0 * (np.abs(grid) * np.where(positive, 1.0 - below, below)) @ width
    np.testing.assert_allclose(atoms.variance(), second - mean**2, rtol=0.02)


def _repeated(atoms: AtomDistribution, row: int, times: int) -> AtomDistribution:
    return atoms[np.full(times, row)]


@pytest.mark.parametrize("make", [with_atoms, mapped, counts])
def test_quantiles_are_the_least_values_of_enough_probability(make: Callable[[], AtomDistribution]) -> None:
    atoms = make()
    quantiles = atoms.quantile(LEVELS)
    assert (np.diff(quantiles, axis=1) >= 0).all()
    for level, values in zip(LEVELS, quantiles.T, strict=True):
        slack = 1e-6
        assert (atoms.cdf(values) >= level - slack).all()
        assert (atoms.cdf_left(values - 1e-9) <= level + slack).all()


@pytest.mark.parametrize("make", [with_atoms, mapped, counts])
def test_draws_follow_the_distribution(make: Callable[[], AtomDistribution]) -> None:
    atoms = make()
    drawn = atoms.sample(40_000, 3)
    for value in (-0.5, 0.0, 0.3, 2.0):
        # Five standard errors.
        np.testing.assert_allclose((drawn <= value).mean(axis=1), atoms.cdf(value), atol=5 * 0.5 / 200)
    np.testing.assert_array_equal(drawn, atoms.sample(40_000, 3))


def test_rows_are_the_same_whatever_rows_come_with_them() -> None:
    atoms, some = with_atoms(), np.array([3, 1])
    part = atoms[some]
    assert len(part) == 2
    for name in ("mean", "std", "half_difference"):
        np.testing.assert_array_equal(getattr(part, name)(), getattr(atoms, name)()[some])
    np.testing.assert_array_equal(part.quantile(LEVELS), atoms.quantile(LEVELS)[some])
    np.testing.assert_array_equal(part.crps(2.0), atoms.crps(2.0)[some])


def test_quantiles_of_many_rows_are_those_of_each() -> None:
    """More rows than are looked at together, with levels that differ."""
    repeated = np.tile(np.arange(4), 5000)
    np.testing.assert_array_equal(with_atoms()[repeated].quantile(0.3), with_atoms().quantile(0.3)[repeated])


def test_without_probability_of_atoms_nothing_changes() -> None:
    atoms, plain = with_atoms()[2:3], mixture()[2:3]
    np.testing.assert_allclose(atoms.mean(), plain.mean())
    np.testing.assert_allclose(atoms.quantile(LEVELS), plain.quantile(LEVELS), rtol=1e-7)
    np.testing.assert_allclose(atoms.crps(0.3), plain.crps(0.3), rtol=1e-9)
