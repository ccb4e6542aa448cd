"""Mixtures of Student-t distributions, the predictions of a forest."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, stdtr, stdtrit

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp.distributions.base import LEAST_DOF, RandomState, StretchableDistribution, generator
from ssgp.distributions.expectations import ValueFunction, mixture_moments
from ssgp.distributions.quadrature import half_line_integral
from ssgp.distributions.quantile_search import PRECISION, QuantileSearch
from ssgp.engine.tiles import mean_in_order

__all__ = ["LEAST_COMBINED_DOF", "StudentMixture", "combined_dof"]

# Components times rows whose arrays fit a processor's cache.
NUMBERS_IN_CACHE = 1 << 14
# Scales of up to this power of two have squares, and densities with slopes, that are numbers.
USUAL_EXPONENT = 300
# Least degrees of freedom of tails that are heavy for two reasons.
LEAST_COMBINED_DOF = 0.8 * LEAST_DOF


@dataclass(frozen=True)
class StudentMixture(StretchableDistribution):
    """Equal mixtures of T Student-t distributions, one mixture per row of n.

    Attributes
    ----------
    location, scale, dof : arrays of shape (T, n)
        Locations, scales and degrees of freedom (above 2) of the components.
    centre : array of shape (n,) or None
        Means of the locations where they are known to the last digit, which rounding would take from their sum.
    """

    location: Array
    scale: Array
    dof: Array
    centre: Array | None = None

    def __len__(self) -> int:
        return self.location.shape[1]

    def __getitem__(self, rows: slice | Indices | Mask) -> "StudentMixture":
        centre = None if self.centre is None else self.centre[rows]
        return StudentMixture(self.location[:, rows], self.scale[:, rows], self.dof[:, rows], centre)

    @staticmethod
    def concatenate(parts: "list[StudentMixture]") -> "StudentMixture":
        """The rows of several mixtures of equally many components, one after the other."""
        if len(parts) == 1:
            return parts[0]
        location, scale, dof = (
            np.concatenate([getattr(part, name) for part in parts], axis=1) for name in ("location", "scale", "dof")
        )
        centres = [part.centre for part in parts if part.centre is not None]
        return StudentMixture(location, scale, dof, np.concatenate(centres) if centres else None)

    def moved(self, by: Array) -> "StudentMixture":
        """The same distributions, moved by (n,)."""
        return replace(self, location=self.location + by, centre=None if self.centre is None else self.centre + by)

    def mean(self) -> Array:
        """Means, shape (n,)."""
        return mean_in_order(self.location) if self.centre is None else self.centre

    def variance(self) -> Array:
        """Variances by the law of total variance, shape (n,)."""
        within = self.scale**2 * self.dof / (self.dof - 2.0)
        return mean_in_order(within + (self.location - self.mean()) ** 2)

    def std(self) -> Array:
        """Standard deviations, shape (n,), also where their squares are not numbers."""
        power, usual = self._in_usual_units()
        return np.ldexp(np.sqrt(usual.variance()), power)

    def _in_usual_units(self) -> "tuple[Indices, StudentMixture]":
        """Powers of two (n,), and the distributions of the target over them: 0 unless squares are not numbers."""
        exponent = np.frexp(np.max(self.scale, axis=0, initial=0.0))[1]
        power = np.where(np.abs(exponent) > USUAL_EXPONENT, exponent, 0)
        if not power.any():
            return power, self
        centre = None if self.centre is None else np.ldexp(self.centre, -power)
        return power, StudentMixture(np.ldexp(self.location, -power), np.ldexp(self.scale, -power), self.dof, centre)

    def logpdf(self, y: ArrayLike) -> Array:
        """Log densities at y, shape (n,)."""
        z = self._standardized(y)
        parts = self.log_peaks() - (0.5 * self.dof + 0.5) * np.log1p(z * z / self.dof)
        parts += -np.log(len(parts))
        return np.logaddexp.reduce(parts, axis=0)

    def log_peaks(self) -> Array:
        """Log densities of the components at their locations, shape (T, n)."""
        half = 0.5 * self.dof
        return gammaln(half + 0.5) - gammaln(half) - 0.5 * np.log(self.dof * np.pi) - np.log(self.scale)

    def cdf(self, y: ArrayLike) -> Array:
        """Probabilities of at most y, shape (n,)."""
        return mean_in_order(stdtr(self.dof, self._standardized(y)))

    def sf(self, y: ArrayLike) -> Array:
        """Probabilities of more than y, shape (n,)."""
        return mean_in_order(stdtr(self.dof, -self._standardized(y)))

    def sample(self, n_samples: int = 1, random_state: RandomState = 0) -> Array:
        """Independent draws, shape (n, n_samples)."""
        rng, (n_components, n_rows) = generator(random_state), self.location.shape
        component, row = rng.integers(0, n_components, (n_rows, n_samples)), np.arange(n_rows)[:, None]
        return self.location[component, row] + self.scale[component, row] * rng.standard_t(self.dof[component, row])

    def excess(self, y: ArrayLike) -> Array:
        """Mean excess over y, E max(Y - y, 0), shape (n,)."""
        y = np.asarray(y, dtype=float)
        z = self._standardized(y)
        return mean_in_order(self._upper_mean(z) + (self.location - y) * stdtr(self.dof, -z))

    def moments_of(self, function: ValueFunction) -> tuple[Array, Array]:
        """Means and variances of ``function(values, rows)`` of the values of each row, shapes (n,)."""
        return mixture_moments(self.location, self.scale, self.dof, self.log_peaks(), function)

    def upper_variance(self) -> Array:
        """Part of the variance from above the mean m, E max(Y - m, 0)^2, shape (n,)."""
        offset, dof = self.location - self.mean(), self.dof
        z = -offset / self.scale
        above = stdtr(dof, -z)
        second = dof * ((dof - 1.0) / (dof - 2.0) * stdtr(dof - 2.0, -z * np.sqrt((dof - 2.0) / dof)) - above)
        return mean_in_order(self.scale**2 * second + 2.0 * offset * self._upper_mean(z) + offset**2 * above)

    def _upper_mean(self, z: Array) -> Array:
        """Components' E (X - location) 1(X > x), where z are the standardised values of x, shapes (T, n)."""
        density = np.exp(self.log_peaks() - (0.5 * self.dof + 0.5) * np.log1p(z * z / self.dof))
        return self.scale * (self.scale * density) * (self.dof + z * z) / (self.dof - 1.0)

    def half_differences(self) -> tuple[Array, Array]:
        """Integrals of F (1 - F) below and above the mean, shapes (n,)."""
        mean = self.mean()
        scale = mean_in_order(np.abs(self.location - mean) + self.scale)

        def integrand(distance: Array, rows: Indices) -> Array:
            below = self[rows].cdf(mean[rows] + distance)
            return below * (1.0 - below)

        above = half_line_integral(integrand, scale)
        return half_line_integral(lambda distance, rows: integrand(-distance, rows), scale), above

    def as_students(self) -> "StudentMixture":
        """The same distributions."""
        return self

    def centred(self) -> "StudentMixture":
        """The distributions of distances from the mean."""
        location = self.location - self.mean()
        # A mean far from zero was rounded by more than those of distances are.
        location = location - mean_in_order(location)
        return replace(self, location=location, centre=np.zeros(len(self)))

    def with_tails(self, dof: float) -> "StudentMixture":
        """The mixtures with heavier tails, of at most `dof` degrees of freedom."""
        return replace(self, dof=combined_dof(self.dof, dof))

    def _quantile(self, level: float | Array) -> Array:
        n_components, n_rows = self.location.shape
        if n_components == 1:
            return (self.location + self.scale * stdtrit(self.dof, level))[0]
        power, usual = self._in_usual_units()
        size = max(NUMBERS_IN_CACHE // n_components, 1)
        rows = [slice(start, start + size) for start in range(0, n_rows, size)]
        levels = [level[part] if isinstance(level, np.ndarray) else level for part in rows]
        quantiles = [usual[part]._searched(own) for part, own in zip(rows, levels, strict=True)]
        return np.ldexp(np.concatenate([np.empty(0), *quantiles]), power)

    def _searched(self, level: float | Array) -> Array:
        """Quantiles, shape (n,), each looked for in distances from the component that it is nearest to."""
        origin = self.location[0]
        distance = self._distance_from(origin, level)
        quantiles = origin + distance
        # Distances from a component so far away have fewer digits than the quantiles.
        coarse = np.flatnonzero(np.spacing(np.abs(distance)) > PRECISION * self.scale.min(axis=0))
        if len(coarse):
            part, own = self[coarse], level[coarse] if isinstance(level, np.ndarray) else level
            nearest = np.abs(part.location - quantiles[coarse]).argmin(axis=0)
            origin = part.location[nearest, np.arange(len(coarse))]
            quantiles[coarse] = origin + part._distance_from(origin, own)
        return quantiles

    def _distance_from(self, origin: Array, level: float | Array) -> Array:
        """Distances of quantiles from places (n,): they may be nearer to each other than numbers of their size."""
        return QuantileSearch(self.location - origin, self.scale, self.dof, self.log_peaks(), level).run()

    def _standardized(self, y: ArrayLike) -> Array:
        return (np.asarray(y, dtype=float) - self.location) / self.scale


def combined_dof(dof: Array, other: float) -> Array:
    """Degrees of freedom of tails that are heavy for two reasons, bounded so that deviations exist, shape of `dof`."""
    return np.maximum(1.0 / (1.0 / dof + 1.0 / other), LEAST_COMBINED_DOF)
