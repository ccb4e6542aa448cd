"""Three numbers that correct predictive distributions by how they did on rows that a model was not fitted to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ssgp.calibration import LEAST_DOF, MOST_DOF
from ssgp.mixture import StudentMixture

__all__ = ["Recalibration", "fit_recalibration"]

Array = NDArray[np.floating]

# Half the rows of a normal distribution are nearer its mean than this many deviations.
HALF_INSIDE = 0.6745
# How far the search for the scale goes on either side, as a logarithm.
MOST_STRETCH = 5.0


@dataclass(frozen=True)
class Recalibration:
    """Moves a distribution, stretches it about its mean, and gives it heavier tails.

    A mixture of Student-t's becomes one again, so that quantiles cannot cross and densities integrate to one.

    Attributes
    ----------
    shift : float
        What is added to every prediction, in the target's units.
    scale : float
        Factor of the distances from the mean.
    dof : float
        Degrees of freedom of what is left to chance, beside those that components have.
    """

    shift: float = 0.0
    scale: float = 1.0
    dof: float = MOST_DOF

    def __call__(self, mixture: StudentMixture) -> StudentMixture:
        """The mixture, recalibrated."""
        mean = mixture.mean()
        location = mean + self.shift + self.scale * (mixture.location - mean)
        dof = np.maximum(1.0 / (1.0 / mixture.dof + 1.0 / self.dof), 0.8 * LEAST_DOF)
        return StudentMixture(location, self.scale * mixture.scale, dof, mixture.share)

    def describe(self) -> str:
        """In words.

        Examples
        --------
        >>> Recalibration(-0.25, 1.5, 8.0).describe()
        'moved by -0.25, stretched 1.5 times, tails of 8 degrees of freedom at most'
        >>> Recalibration(2.0, 0.9).describe()
        'moved by +2, stretched 0.9 times, tails as they were'
        """
        tails = "as they were" if self.dof >= MOST_DOF else f"of {self.dof:.3g} degrees of freedom at most"
        return f"moved by {self.shift:+.3g}, stretched {self.scale:.3g} times, tails {tails}"


def fit_recalibration(mixtures: Sequence[StudentMixture], y: Array, weight: Array | None = None) -> Recalibration:
    """The most probable recalibration of rows that the model has not seen.

    Weak priors of the scale and the tails, around "leave it as it is", are worth a few rows.

    Parameters
    ----------
    mixtures : sequence of StudentMixture
        What the model says of n rows, some of them each.
    y : array of shape (n,)
        Their targets.
    weight : array of shape (n,), optional
        How many rows each row counts for.
    """
    counts = np.ones(len(y)) if weight is None else weight
    total, ends = float(counts.sum()), np.cumsum([mixture.location.shape[1] for mixture in mixtures])[:-1]
    parts = list(zip(mixtures, np.split(y, ends), np.split(counts, ends), strict=True))
    start, unit = _start(mixtures, y)

    def loss(free: Array) -> float:
        recalibrate = _from_free(free, start, unit)
        fit = sum(float(count @ recalibrate(mixture).log_density(own)) for mixture, own, count in parts)
        return -(fit - np.log(recalibrate.scale) ** 2 - 10.0 / recalibrate.dof) / total

    bounds = [(None, None), (-MOST_STRETCH, MOST_STRETCH), (1.0 / MOST_DOF, 1.0 / LEAST_DOF)]
    options = {"maxiter": 100, "ftol": 1e-9}
    best = minimize(loss, np.array([0.0, 0.0, 1.0 / start.dof]), method="L-BFGS-B", bounds=bounds, options=options)
    return _from_free(best.x, start, unit)


def _start(mixtures: Sequence[StudentMixture], y: Array) -> tuple[Recalibration, float]:
    """Half the errors on either side and half of them inside, and how far that is: far tails would not lead there."""
    error = y - np.concatenate([mixture.mean() for mixture in mixtures])
    deviation = np.sqrt(np.concatenate([mixture.variance() for mixture in mixtures]))
    shift = float(np.median(error))
    stretch = float(np.median(np.abs(error - shift) / deviation)) / HALF_INSIDE
    stretch = float(np.clip(stretch, np.exp(-MOST_STRETCH), np.exp(MOST_STRETCH)))
    return Recalibration(shift, stretch, dof=20.0), stretch * float(np.median(deviation))


def _from_free(free: Array, start: Recalibration, unit: float) -> Recalibration:
    shift, log_scale, tail = free.tolist()
    return Recalibration(start.shift + unit * shift, start.scale * float(np.exp(log_scale)), 1.0 / tail)
