"""Random features of a row, as moments, with gradients towards the parameters that make them.

`SpectralMap` are the waves of SSGP, at frequencies that are known. `VariationalMap` are those of VSSGP, whose
frequencies and phases have a factorised posterior: the moments of its features are closed form. `InducingMap` are the
features of DTC and PIC. Each is a function of one flat vector, which can be handed to any optimiser.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.baselines.inducing import InducingFeatures
from ssgp.baselines.linear_bound import FeatureGradient, Moments
from ssgp.baselines.squared_exponential import SquaredExponential
from ssgp.saving.kinds import stored
from ssgp.spectrum.features import features, frequency_gradient

__all__ = ["FeatureMap", "InducingMap", "SpectralMap", "VariationalMap"]


class FeatureMap(Protocol):
    """What bounds and optimisers ask of features."""

    @property
    def log_lengthscale(self) -> Array:
        """Of the inputs, shape (d,)."""
        ...

    @property
    def log_signal(self) -> float:
        """Log variance of the latent function."""
        ...

    def to_vector(self) -> Array:
        """Everything that can be learned, flat; log lengthscales and log signal variance come last."""
        ...

    def with_vector(self, vector: Array) -> Self:
        """The same map with other values."""
        ...

    def moments(self, X: Array) -> Moments:
        """Of the features of rows X (n, d)."""
        ...

    def gradient(self, X: Array, moments: Moments, by: FeatureGradient) -> Array:
        """Carry a gradient with respect to the moments over to the flat vector."""
        ...

    def divergence(self) -> tuple[float, Array]:
        """KL of the parameters' posterior from their prior, and its gradient with respect to the flat vector."""
        ...


