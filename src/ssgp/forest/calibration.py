"""Calibration of the predictions of leaves by rows that were held out of them."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.distributions.base import LEAST_DOF, MOST_DOF
from ssgp.distributions.student_mixture import StudentMixture, combined_dof
from ssgp.engine.tiles import mean_in_order
from ssgp.forest.noise_shape import NoiseShape, NoiseTrend, RowNoise
from ssgp.saving.contents import TINIEST, made_of, number, optional
from ssgp.saving.kinds import stored
from ssgp.spectrum.noise import estimated_noise

__all__ = ["Calibration", "Components"]


@dataclass(frozen=True)
class Components:
    """Predictions of n rows by T trees: arrays of shape (T, n), in the units of the standardised target.

    Attributes
    ----------
    mean : array
        Location of the prediction.
    leverage : array
        phi^T A^-1 phi: how much the uncertain weights add to the noise, relative to it.
    shape, scale : arrays
        a_n and b_n of the noise.
    """

    mean: Array
    leverage: Array
    shape: Array
    scale: Array

    def take(self, n_components: int) -> "Components":
        """The first components."""
        return self._map(lambda part: part[:n_components])

    def shifted(self, by: Array) -> "Components":
        """The same with the locations of all components moved by (n,)."""
        return replace(self, mean=self.mean + by)

    def rescaled(self, by: Array) -> "Components":
        """The same with the deviations of the noise of all components times exp(by) (n,)."""
        return replace(self, scale=self.scale * np.exp(2.0 * by))

    @property
    def noise_variance(self) -> Array:
        """Estimates b_n / a_n of the noise variance, shape (T, n)."""
        return estimated_noise(self.shape, self.scale)

    def noise_deviation(self) -> Array:
        """Deviations of the noise, averaged over the components as variances, shape (n,)."""
        return np.sqrt(mean_in_order(self.noise_variance))

    def row_noise(self, together: bool) -> RowNoise:
        """What each of the components says of the noise, or, `together`, their mean."""
        variance, mean = self.noise_variance, mean_in_order(self.mean)
        usual = mean_in_order(variance)
        log_ratio = np.log(variance / usual)
        leverage, shape = self.leverage, self.shape
        if together:
            leverage = (mean_in_order(variance * leverage) / usual)[None]
            shape = mean_in_order(shape)[None]
        return RowNoise(
            mean=mean,
            log_noise=np.log(usual),
            log_ratio=np.zeros_like(leverage) if together else log_ratio,
            leverage=leverage,
            disagreement=mean_in_order((self.mean - mean) ** 2) / usual,
            variation=np.sqrt(mean_in_order((log_ratio - mean_in_order(log_ratio)) ** 2)),
            dof=2.0 * shape,
        )

    def every(self, step: int, first: int) -> "Components":
        """Components `first`, `first` + `step`, and so on."""
        return self._map(lambda part: part[first::step])

    def rows(self, rows: slice) -> "Components":
        """Components of a slice of the rows."""
        return self._map(lambda part: part[:, rows])

    def _map(self, function: Callable[[Array], Array]) -> "Components":
        return Components(**{field.name: function(getattr(self, field.name)) for field in fields(self)})

    @staticmethod
    def concatenate(parts: "list[Components]", axis: int) -> "Components":
        """Components (axis 0) or rows (axis 1) of several parts."""
        names = [field.name for field in fields(Components)]
        return Components(**{name: np.concatenate([getattr(part, name) for part in parts], axis) for name in names})


@stored(
    {
        "noise": number(TINIEST),
        "leverage": number(0.0),
        "spread": number(0.0, 1.0),
        "dof": number(LEAST_DOF),
        "trend": optional(made_of(NoiseTrend)),
        "shape": optional(made_of(NoiseShape)),
    },
    added=("trend", "shape"),
    relations=lambda parts: [(parts.shape is None or parts.trend is not None, "a shape needs a trend")],
)
@dataclass(frozen=True)
class Calibration:
    """Numbers that turn leaves' predictions into an honest distribution.

    Attributes
    ----------
    noise : float
        Factor of the scale of the noise.
    leverage : float
        Factor of the leverage.
    spread : float
        How far the components stay apart around their mean, from 0 (not at all) to 1 (as they are). The
        mean of the trees is nearer the truth than any of them, and the mixture need not pretend otherwise.
    dof : float
        Degrees of freedom of the target's noise given its scale: leaves take it for normal, tables
        have heavier tails.
    trend : NoiseTrend or None
        How the scale goes with what the trees say of a row; None, as in models of earlier versions, if it is theirs.
    shape : NoiseShape or None
        Shape of the noise around the mean of all trees; None if every tree has a component of its own.
    """

    noise: float = 1.0
    leverage: float = 1.0
    spread: float = 1.0
    dof: float = MOST_DOF
    trend: NoiseTrend | None = None
    shape: NoiseShape | None = None

    def __call__(self, components: Components) -> StudentMixture:
        """The calibrated mixture of the components."""
        if self.trend is None:
            squared = components.noise_variance * (1.0 + self.leverage * components.leverage)
            dof = self._dof(2.0 * components.shape)
            return StudentMixture(self.locations(components.mean), self.noise * np.sqrt(squared), dof)
        return self.of_rows(components.mean, components.row_noise(self.shape is not None), self.trend)

    def of_rows(self, means: Array, rows: RowNoise, trend: NoiseTrend) -> StudentMixture:
        """Mixtures of rows with means (T, n) of the components, by a trend."""
        scale, dof = self.noise * trend.scale(rows, self.leverage), self._dof(rows.dof)
        if self.shape is None:
            return StudentMixture(self.locations(means), scale, dof)
        return self.shape.mixture(rows.mean, scale[0], dof[0], trend.position(rows.mean))

    def locations(self, means: Array) -> Array:
        """Calibrated locations of components with means (T, n), shape (T, n)."""
        mean = mean_in_order(means)
        return mean + self.spread * (means - mean)

    def centres(self, means: Array) -> Array:
        """What the mean is the mean of, of components with means (T, n): their locations, or one for all, (1, n)."""
        return self.locations(means) if self.shape is None else mean_in_order(means)[None]

    def noise_variance(self, components: Components) -> Array:
        """Variance of the noise alone, averaged over the components, shape (n,)."""
        if self.trend is None:
            dof = self._dof(2.0 * components.shape)
            return mean_in_order(self.noise**2 * components.noise_variance * dof / (dof - 2.0))
        rows = components.row_noise(self.shape is not None)
        alone = replace(rows, leverage=np.zeros_like(rows.leverage), disagreement=np.zeros_like(rows.disagreement))
        return replace(self, spread=0.0).of_rows(components.mean, alone, self.trend).variance()

    def _dof(self, dof: Array) -> Array:
        return combined_dof(dof, self.dof)
