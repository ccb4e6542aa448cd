"""Moments of the random features of rows, with gradients with respect to the parameters of the features.

`SpectralMap` has the features of SSGP, with point estimates of their frequencies. `VariationalMap` has those of VSSGP,
whose frequencies and phases have a factorised posterior: the moments of its features are closed form. `InducingMap` are
the features of DTC and PIC. Each is a function of one flat vector of parameters, for any optimiser.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.baselines.inducing import InducingFeatures
from ssgp.baselines.linear_bound import FeatureGradient, Moments
from ssgp.baselines.squared_exponential import SquaredExponential
from ssgp.saving.contents import MOST_LOG, array, flag, made_of, number
from ssgp.saving.kinds import stored
from ssgp.spectrum.features import features, frequency_gradient

__all__ = ["FeatureMap", "InducingMap", "SpectralMap", "VariationalMap"]


class FeatureMap(Protocol):
    """Features of rows, as a function of parameters."""

    @property
    def log_lengthscale(self) -> Array:
        """Log lengthscales of the inputs, shape (d,)."""
        ...

    @property
    def log_signal(self) -> float:
        """Log variance of the latent function."""
        ...

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        ...

    def to_vector(self) -> Array:
        """All learned parameters as one flat vector; log lengthscales and log signal variance come last."""
        ...

    def with_vector(self, vector: Array) -> Self:
        """The map with the parameters of a flat vector."""
        ...

    def moments(self, X: Array) -> Moments:
        """Moments of the features of rows X (n, d)."""
        ...

    def gradient(self, X: Array, moments: Moments, grad_moments: FeatureGradient) -> Array:
        """Gradient with respect to the flat vector, from that with respect to the moments of rows X (n, d)."""
        ...

    def divergence(self) -> tuple[float, Array]:
        """Divergence KL(q | p) of the parameters, and its gradient with respect to the flat vector."""
        ...


def _split(vector: Array, *shapes: tuple[int, ...]) -> list[Array]:
    """Views of a flat vector, one per shape."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(vector, ends[:-1]), shapes, strict=True)]


KERNEL = {
    "log_lengthscale": array("float64", "d", least=-MOST_LOG, most=MOST_LOG),
    "log_signal": number(-MOST_LOG, MOST_LOG),
}


@stored({"whitened": array("float64", "m", "d"), **KERNEL, "learn_frequencies": flag})
@dataclass(frozen=True)
class SpectralMap:
    """Cosines and sines of frequencies that are points.

    Attributes
    ----------
    whitened : array of shape (m, d)
        Frequencies times 2 pi l: standard normal under the prior of a squared exponential kernel.
    log_lengthscale : array of shape (d,)
        Logarithms of the lengthscales l.
    log_signal : float
        Log variance of the latent function.
    learn_frequencies : bool
        Whether `whitened` is learned.
    """

    whitened: Array
    log_lengthscale: Array
    log_signal: float
    learn_frequencies: bool = True

    @property
    def n_features(self) -> int:
        """Number of features, 2m."""
        return 2 * len(self.whitened)

    @property
    def frequencies(self) -> Array:
        """Frequencies in cycles per unit of the inputs, shape (m, d)."""
        return self.whitened / (2.0 * np.pi * np.exp(self.log_lengthscale))

    def to_vector(self) -> Array:
        """Frequencies, if they are learned, log lengthscales and log signal variance."""
        frequencies = [self.whitened.ravel()] if self.learn_frequencies else []
        return np.concatenate([*frequencies, self.log_lengthscale, [self.log_signal]])

    def with_vector(self, vector: Array) -> "SpectralMap":
        """The map with the parameters of a flat vector."""
        d, whitened = len(self.log_lengthscale), self.whitened
        if self.learn_frequencies:
            whitened = vector[: whitened.size].reshape(whitened.shape)
        return SpectralMap(whitened, vector[-1 - d : -1], float(vector[-1]), self.learn_frequencies)

    def moments(self, X: Array) -> Moments:
        """The features themselves, in float64, as line searches need them."""
        phi = features(X.astype(float), self.frequencies)
        phi *= np.sqrt(np.exp(self.log_signal) / len(self.whitened))
        return Moments(phi)

    def gradient(self, X: Array, moments: Moments, grad_moments: FeatureGradient) -> Array:
        """Gradient with respect to frequencies, log lengthscales and log signal variance."""
        grad_mean = grad_moments.mean
        grad_frequencies = frequency_gradient(grad_mean, moments.mean, X).astype(float)
        grad_whitened = grad_frequencies / (2.0 * np.pi * np.exp(self.log_lengthscale))
        grad_lengths = -np.einsum("md,md->d", grad_frequencies, self.frequencies)
        grad_signal = 0.5 * float(np.einsum("nq,nq->", grad_mean, moments.mean, dtype=float))
        learned = [grad_whitened.ravel()] if self.learn_frequencies else []
        return np.concatenate([*learned, grad_lengths, [grad_signal]])

    def divergence(self) -> tuple[float, Array]:
        """Zero: frequencies are points."""
        return 0.0, np.zeros(self.to_vector().size)