def _split(vector: Array, *shapes: tuple[int, ...]) -> list[Array]:
    """Views of a flat vector."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(vector, ends[:-1]), shapes, strict=True)]


@stored()
@dataclass(frozen=True)
class SpectralMap:
    """Cosines and sines of known frequencies.

    Attributes
    ----------
    whitened : array of shape (m, d)
        Frequencies times 2 pi l: standard normal under the prior of a squared exponential kernel.
    log_lengthscale : array of shape (d,)
        log l.
    log_signal : float
        Log variance of the latent function.
    learn_frequencies : bool
        Whether `whitened` can be learned.
    """

    whitened: Array
    log_lengthscale: Array
    log_signal: float
    learn_frequencies: bool = True

    @property
    def frequencies(self) -> Array:
        """In cycles a unit of the inputs, shape (m, d)."""
        return self.whitened / (2.0 * np.pi * np.exp(self.log_lengthscale))

    def to_vector(self) -> Array:
        """Frequencies, if they are learned, log lengthscales and log signal variance."""
        own = [self.whitened.ravel()] if self.learn_frequencies else []
        return np.concatenate([*own, self.log_lengthscale, [self.log_signal]])

    def with_vector(self, vector: Array) -> "SpectralMap":
        """The map of these values."""
        d, whitened = len(self.log_lengthscale), self.whitened
        if self.learn_frequencies:
            whitened = vector[: whitened.size].reshape(whitened.shape)
        return SpectralMap(whitened, vector[-1 - d : -1], float(vector[-1]), self.learn_frequencies)

    def moments(self, X: Array) -> Moments:
        """The features themselves, in float64: line searches do not get along with rounding."""
        phi = features(X.astype(float), self.frequencies)
        phi *= np.sqrt(np.exp(self.log_signal) / len(self.whitened))
        return Moments(phi)

    def gradient(self, X: Array, moments: Moments, by: FeatureGradient) -> Array:
        """Towards frequencies, log lengthscales and log signal variance."""
        by_frequency = frequency_gradient(by.mean, moments.mean, X).astype(float)
        own = [(by_frequency / (2.0 * np.pi * np.exp(self.log_lengthscale))).ravel()] if self.learn_frequencies else []
        by_length = -np.einsum("md,md->d", by_frequency, self.frequencies)
        by_signal = 0.5 * float(np.einsum("nq,nq->", by.mean, moments.mean, dtype=float))
        return np.concatenate([*own, by_length, [by_signal]])

    def divergence(self) -> tuple[float, Array]:
        """None: frequencies are points."""
        return 0.0, np.zeros(self.to_vector().size)


@stored()
@dataclass(frozen=True)
class VariationalMap:
    """Cosines ``sqrt(2 signal / K) cos(e . (x - z) / l + b)``, e ~ N(centre, deviation^2), b ~ U(middle -+ half width).

    Attributes
    ----------
    centre, log_deviation : arrays of shape (K, d)
        Of the whitened frequencies e, standard normal under the prior.
    place : array of shape (K, d)
        z, around which a wave's phase is known best.
    middle, width : arrays of shape (K,)
        Of the phases b, uniform under the prior: the half width is pi times the logistic function of `width`.
    log_lengthscale : array of shape (d,)
        log l.
    log_signal : float
        Log variance of the latent function.
    """

    centre: Array
    log_deviation: Array
    place: Array
    middle: Array
    width: Array
    log_lengthscale: Array
    log_signal: float

    def to_vector(self) -> Array:
        """All of it."""
        parts = (self.centre, self.log_deviation, self.place, self.middle, self.width, self.log_lengthscale)
        return np.concatenate([*(part.ravel() for part in parts), [self.log_signal]])

    def with_vector(self, vector: Array) -> "VariationalMap":
        """The map of these values."""
        shape, (K, d) = self.centre.shape, self.centre.shape
        parts = _split(vector, shape, shape, shape, (K,), (K,), (d,), (1,))
        centre, deviation, place, middle, width, lengths, signal = parts
        return VariationalMap(centre, deviation, place, middle, width, lengths, float(signal[0]))

    @property
    def half_width(self) -> Array:
        """Of the phases' intervals, shape (K,), up to pi."""
        return np.pi / (1.0 + np.exp(-self.width))

    def moments(self, X: Array) -> Moments:
        """Means and variances of the features under q."""
        phase, decay = self._phase_and_decay(X)
        half, amplitude = self.half_width, 2.0 * np.exp(self.log_signal) / len(self.middle)
        mean = np.sqrt(amplitude) * np.sinc(half / np.pi) * np.exp(-0.5 * decay) * np.cos(phase)
        square = 0.5 * amplitude * (1.0 + np.sinc(2.0 * half / np.pi) * np.exp(-2.0 * decay) * np.cos(2.0 * phase))
        return Moments(mean, np.maximum(square - mean * mean, 0.0))

    def _phase_and_decay(self, X: Array) -> tuple[Array, Array]:
        """Phase at the centre of q, and variance of the phase under q, shapes (n, K)."""
        scale, variance = np.exp(self.log_lengthscale), np.exp(2.0 * self.log_deviation)
        u, w = X / scale, self.place / scale
        phase = u @ self.centre.T + (self.middle - np.einsum("kd,kd->k", self.centre, w))
        decay = (u * u) @ variance.T - 2.0 * (u @ (variance * w).T) + np.einsum("kd,kd->k", variance, w * w)
        return phase, np.maximum(decay, 0.0)

    def gradient(self, X: Array, moments: Moments, by: FeatureGradient) -> Array:
        """Towards all parameters, through phase, decay and the phases' widths."""
        phase, decay = self._phase_and_decay(X)
        half, signal = self.half_width, np.exp(self.log_signal)
        amplitude = 2.0 * signal / len(self.middle)
        by_square = np.zeros_like(moments.mean) if by.variance is None else by.variance
        by_mean = by.mean - 2.0 * moments.mean * by_square
        once, twice = np.sinc(half / np.pi), np.sinc(2.0 * half / np.pi)
        fading, fast = np.sqrt(amplitude) * np.exp(-0.5 * decay), 0.5 * amplitude * np.exp(-2.0 * decay)
        cos, cos2 = fading * np.cos(phase), fast * np.cos(2.0 * phase)
        by_phase = -by_mean * once * fading * np.sin(phase) - 2.0 * by_square * twice * fast * np.sin(2.0 * phase)
        by_decay = -0.5 * by_mean * once * cos - 2.0 * by_square * twice * cos2
        slope = np.cos(half) / half - np.sin(half) / half**2
        slope2 = np.cos(2.0 * half) / half - np.sin(2.0 * half) / (2.0 * half**2)
        by_half = slope * (by_mean * cos).sum(axis=0) + slope2 * (by_square * cos2).sum(axis=0)
        by_width = by_half * half * (1.0 - half / np.pi)
        by_signal = float(np.sum(by_mean * (0.5 * once * cos) + by_square * (0.5 * amplitude + twice * cos2)))
        return np.concatenate([self._through_phase_and_decay(X, by_phase, by_decay, by_width), [by_signal]])

    def _through_phase_and_decay(self, X: Array, by_phase: Array, by_decay: Array, by_width: Array) -> Array:
        """Towards frequencies, places, phases and lengthscales."""
        scale, variance = np.exp(self.log_lengthscale), np.exp(2.0 * self.log_deviation)
        u, w = X / scale, self.place / scale
        phases, decays = by_phase.sum(axis=0)[:, None], by_decay.sum(axis=0)[:, None]
        along = by_decay.T @ u
        by_centre = by_phase.T @ u - w * phases
        by_variance = by_decay.T @ (u * u) - 2.0 * along * w + w * w * decays
        by_w = -self.centre * phases - 2.0 * variance * along + 2.0 * variance * w * decays
        by_u = by_phase @ self.centre + 2.0 * u * (by_decay @ variance) - 2.0 * by_decay @ (variance * w)
        by_length = -np.einsum("nd,nd->d", by_u, u) - np.einsum("kd,kd->d", by_w, w)
        parts = (by_centre, 2.0 * variance * by_variance, by_w / scale, phases, by_width, by_length)
        return np.concatenate([part.ravel() for part in parts])

    def divergence(self) -> tuple[float, Array]:
        """Of frequencies from N(0, I), and of phases from the whole circle."""
        variance, half = np.exp(2.0 * self.log_deviation), self.half_width
        normal = 0.5 * np.sum(self.centre**2 + variance - 1.0) - np.sum(self.log_deviation)
        uniform = np.sum(np.log(np.pi / half))
        rest = np.zeros(len(self.log_lengthscale) + 1)
        parts = (self.centre, variance - 1.0, np.zeros_like(self.place), np.zeros_like(self.middle))
        by_width = half / np.pi - 1.0
        return float(normal + uniform), np.concatenate([*(part.ravel() for part in parts), by_width, rest])


