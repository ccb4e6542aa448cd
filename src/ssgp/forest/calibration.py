"""Calibration of the predictions of leaves by rows that were held out of them."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.optimize import minimize

from ssgp._utils.arrays import Array
from ssgp._utils.weights import MOST_SHARE_OF_ERRORS, limit_share
from ssgp.distributions.base import LEAST_DOF, MOST_DOF
from ssgp.distributions.student_mixture import StudentMixture, combined_dof
from ssgp.engine.tiles import mean_in_order
from ssgp.saving.contents import TINIEST, number
from ssgp.saving.kinds import stored
from ssgp.spectrum.noise import estimated_noise

__all__ = ["Calibration", "Components", "fit_calibration"]


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

    @property
    def noise_variance(self) -> Array:
        """Estimates b_n / a_n of the noise variance, shape (T, n)."""
        return estimated_noise(self.shape, self.scale)

    def noise_deviation(self) -> Array:
        """Deviations of the noise, averaged over the components as variances, shape (n,)."""
        return np.sqrt(mean_in_order(self.noise_variance))

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
    }
)
@dataclass(frozen=True)
class Calibration:
    """Four numbers that turn leaves' predictions into an honest mixture.

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
    """

    noise: float = 1.0
    leverage: float = 1.0
    spread: float = 1.0
    dof: float = MOST_DOF

    def __call__(self, components: Components) -> StudentMixture:
        """The calibrated mixture of the components."""
        squared = components.noise_variance * (1.0 + self.leverage * components.leverage)
        return StudentMixture(self.locations(components.mean), self.noise * np.sqrt(squared), self._dof(components))

    def locations(self, means: Array) -> Array:
        """Calibrated locations of components with means (T, n), shape (T, n)."""
        mean = mean_in_order(means)
        return mean + self.spread * (means - mean)

    def noise_variance(self, components: Components) -> Array:
        """Variance of the noise alone, averaged over the components, shape (n,)."""
        dof = self._dof(components)
        variance = self.noise**2 * components.noise_variance * dof / (dof - 2.0)
        return mean_in_order(variance)

    def _dof(self, components: Components) -> Array:
        return combined_dof(2.0 * components.shape, self.dof)


def fit_calibration(components: Components, y: Array, weight: Array | None = None) -> tuple[Calibration, float]:
    """The calibration under which held-out rows are most probable, and their mean log density.

    The hyperpriors are worth a few rows: enough to decide where there is nothing to learn from.
    """
    share, total = np.full(len(y), 1.0 / len(y)), float(len(y))
    if weight is not None:
        limited = limit_share(weight, MOST_SHARE_OF_ERRORS)
        total = float(limited.sum())
        share = limited / total

    def mean_log_density(free: Array) -> float:
        return float(share @ _from_free(free)(components).logpdf(y))

    def loss(free: Array) -> float:
        # Around: noise and leverage as they are, half the spread, 20 degrees of freedom.
        return -mean_log_density(free) + 2.0 * float(np.sum(free * free)) / total

    bounds = [(-5.0, 5.0), (-5.0, 5.0), (-6.0, 6.0), (-6.0, 6.0)]
    best = minimize(loss, np.zeros(4), method="L-BFGS-B", bounds=bounds, options={"maxiter": 40, "ftol": 1e-7})
    return _from_free(best.x), mean_log_density(best.x)


def _from_free(free: Array) -> Calibration:
    noise, leverage, spread, dof = free.tolist()
    return Calibration(
        noise=float(np.exp(0.5 * noise)),
        leverage=float(np.exp(leverage)),
        spread=float(1.0 / (1.0 + np.exp(-spread))),
        dof=LEAST_DOF + 17.0 * float(np.exp(dof)),
    )
