"""The noise of a row as held-out rows show it: how its scale follows from what the trees say, and its shape."""

from dataclasses import dataclass, fields

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.distributions.student_mixture import StudentMixture
from ssgp.saving.contents import MOST_LOG, TINIEST, number, tuple_of
from ssgp.saving.kinds import stored

__all__ = ["NoiseShape", "NoiseTrend", "RowNoise"]

# How far a position is from the middle at most.
MOST_POSITION = 1.5


@dataclass(frozen=True)
class RowNoise:
    """What T trees, or the mean of them (T = 1), say of the noise of n rows, in the model's units.

    Attributes
    ----------
    mean : array of shape (n,)
        Means of the trees' predictions.
    log_noise : array of shape (n,)
        Logarithms of the trees' mean noise variances.
    log_ratio : array of shape (T, n)
        Logarithms of each tree's noise variance over their mean.
    leverage : array of shape (T, n)
        How much uncertain weights add to the noise, relative to it.
    disagreement : array of shape (n,)
        Variances of the trees' means, relative to the mean noise variance.
    variation : array of shape (n,)
        Deviations of the logarithms of the trees' noise variances.
    dof : array of shape (T, n)
        Degrees of freedom with which the noise is known.
    """

    mean: Array
    log_noise: Array
    log_ratio: Array
    leverage: Array
    disagreement: Array
    variation: Array
    dof: Array

    def rows(self, rows: slice) -> "RowNoise":
        """The same of a slice of the rows."""
        return RowNoise(**{field.name: getattr(self, field.name)[..., rows] for field in fields(self)})


@stored(
    {
        **dict.fromkeys(("power", "between"), number(-10.0, 10.0)),
        "disagreement": number(0.0),
        **dict.fromkeys(("slope", "bend", "variation"), number(-10.0, 10.0)),
        "usual_log_noise": number(-2 * MOST_LOG, 2 * MOST_LOG),
        "usual_variation": number(0.0),
        "usual_mean": number(),
        "usual_deviation": number(TINIEST),
    }
)
@dataclass(frozen=True)
class NoiseTrend:
    """How the scale of a row's noise goes with what the trees say of it, and with its mean.

    Attributes
    ----------
    power : float
        Exponent of the trees' mean noise variance, over the usual one: below 1 if it varies too much between rows.
    between : float
        Exponent of a tree's noise variance over the mean of the trees.
    disagreement : float
        Factor of the variance of the trees' means.
    slope, bend : float
        Change of the log scale with the position of the mean, and with its square.
    variation : float
        Change of the log scale with the deviation of the logarithms of the trees' noise variances.
    usual_log_noise, usual_variation, usual_mean, usual_deviation : float
        Means over the held-out rows, and the deviation of their predicted means.
    """

    power: float
    between: float
    disagreement: float
    slope: float
    bend: float
    variation: float
    usual_log_noise: float
    usual_variation: float
    usual_mean: float
    usual_deviation: float

    def position(self, mean: Array) -> Array:
        """Where means (n,) are among those of the held-out rows, from -1.5 to 1.5, shape (n,)."""
        return MOST_POSITION * np.tanh((mean - self.usual_mean) / (2.0 * self.usual_deviation))

    def excess(self, rows: RowNoise, leverage: float) -> Array:
        """Factors (T, n) of the variance by uncertain weights and by trees that disagree."""
        return 1.0 + leverage * rows.leverage + self.disagreement * rows.disagreement

    def log_trend(self, rows: RowNoise) -> Array:
        """Logarithms of the factors (n,) of the scale by the position and the variation."""
        position, variation = self.position(rows.mean), rows.variation - self.usual_variation
        return self.slope * position + self.bend * (position**2 - 0.5) + self.variation * variation

    def scale(self, rows: RowNoise, leverage: float) -> Array:
        """Scales of the noise, of which the calibration's factor is yet to be taken, shape (T, n)."""
        usual = self.usual_log_noise
        log_noise = usual + self.power * (rows.log_noise - usual) + self.between * rows.log_ratio
        return np.exp(0.5 * log_noise + self.log_trend(rows)) * np.sqrt(self.excess(rows, leverage))


def _check_shape(parts: "NoiseShape") -> list[tuple[bool, str]]:
    lengths = {len(part) for part in (parts.offsets, parts.log_scales, parts.offset_slopes, parts.scale_slopes)}
    return [(len(lengths) == 1, "there must be equally many numbers for every component")]


@stored(
    dict.fromkeys(("offsets", "log_scales", "offset_slopes", "scale_slopes"), tuple_of(number(-50.0, 50.0), least=1)),
    relations=_check_shape,
)
@dataclass(frozen=True)
class NoiseShape:
    """The shape of the noise: an equal mixture of K Student-t's around the mean of the trees.

    Its places and scales are in scales of the row's noise, and change linearly with the position of the row's mean.

    Attributes
    ----------
    offsets, offset_slopes : tuple of K floats
        Places of the components, at the middle position, and their change with the position; their means are zero, so
        that the mixture's mean is that of the trees.
    log_scales, scale_slopes : tuple of K floats
        Logarithms of their scales, and their change.
    """

    offsets: tuple[float, ...] = (0.0,)
    log_scales: tuple[float, ...] = (0.0,)
    offset_slopes: tuple[float, ...] = (0.0,)
    scale_slopes: tuple[float, ...] = (0.0,)

    def places(self, position: Array) -> Array:
        """Places of the components, in scales of the noise, of rows at positions (n,), shape (K, n)."""
        return np.asarray(self.offsets)[:, None] + np.multiply.outer(self.offset_slopes, position)

    def factors(self, position: Array) -> Array:
        """Scales of the components, in scales of the noise, shape (K, n)."""
        return np.exp(np.asarray(self.log_scales)[:, None] + np.multiply.outer(self.scale_slopes, position))

    def mixture(self, mean: Array, scale: Array, dof: Array, position: Array) -> StudentMixture:
        """Mixtures around means (n,), of noise of scales (n,) and tails of degrees of freedom (n,)."""
        location, scales = mean + scale * self.places(position), scale * self.factors(position)
        return StudentMixture(location, scales, np.broadcast_to(dof, location.shape), mean)
