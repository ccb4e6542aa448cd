"""Base distributions psi of the posterior q(alpha): alpha = M z + b with z ~ psi (Lemma 2).

The built-in bases have independent components of mean zero and variance one.
Every integral of the bound that is quadratic in z then has the same closed form,
for all of them.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from scipy.special import digamma, expit, gammaln

from ssgp._utils.arrays import Array
from ssgp.saving.contents import number
from ssgp.saving.kinds import stored

__all__ = ["Base", "Laplace", "Logistic", "Normal", "StudentT", "check_base", "is_standardized", "resolve_base"]


@runtime_checkable
class Base(Protocol):
    """Methods of a base distribution.

    Any object with these three methods can be passed as ``base``. Its components
    may be dependent and need not be standardised: the bound is then estimated
    from samples alone.
    """

    def sample(self, rng: np.random.Generator, size: tuple[int, int]) -> Array:
        """Independent draws of z, of shape ``size = (draws, dimension)``."""
        ...

    def log_density(self, z: Array) -> Array:
        """Log density of every row of ``z``, shape (draws,)."""
        ...

    def score(self, z: Array) -> Array:
        """Gradient of the log density with respect to ``z``, in the shape of ``z``."""
        ...


@stored({})
@dataclass(frozen=True)
class Normal:
    """Standard normal base, the default."""

    def sample(self, rng: np.random.Generator, size: tuple[int, int]) -> Array:
        """Independent draws of z, shape (draws, dimension)."""
        return rng.standard_normal(size)

    def log_density(self, z: Array) -> Array:
        """Log density of every row of z, shape (draws,)."""
        return -0.5 * np.sum(z * z + np.log(2 * np.pi), axis=-1)

    def score(self, z: Array) -> Array:
        """Gradient of the log density, shape (draws, dimension)."""
        return -z

    @property
    def entropy(self) -> float:
        """Entropy of one component in nats."""
        return 0.5 * (1.0 + np.log(2 * np.pi))


@stored({"degrees_of_freedom": number(float(np.nextafter(2.0, 3.0)), or_whole=True)})
@dataclass(frozen=True)
class StudentT:
    """Student-t base scaled to unit variance: heavier tails than the normal.

    Parameters
    ----------
    degrees_of_freedom : float, default=5.0
        Above 2, so that the variance is finite.
    """

    degrees_of_freedom: float = 5.0

    def __post_init__(self) -> None:
        if not self.degrees_of_freedom > 2:
            raise ValueError(
                f"degrees_of_freedom must be above 2 for a finite variance, got {self.degrees_of_freedom!r}"
            )

    @property
    def _scale(self) -> float:
        return float(np.sqrt((self.degrees_of_freedom - 2) / self.degrees_of_freedom))

    @property
    def _log_normalizer(self) -> float:
        nu = self.degrees_of_freedom
        return float(gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi) - np.log(self._scale))

    def sample(self, rng: np.random.Generator, size: tuple[int, int]) -> Array:
        """Independent draws of z, shape (draws, dimension)."""
        return self._scale * rng.standard_t(self.degrees_of_freedom, size)

    def log_density(self, z: Array) -> Array:
        """Log density of every row of z, shape (draws,)."""
        nu = self.degrees_of_freedom
        kernel = -0.5 * (nu + 1) * np.log1p((z / self._scale) ** 2 / nu)
        return np.sum(kernel + self._log_normalizer, axis=-1)

    def score(self, z: Array) -> Array:
        """Gradient of the log density, shape (draws, dimension)."""
        nu = self.degrees_of_freedom
        return -(nu + 1) * z / (nu * self._scale**2 + z * z)

    @cached_property
    def entropy(self) -> float:
        """Entropy of one component in nats."""
        nu = self.degrees_of_freedom
        return float((nu + 1) / 2 * (digamma((nu + 1) / 2) - digamma(nu / 2))) - self._log_normalizer


@stored({})
@dataclass(frozen=True)
class Laplace:
    """Laplace base scaled to unit variance: a peak at the centre, exponential tails."""

    def sample(self, rng: np.random.Generator, size: tuple[int, int]) -> Array:
        """Independent draws of z, shape (draws, dimension)."""
        return rng.laplace(scale=np.sqrt(0.5), size=size)

    def log_density(self, z: Array) -> Array:
        """Log density of every row of z, shape (draws,)."""
        return np.sum(-np.sqrt(2.0) * np.abs(z) - 0.5 * np.log(2.0), axis=-1)

    def score(self, z: Array) -> Array:
        """Gradient of the log density (zero at the kink), shape (draws, dimension)."""
        return -np.sqrt(2.0) * np.sign(z)

    @property
    def entropy(self) -> float:
        """Entropy of one component in nats."""
        return 1.0 + 0.5 * float(np.log(2.0))


@stored({})
@dataclass(frozen=True)
class Logistic:
    """Logistic base scaled to unit variance: smooth, tails between normal and Laplace."""

    @property
    def _scale(self) -> float:
        return float(np.sqrt(3.0) / np.pi)

    def sample(self, rng: np.random.Generator, size: tuple[int, int]) -> Array:
        """Independent draws of z, shape (draws, dimension)."""
        return rng.logistic(scale=self._scale, size=size)

    def log_density(self, z: Array) -> Array:
        """Log density of every row of z, shape (draws,)."""
        x = np.abs(z) / self._scale
        return np.sum(-x - 2.0 * np.log1p(np.exp(-x)) - np.log(self._scale), axis=-1)

    def score(self, z: Array) -> Array:
        """Gradient of the log density, shape (draws, dimension)."""
        return (1.0 - 2.0 * expit(z / self._scale)) / self._scale

    @property
    def entropy(self) -> float:
        """Entropy of one component in nats."""
        return 2.0 + float(np.log(self._scale))


StandardBase = Normal | StudentT | Laplace | Logistic
STANDARD_BASES = (Normal, StudentT, Laplace, Logistic)
_BY_NAME: dict[str, type[StandardBase]] = {
    "normal": Normal,
    "student-t": StudentT,
    "laplace": Laplace,
    "logistic": Logistic,
}
BASE_NAMES = tuple(_BY_NAME)


def resolve_base(base: Any) -> Base:  # noqa: ANN401  a user may pass anything; it is checked here
    """The base distribution that a user names or passes; anything else is refused."""
    if isinstance(base, str):
        if base not in _BY_NAME:
            raise ValueError(f"base={base!r} is not known; allowed: {', '.join(map(repr, _BY_NAME))} or an object")
        return _BY_NAME[base]()
    if not isinstance(base, Base) or isinstance(base, type):
        raise TypeError(
            f"base must be one of {', '.join(map(repr, _BY_NAME))} or an object with the methods "
            f"sample(rng, size), log_density(z) and score(z); got {base!r}"
        )
    return base


def is_standardized(base: Base) -> TypeGuard[StandardBase]:
    """Whether the base is a built-in one: independent components of mean zero and variance one.

    By type, not `isinstance`: a user's subclass of a built-in base may be anything.
    """
    return type(base) in _BY_NAME.values()


def check_base(base: Base, dimension: int) -> None:
    """Refuse a user's base with wrong shapes, or with a score that is not the gradient of its log density."""
    if is_standardized(base):
        return
    n_draws, step = 8, 1e-5
    rng, size = np.random.default_rng(0), (n_draws, dimension)
    z = np.asarray(base.sample(rng, size), dtype=float)
    if z.shape != size:
        raise ValueError(f"base.sample(rng, {size}) must return that shape, got {z.shape}")
    log_density = np.asarray(base.log_density(z))
    if log_density.shape != (n_draws,):
        raise ValueError(f"base.log_density must return one value per row: shape ({n_draws},), got {log_density.shape}")
    direction = rng.standard_normal(dimension) / np.sqrt(dimension)
    slope = (base.log_density(z + step * direction) - base.log_density(z - step * direction)) / (2 * step)
    if not np.allclose(np.asarray(base.score(z)) @ direction, slope, rtol=1e-3, atol=1e-3):
        raise ValueError("base.score(z) is not the gradient of base.log_density(z) (checked by central differences)")