@stored(caches=("inducing",))
@dataclass(frozen=True)
class InducingMap:
    """Features of inducing inputs.

    Attributes
    ----------
    places : array of shape (k, d)
        Inducing inputs.
    log_lengthscale : array of shape (d,)
        log l.
    log_signal : float
        Log variance of the latent function.
    """

    places: Array
    log_lengthscale: Array
    log_signal: float

    @cached_property
    def inducing(self) -> InducingFeatures:
        """Psi."""
        kernel = SquaredExponential(np.exp(self.log_lengthscale), float(np.exp(self.log_signal)))
        return InducingFeatures(self.places, kernel)

    def to_vector(self) -> Array:
        """Inducing inputs, log lengthscales and log signal variance."""
        return np.concatenate([self.places.ravel(), self.log_lengthscale, [self.log_signal]])

    def with_vector(self, vector: Array) -> "InducingMap":
        """The map of these values."""
        shape = self.places.shape
        places, lengths, signal = _split(vector, shape, (shape[1],), (1,))
        return InducingMap(places, lengths, float(signal[0]))

    def moments(self, X: Array) -> Moments:
        """psi, and what it leaves."""
        psi = self.inducing(X.astype(float))
        return Moments(psi, None, self.inducing.residual(psi))

    def gradient(self, X: Array, moments: Moments, by: FeatureGradient) -> Array:
        """Towards inducing inputs, log lengthscales and log signal variance."""
        X = X.astype(float)
        by_psi, by_residual = by.mean, 0.0
        if by.residual is not None:
            by_psi = by_psi - 2.0 * by.residual[:, None] * moments.mean
            by_residual = float(by.residual.sum()) * self.inducing.kernel.variance
        K = self.inducing.kernel(X, self.places)
        found = self.inducing.gradient(X, K, moments.mean, by_psi)
        return np.concatenate([found.places.ravel(), found.log_lengthscale, [found.log_variance + by_residual]])

    def divergence(self) -> tuple[float, Array]:
        """None: inducing inputs are points."""
        return 0.0, np.zeros(self.places.size + len(self.log_lengthscale) + 1)