@stored(
    {
        "mean": array("float64", "K", "d"),
        "log_deviation": array("float64", "K", "d", least=-MOST_LOG, most=MOST_LOG),
        "origin": array("float64", "K", "d"),
        "phase": array("float64", "K"),
        "width_logit": array("float64", "K", least=-MOST_LOG, most=MOST_LOG),
        **KERNEL,
    },
    renamed={"mean": "centre", "origin": "place", "phase": "middle", "width_logit": "width"},
)
@dataclass(frozen=True)
class VariationalMap:
    """Cosines ``sqrt(2 signal / K) cos(e . (x - z) / l + b)``, e ~ N(mean, deviation^2), b ~ U(phase -+ half width).

    Attributes
    ----------
    mean, log_deviation : arrays of shape (K, d)
        Means and log deviations of the whitened frequencies e, standard normal under the prior.
    origin : array of shape (K, d)
        Inputs z, at which a feature's phase is least uncertain.
    phase, width_logit : arrays of shape (K,)
        Centres of the phases b, uniform under the prior, and logits of their half widths as shares of pi.
    log_lengthscale : array of shape (d,)
        Logarithms of the lengthscales l.
    log_signal : float
        Log variance of the latent function.
    """

    mean: Array
    log_deviation: Array
    origin: Array
    phase: Array
    width_logit: Array
    log_lengthscale: Array
    log_signal: float

    @property
    def n_features(self) -> int:
        """Number of features, K."""
        return len(self.phase)

    def to_vector(self) -> Array:
        """All fields, in their order."""
        parts = (self.mean, self.log_deviation, self.origin, self.phase, self.width_logit, self.log_lengthscale)
        return np.concatenate([*(part.ravel() for part in parts), [self.log_signal]])

    def with_vector(self, vector: Array) -> "VariationalMap":
        """The map with the parameters of a flat vector."""
        shape, (K, d) = self.mean.shape, self.mean.shape
        *parts, signal = _split(vector, shape, shape, shape, (K,), (K,), (d,), (1,))
        return VariationalMap(*parts, log_signal=float(signal[0]))

    @property
    def half_width(self) -> Array:
        """Half widths of the intervals of the phases, up to pi, shape (K,)."""
        return np.pi / (1.0 + np.exp(-self.width_logit))

    def moments(self, X: Array) -> Moments:
        """Means and variances of the features under q."""
        phase, decay = self._phase_and_decay(X)
        half, amplitude = self.half_width, 2.0 * np.exp(self.log_signal) / len(self.phase)
        mean = np.sqrt(amplitude) * np.sinc(half / np.pi) * np.exp(-0.5 * decay) * np.cos(phase)
        square = 0.5 * amplitude * (1.0 + np.sinc(2.0 * half / np.pi) * np.exp(-2.0 * decay) * np.cos(2.0 * phase))
        return Moments(mean, np.maximum(square - mean * mean, 0.0))

    def _phase_and_decay(self, X: Array) -> tuple[Array, Array]:
        """Phases under the means of q, and variances of the phases under q, shapes (n, K)."""
        scale, variance = np.exp(self.log_lengthscale), np.exp(2.0 * self.log_deviation)
        u, w = X / scale, self.origin / scale
        phase = u @ self.mean.T + (self.phase - np.einsum("kd,kd->k", self.mean, w))
        decay = (u * u) @ variance.T - 2.0 * (u @ (variance * w).T) + np.einsum("kd,kd->k", variance, w * w)
        return phase, np.maximum(decay, 0.0)

    def gradient(self, X: Array, moments: Moments, grad_moments: FeatureGradient) -> Array:
        """Gradient with respect to all parameters, through phases, their variances and their widths."""
        phase, decay = self._phase_and_decay(X)
        half, signal = self.half_width, np.exp(self.log_signal)
        amplitude = 2.0 * signal / len(self.phase)
        grad_square = np.zeros_like(moments.mean) if grad_moments.variance is None else grad_moments.variance
        grad_mean = grad_moments.mean - 2.0 * moments.mean * grad_square
        once, twice = np.sinc(half / np.pi), np.sinc(2.0 * half / np.pi)
        wave, wave2 = np.sqrt(amplitude) * np.exp(-0.5 * decay), 0.5 * amplitude * np.exp(-2.0 * decay)
        cos, cos2 = wave * np.cos(phase), wave2 * np.cos(2.0 * phase)
        grad_phase = -grad_mean * once * wave * np.sin(phase) - 2.0 * grad_square * twice * wave2 * np.sin(2.0 * phase)
        grad_decay = -0.5 * grad_mean * once * cos - 2.0 * grad_square * twice * cos2
        slope = np.cos(half) / half - np.sin(half) / half**2
        slope2 = np.cos(2.0 * half) / half - np.sin(2.0 * half) / (2.0 * half**2)
        grad_half = slope * (grad_mean * cos).sum(axis=0) + slope2 * (grad_square * cos2).sum(axis=0)
        grad_width = grad_half * half * (1.0 - half / np.pi)
        grad_signal = float(np.sum(grad_mean * (0.5 * once * cos) + grad_square * (0.5 * amplitude + twice * cos2)))
        return np.concatenate([self._through_phase_and_decay(X, grad_phase, grad_decay, grad_width), [grad_signal]])

    def _through_phase_and_decay(self, X: Array, grad_phase: Array, grad_decay: Array, grad_width: Array) -> Array:
        """Gradient with respect to all but the signal, from those with respect to phases (n, K) and decays (n, K)."""
        scale, variance = np.exp(self.log_lengthscale), np.exp(2.0 * self.log_deviation)
        u, w = X / scale, self.origin / scale
        phases, decays, decays_u = grad_phase.sum(axis=0)[:, None], grad_decay.sum(axis=0)[:, None], grad_decay.T @ u
        grad_e = grad_phase.T @ u - w * phases
        grad_variance = grad_decay.T @ (u * u) - 2.0 * decays_u * w + w * w * decays
        grad_w = -self.mean * phases - 2.0 * variance * decays_u + 2.0 * variance * w * decays
        grad_u = grad_phase @ self.mean + 2.0 * u * (grad_decay @ variance) - 2.0 * grad_decay @ (variance * w)
        grad_lengths = -np.einsum("nd,nd->d", grad_u, u) - np.einsum("kd,kd->d", grad_w, w)
        parts = (grad_e, 2.0 * variance * grad_variance, grad_w / scale, phases, grad_width, grad_lengths)
        return np.concatenate([part.ravel() for part in parts])

    def divergence(self) -> tuple[float, Array]:
        """Divergence of frequencies from N(0, I), and of phases from the uniform distribution on the circle."""
        variance, half = np.exp(2.0 * self.log_deviation), self.half_width
        normal = 0.5 * np.sum(self.mean**2 + variance - 1.0) - np.sum(self.log_deviation)
        uniform = np.sum(np.log(np.pi / half))
        grad_logs = np.zeros(len(self.log_lengthscale) + 1)
        grad_phase, grad_width = np.zeros_like(self.phase), half / np.pi - 1.0
        parts = (self.mean, variance - 1.0, np.zeros_like(self.origin), grad_phase, grad_width, grad_logs)
        return float(normal + uniform), np.concatenate([part.ravel() for part in parts])


