"""Predictions of rows that do not tell all their features: mixtures over values these may have."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp.distributions.base import RandomState, StretchableDistribution
from ssgp.distributions.expectations import ValueFunction
from ssgp.distributions.normal import NormalDistribution
from ssgp.distributions.student_mixture import StudentMixture
from ssgp.engine.tiles import mean_in_order
from ssgp.tables.encoder import TableEncoder

__all__ = ["FilledDistribution", "InputRows", "encoded_rows"]

Predicted = TypeVar("Predicted", StudentMixture, NormalDistribution)

# Rows with gaps that are filled and predicted together.
ROWS_PER_CHUNK = 1 << 13


@dataclass(frozen=True)
class FilledDistribution(StretchableDistribution):
    """Distributions of n rows, of which m are replaced by mixtures.

    Attributes
    ----------
    before : StretchableDistribution
        Distributions of all n rows: those of rows that tell all their features.
    filled : StudentMixture
        Mixtures over the values that unknown features may have, of m rows.
    places : array of shape (m,)
        Numbers of these rows.
    """

    before: StretchableDistribution
    filled: StudentMixture
    places: Indices

    def __len__(self) -> int:
        return len(self.before)

    def __getitem__(self, rows: slice | Indices | Mask) -> "FilledDistribution":
        number = np.full(len(self), -1)
        number[self.places] = np.arange(len(self.places))
        chosen = number[rows]
        places = np.flatnonzero(chosen >= 0)
        return FilledDistribution(self.before[rows], self.filled[chosen[places]], places)

    def mean(self) -> Array:
        """Means, shape (n,)."""
        return self._joined(self.before.mean(), self.filled.mean())

    def variance(self) -> Array:
        """Variances, shape (n,)."""
        return self._joined(self.before.variance(), self.filled.variance())

    def std(self) -> Array:
        """Standard deviations, shape (n,)."""
        return self._joined(self.before.std(), self.filled.std())

    def logpdf(self, y: ArrayLike) -> Array:
        """Log densities at y, shape (n,)."""
        return self._joined(self.before.logpdf(y), self.filled.logpdf(self._of_filled(y)))

    def cdf(self, y: ArrayLike) -> Array:
        """Probabilities of at most y, shape (n,)."""
        return self._joined(self.before.cdf(y), self.filled.cdf(self._of_filled(y)))

    def sf(self, y: ArrayLike) -> Array:
        """Probabilities of more than y, shape (n,)."""
        return self._joined(self.before.sf(y), self.filled.sf(self._of_filled(y)))

    def sample(self, n_samples: int = 1, random_state: RandomState = 0) -> Array:
        """Independent draws, shape (n, n_samples)."""
        before = self.before.sample(n_samples, random_state)
        # The same seed again would give other rows the same random numbers.
        whole = isinstance(random_state, int | np.integer)
        second = np.random.default_rng([int(random_state), 1]) if whole else random_state
        return self._joined(before, self.filled.sample(n_samples, second))

    def excess(self, y: ArrayLike) -> Array:
        """Mean excess over y, E max(Y - y, 0), shape (n,)."""
        return self._joined(self.before.excess(y), self.filled.excess(self._of_filled(y)))

    def moments_of(self, function: ValueFunction) -> tuple[Array, Array]:
        """Means and variances of ``function(values, rows)`` of the values of each row, shapes (n,)."""
        before = self.before.moments_of(function)
        filled = self.filled.moments_of(lambda values, rows: function(values, self.places[rows]))
        return self._joined(before[0], filled[0]), self._joined(before[1], filled[1])

    def upper_variance(self) -> Array:
        """Part of the variance from above the mean m, E max(Y - m, 0)^2, shape (n,)."""
        return self._joined(self.before.upper_variance(), self.filled.upper_variance())

    def half_differences(self) -> tuple[Array, Array]:
        """Integrals of F (1 - F) below and above the mean, shapes (n,)."""
        before, filled = self.before.half_differences(), self.filled.half_differences()
        return self._joined(before[0], filled[0]), self._joined(before[1], filled[1])

    def centred(self) -> "FilledDistribution":
        """The distributions of distances from the mean."""
        return FilledDistribution(self.before.centred(), self.filled.centred(), self.places)

    def with_tails(self, dof: float) -> "FilledDistribution":
        """The distributions with heavier tails, of at most `dof` degrees of freedom."""
        return FilledDistribution(self.before.with_tails(dof), self.filled.with_tails(dof), self.places)

    def _quantile(self, level: float | Array) -> Array:
        of_filled = level if np.ndim(level) == 0 else self._of_filled(level)
        return self._joined(self.before._quantile(level), self.filled._quantile(of_filled))

    def _of_filled(self, y: ArrayLike) -> Array:
        return np.broadcast_to(np.asarray(y, dtype=float), len(self))[self.places]

    def _joined(self, before: Array, filled: Array) -> Array:
        """Numbers of all rows (n, ...), those of m rows replaced."""
        joined = np.array(before)
        joined[self.places] = filled
        return joined


@dataclass(frozen=True)
class InputRows:
    """Rows to predict, in numbers, and how to fill those that do not tell all.

    Attributes
    ----------
    X : array of shape (n, d)
        The rows, with a median or a mean for what they do not tell.
    unknown : array of shape (n, d) or None
        Which features they do not tell; None where they tell all, or nothing is there to fill them with.
    fill : callable or None
        Returns rows (m, e) as they are `encoded`, of which features (m, e) are unknown, filled in k ways: (k, m, d).
    encoded : array of shape (n, e) or None
        The rows before further steps transformed them, which `unknown` speaks of; None where there are no such steps.
    """

    X: Array
    unknown: Mask | None = None
    fill: Callable[[Array, Mask], Array] | None = None
    encoded: Array | None = None

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: slice) -> "InputRows":
        unknown, encoded = (None if part is None else part[rows] for part in (self.unknown, self.encoded))
        return InputRows(self.X[rows], cast(Mask | None, unknown), self.fill, cast(Array | None, encoded))

    def transformed(self, transform: Callable[[Array], Array]) -> "InputRows":
        """The rows after a step that transforms each by itself, (m, d) to (m, d')."""
        fill = self.fill

        def fill_and_transform(rows: Array, unknown: Mask) -> Array:
            filled = cast(Callable[[Array, Mask], Array], fill)(rows, unknown)
            return transform(filled.reshape(-1, filled.shape[-1])).reshape(*filled.shape[:2], -1)

        encoded = self.X if self.encoded is None else self.encoded
        return InputRows(transform(self.X), self.unknown, None if fill is None else fill_and_transform, encoded)

    def distribution(self, predict: Callable[[Array, slice | Indices], Predicted]) -> Predicted | FilledDistribution:
        """Distributions of the rows, where ``predict(X, numbers)`` returns those of rows X (m, d) of these numbers."""
        before = predict(self.X, slice(None))
        places, parts = self._places, []
        for n_ways, rows, numbers in self._filled(places):
            parts.append(_mixture(predict(rows, numbers).as_students(), n_ways))
        return FilledDistribution(before, StudentMixture.concatenate(parts), places) if parts else before

    def means(self, predict: Callable[[Array, slice | Indices], Array]) -> Array:
        """Numbers (..., n) of the rows, means over the ways to fill them, of what ``predict(X, numbers)`` returns."""
        before = predict(self.X, slice(None))
        places, parts = self._places, []
        for n_ways, rows, numbers in self._filled(places):
            predicted = predict(rows, numbers)
            by_way = predicted.reshape(*predicted.shape[:-1], n_ways, -1)
            parts.append(mean_in_order(np.moveaxis(by_way, -2, 0)))
        if not parts:
            return before
        joined = np.array(before)
        joined[..., places] = np.concatenate(parts, axis=-1)
        return joined

    @property
    def _places(self) -> Indices:
        """Numbers of the rows that do not tell all."""
        return np.empty(0, int) if self.unknown is None else np.flatnonzero(self.unknown.any(axis=1))

    def _filled(self, places: Indices) -> Iterator[tuple[int, Array, Indices]]:
        """Number of ways k, and rows of these places, each filled in k ways, with their numbers, in parts."""
        if self.unknown is None or self.fill is None:
            return
        for start in range(0, len(places), ROWS_PER_CHUNK):
            part = places[start : start + ROWS_PER_CHUNK]
            encoded = self.X if self.encoded is None else self.encoded
            filled = self.fill(encoded[part], self.unknown[part])
            yield len(filled), filled.reshape(-1, filled.shape[-1]), np.tile(part, len(filled))


def encoded_rows(encoder: TableEncoder, X: Any) -> InputRows:  # noqa: ANN401
    """Rows of a table in numbers, and what they do not tell, if there are rows to fill it with; a warning says so."""
    rows, unknown, donors = encoder.encoded(X), encoder.unknown_features(X), encoder.donors
    return InputRows(rows) if unknown is None or donors is None else InputRows(rows, unknown, donors.fill)


def _mixture(parts: StudentMixture, n_ways: int) -> StudentMixture:
    """Equal mixtures of k distributions each, of k m that come one way to fill the m rows after the other.

    A further way would differ more from the mean of the k than they do themselves: by so much as its expected squared
    distance exceeds their variance, components are wider.
    """
    n_components, n_rows = len(parts.location), len(parts) // n_ways
    means = parts.mean().reshape(n_ways, n_rows)
    centre = mean_in_order(means)
    unseen = 2.0 / (n_ways - 1) * mean_in_order((means - centre) ** 2) if n_ways > 1 else np.zeros(n_rows)
    # Their scales are those of Student-t's, whose variances are larger.
    more = (1.0 - 2.0 / parts.dof) * np.tile(unseen, n_ways)
    scale = np.sqrt(parts.scale**2 + more)
    location, scale, dof = (
        np.broadcast_to(numbers, parts.location.shape).reshape(n_components * n_ways, n_rows)
        for numbers in (parts.location, scale, parts.dof)
    )
    return StudentMixture(location, scale, dof, centre)
