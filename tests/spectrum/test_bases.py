from dataclasses import dataclass

import numpy as np
import pytest
from scipy.integrate import quad

from helpers import central_difference
from ssgp.spectrum.bases import Base, Laplace, Logistic, Normal, StudentT, check_base, is_standardized, resolve_base

ALL = [Normal(), StudentT(), StudentT(3.0), Laplace(), Logistic()]


def density(base, x):
    return float(np.exp(base.log_density(np.array([[x]]))[0]))


@pytest.mark.parametrize("base", ALL, ids=repr)
def test_density_integrates_to_one_with_mean_zero_and_variance_one(base):
    for power, expected in [(0, 1.0), (1, 0.0), (2, 1.0)]:
        left, _ = quad(lambda x, p=power: x**p * density(base, x), -np.inf, 0)
        right, _ = quad(lambda x, p=power: x**p * density(base, x), 0, np.inf)
        assert left + right == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("base", ALL, ids=repr)
def test_entropy_is_minus_the_mean_log_density(base):
    def integrand(x):
        return -density(base, x) * float(base.log_density(np.array([[x]]))[0])

    assert 2 * quad(integrand, 0, 200)[0] == pytest.approx(base.entropy, abs=1e-4)


@pytest.mark.parametrize("base", ALL, ids=repr)
def test_score_is_the_gradient_of_the_log_density(base, rng):
    z = rng.normal(size=(4, 3))
    numeric = central_difference(lambda z: float(base.log_density(z).sum()), z)
    np.testing.assert_allclose(base.score(z), numeric, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("base", ALL, ids=repr)
def test_samples_follow_the_density(base):
    # Kolmogorov-Smirnov at 20,000 draws: a false alarm has probability below 1e-4 (fixed seed besides).
    from scipy.stats import kstest

    z = base.sample(np.random.default_rng(1), (20_000, 1))[:, 0]
    grid = np.linspace(-30, 30, 60_001)
    cdf = np.cumsum(np.exp(base.log_density(grid[:, None]))) * (grid[1] - grid[0])
    assert kstest(z, lambda x: np.interp(x, grid, cdf)).pvalue > 1e-4


@pytest.mark.parametrize("name", ["normal", "student-t", "laplace", "logistic"])
def test_named_bases(name):
    assert isinstance(resolve_base(name), Base)


def test_unknown_name_is_an_error_that_lists_the_known():
    with pytest.raises(ValueError, match=r"base='cauchy' is not known; allowed: 'normal', 'student-t'"):
        resolve_base("cauchy")


def test_an_object_without_the_interface_is_an_error_that_names_it():
    with pytest.raises(TypeError, match=r"sample\(rng, size\), log_density\(z\) and score\(z\)"):
        resolve_base(3.0)


def test_student_t_needs_a_variance():
    with pytest.raises(ValueError, match="degrees_of_freedom must be above 2"):
        StudentT(2.0)


@dataclass(frozen=True)
class WrongScore:
    def sample(self, rng, size):
        return rng.normal(size=size)

    def log_density(self, z):
        return -0.5 * np.sum(z * z, axis=-1)

    def score(self, z):
        return z


@dataclass(frozen=True)
class FixedDimension:
    def sample(self, rng, size):
        return rng.normal(size=(size[0], 3))

    def log_density(self, z):
        return -0.5 * np.sum(z * z, axis=-1)

    def score(self, z):
        return -z


@dataclass(frozen=True)
class WrongShape(WrongScore):
    def log_density(self, z):
        return -0.5 * z * z


def test_a_users_base_is_checked():
    with pytest.raises(ValueError, match="score"):
        check_base(WrongScore(), 4)
    with pytest.raises(ValueError, match="one value per row"):
        check_base(WrongShape(), 4)
    with pytest.raises(ValueError, match=r"base.sample\(rng, \(8, 4\)\) must return that shape, got \(8, 3\)"):
        check_base(FixedDimension(), 4)
    check_base(FixedDimension(), 3)


def test_a_subclass_of_a_built_in_base_is_a_users_base():
    class Wide(Normal):
        pass

    assert is_standardized(Normal())
    assert not is_standardized(Wide())