def _check_inducing(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
    if parts.inducing is not None:
        expected = InducingMap(parts.inputs, parts.log_lengthscale, parts.log_signal).inducing
        found = parts.inducing
        yield np.array_equal(found.inputs, expected.inputs), "inducing inputs must be the same in both places"
        kernels = np.append(found.kernel.lengthscale, found.kernel.variance)
        logs = np.append(parts.log_lengthscale, parts.log_signal)
        yield np.allclose(np.log(kernels), logs, rtol=1e-9, atol=1e-9), "kernels must be the same in both places"


@stored(
    {"inputs": array("float64", "k", "d"), **KERNEL},
    relations=_check_inducing,
    renamed={"inputs": "places"},
    caches={
        "inducing": made_of(
            InducingFeatures, k=lambda features: len(features.inputs), d=lambda features: features.inputs.shape[1]
        )
    },
)
@dataclass(frozen=True)
class InducingMap:
    """Features of inducing inputs.

    Attributes
    ----------
    inputs : array of shape (k, d)
        Inducing inputs.
    log_lengthscale : array of shape (d,)
        Logarithms of the lengthscales l.
    log_signal : float
        Log variance of the latent function.
    """

    inputs: Array
    log_lengthscale: Array
    log_signal: float

    @cached_property
    def inducing(self) -> InducingFeatures:
        """The features as a function of the kernel."""
        kernel = SquaredExponential(np.exp(self.log_lengthscale), float(np.exp(self.log_signal)))
        return InducingFeatures(self.inputs, kernel)

    @property
    def n_features(self) -> int:
        """Number of features, k."""
        return len(self.inputs)

    def to_vector(self) -> Array:
        """Inducing inputs, log lengthscales and log signal variance."""
        return np.concatenate([self.inputs.ravel(), self.log_lengthscale, [self.log_signal]])

    def with_vector(self, vector: Array) -> "InducingMap":
        """The map with the parameters of a flat vector."""
        shape = self.inputs.shape
        inputs, lengths, signal = _split(vector, shape, (shape[1],), (1,))
        return InducingMap(inputs, lengths, float(signal[0]))

    def moments(self, X: Array) -> Moments:
        """Features psi, and the variances given the inducing values."""
        psi = self.inducing(X.astype(float))
        return Moments(psi, None, self.inducing.residual(psi))

    def gradient(self, X: Array, moments: Moments, grad_moments: FeatureGradient) -> Array:
        """Gradient with respect to inducing inputs, log lengthscales and log signal variance."""
        X, kernel = X.astype(float), self.inducing.kernel
        grad_psi, grad_signal, grad_residual = grad_moments.mean, 0.0, grad_moments.residual
        if grad_residual is not None:
            grad_psi = grad_psi - 2.0 * grad_residual[:, None] * moments.mean
            grad_signal = float(grad_residual.sum()) * kernel.variance
        gradient = self.inducing.gradient(X, kernel(X, self.inputs), moments.mean, grad_psi)
        grad_signal += gradient.log_variance
        return np.concatenate([gradient.inputs.ravel(), gradient.log_lengthscale, [grad_signal]])

    def divergence(self) -> tuple[float, Array]:
        """Zero: inducing inputs are points."""
        return 0.0, np.zeros(self.to_vector().size)
