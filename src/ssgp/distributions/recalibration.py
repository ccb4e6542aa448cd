"""Four numbers that correct predictive distributions, learned from held-out rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from ssgp._utils.arrays import Array
from ssgp._utils.weights import MOST_SHARE_OF_ERRORS, limit_share
from ssgp.distributions.atoms import AtomDistribution
from ssgp.distributions.base import LEAST_DOF, MOST_DOF, Distribution, StretchableDistribution
from ssgp.distributions.mapped import MappedDistribution
from ssgp.distributions.stretched import StretchedDistribution
from ssgp.saving.contents import TINIEST, number
from ssgp.saving.kinds import stored

__all__ = ["Recalibration", "fit_recalibration"]

# Deviations from the mean within which half of a normal distribution lies.
HALF_INSIDE = 0.6745
# Largest logarithm of a factor that the search reaches on either side of its start.
MOST_STRETCH = 5.0
# Fewer rows that are at no atom tell nothing.
LEAST_ELSEWHERE = 20
# Degrees of freedom above which tails look normal.
NEARLY_NORMAL = 1000.0


@stored(
    {
        "shift": number(),
        "below": number(TINIEST),
        "above": number(TINIEST),
        "dof": number(LEAST_DOF, MOST_DOF),
    }
)
@dataclass(frozen=True)
class Recalibration:
    """A shift of a distribution, factors that stretch it below and above its mean, and heavier tails.

    Attributes
    ----------
    shift : float
        Number added to every mean, in the target's units, or in those of its map where there is one.
    below, above : float
        Factors of the distances from the mean on its two sides.
    dof : float
        Degrees of freedom that limit those of the components.
    """

    shift: float = 0.0
    below: float = 1.0
    above: float = 1.0
    dof: float = MOST_DOF

    def __call__(self, before: Distribution) -> Distribution:
        """Distributions with heavier tails, moved and stretched; of mapped targets before they are mapped back.

        Where there are atoms, it is of what is elsewhere.
        """
        if isinstance(before, AtomDistribution):
            return replace(before, elsewhere=self(before.elsewhere))
        if isinstance(before, MappedDistribution):
            return replace(before, before=self._of_numbers(before.before))
        return self._of_numbers(before)

    def _of_numbers(self, before: Any) -> StretchedDistribution:  # noqa: ANN401  a StretchableDistribution
        return StretchedDistribution(before.with_tails(self.dof), self.shift, self.below, self.above)

    def describe(self) -> str:
        """A description for people.

        Examples
        --------
        >>> Recalibration(-0.25, 1.5, 1.2, 8.0).describe()
        'moved by -0.25, stretched 1.5 times below the mean and 1.2 times above, tails of 8 degrees of freedom at most'
        >>> Recalibration(2.0, 0.9, 0.8).describe()
        'moved by +2, stretched 0.9 times below the mean and 0.8 times above, tails as they were'
        """
        tails = "as they were" if self.dof > NEARLY_NORMAL else f"of {self.dof:.3g} degrees of freedom at most"
        stretched = f"stretched {self.below:.3g} times below the mean and {self.above:.3g} times above"
        return f"moved by {self.shift:+.3g}, {stretched}, tails {tails}"


def fit_recalibration(before: Distribution, y: Array, weight: Array | None = None) -> Recalibration:
    """The mean error of held-out rows, and the factors and tails that maximise their probability.

    The mean error is weighted by the inverse of the rows' deviations. Factors and tails have weak priors, worth a few
    rows, around no change.

    Parameters
    ----------
    before : StretchableDistribution, MappedDistribution or AtomDistribution
        Predictive distributions of n rows; of those with atoms, rows elsewhere tell.
    y : array of shape (n,)
        Their targets.
    weight : array of shape (n,), optional
        How many rows each row counts for.
    """
    if isinstance(before, AtomDistribution):
        rows = np.flatnonzero(~np.isin(y, before.values))
        if len(rows) < LEAST_ELSEWHERE:
            return Recalibration()
        return fit_recalibration(before.elsewhere[rows], y[rows], None if weight is None else weight[rows])
    values, of_numbers = (
        (y, before) if not isinstance(before, MappedDistribution) else (_mapped(before, y), before.before)
    )
    assert isinstance(of_numbers, StretchableDistribution)
    counts = np.ones(len(y)) if weight is None else limit_share(weight, MOST_SHARE_OF_ERRORS)
    total, plain = float(counts.sum()), of_numbers.with_tails(np.inf)
    error, deviation = values - plain.mean(), plain.std()
    shift = float(np.average(error, weights=counts / deviation))
    start = _start(error - shift, deviation, counts)

    def loss(free: Array) -> float:
        log_likelihood = float(counts @ _from_free(free, shift)(before).logpdf(y))
        return -(log_likelihood - float(free[:2] @ free[:2]) - 10.0 * float(free[2])) / total

    first, around = np.array([start, start, 0.05]), (start - MOST_STRETCH, start + MOST_STRETCH)
    corners = first + np.vstack([np.zeros(3), np.diag([0.2, 0.2, 0.1])])
    bounds = [around, around, (1.0 / MOST_DOF, 1.0 / LEAST_DOF)]
    options = {"initial_simplex": corners, "xatol": 1e-3, "fatol": 1e-7, "maxfev": 300}
    # The density has a step at the mean, and so the loss has small ones everywhere: gradients would not serve.
    best = minimize(loss, first, method="Nelder-Mead", bounds=bounds, options=options)
    return _from_free(best.x, shift)


def _mapped(before: MappedDistribution, y: Array) -> Array:
    """Maps of targets y (n,), which have to be possible."""
    mapped = before.map.learned(y)
    possible = np.isfinite(mapped) & (y >= before.map.low) & (y <= before.map.high)
    if before.map.kind == "count":
        possible &= y == np.floor(y)
    if not possible.all():
        value = y[np.argmin(possible)]
        raise ValueError(f"y has the value {value:g}, and the model is one of targets that are {before.map.kind}")
    return mapped


def _start(error: Array, deviation: Array, weight: Array) -> float:
    """Log factor that brings half of the errors into the central half: a search from far tails would not get there."""
    middle = np.quantile(np.abs(error) / deviation, 0.5, weights=weight, method="inverted_cdf")
    stretch = float(middle) / HALF_INSIDE
    return float(np.log(np.clip(stretch, np.exp(-MOST_STRETCH), np.exp(MOST_STRETCH))))


def _from_free(free: Array, shift: float) -> Recalibration:
    """Recalibration of free parameters (3,): logarithms of the factors, and the inverse degrees of freedom."""
    below, above, tail = free.tolist()
    return Recalibration(shift, float(np.exp(below)), float(np.exp(above)), 1.0 / tail)
