"""Maps between targets that are positive, counts or within bounds, and all numbers, which models are made for.

A map is increasing and smooth both ways, so that quantiles, probabilities and densities follow exactly. That of
positive targets is a logarithm far below its scale, and linear far above: a distribution with heavy tails that is
mapped back has a mean, as it would not have by an exponential.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from ssgp._utils.arrays import Array
from ssgp._utils.wording import quantity
from ssgp.saving.contents import TINIEST, number, text
from ssgp.saving.kinds import stored

__all__ = ["MOST", "Logit", "SoftLog", "TargetMap"]

# Largest scale, and farthest end, of a map.
MOST = 1e140
# Below the first, numbers have fewer digits; below the second, exponentials soon do.
LEAST_WITH_ALL_DIGITS, DEEP = float(np.finfo(float).tiny), -700.0
# Predictions of targets without an upper end are centred at so many times the largest one at most.
TIMES_LARGEST = 2.0


@stored(
    {
        "kind": text("positive", "non-negative", "count"),
        "scale": number(TINIEST, MOST),
        "margin": number(0.0, MOST),
        "largest": number(0.0, or_whole=True),
    },
    relations=lambda parts: [((parts.margin == 0.0) == (parts.kind == "positive"), "a margin belongs to zeros")],
)
@dataclass(frozen=True)
class SoftLog:
    """The map y + margin = scale log(1 + exp(z)) of targets from zero on.

    Attributes
    ----------
    kind : {"positive", "non-negative", "count"}
        What targets are.
    scale : float
        Where the logarithm becomes linear, in the target's units.
    margin : float
        How far below zero the map goes, where zero itself is possible: all of that is zero.
    largest : float
        The largest target that was learned from.
    """

    kind: str
    scale: float
    margin: float = 0.0
    largest: float = MOST

    @property
    def low(self) -> float:
        """The least target."""
        return 0.0

    @property
    def high(self) -> float:
        """The largest target."""
        return np.inf

    def to_model(self, y: Array) -> Array:
        """Z of targets y, minus infinity of those below all."""
        ratio = self._ratio(y)
        return ratio + self._log_bend(y, ratio)

    def to_target(self, z: Array) -> Array:
        """Targets of z, those between minus the margin and zero as well."""
        values = self.scale * (np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))))
        return _with_all_digits(values, self.scale, z) - self.margin

    def slope(self, z: Array) -> Array:
        """Dy / dz at z."""
        return _times_expit(self.scale, z)

    def log_slope(self, y: Array) -> Array:
        """log(dz / dy) at targets y."""
        return -np.log(self.scale) - self._log_bend(y, self._ratio(y))

    def _ratio(self, y: Array) -> Array:
        return np.maximum((y + self.margin) / self.scale, 0.0)

    def _log_bend(self, y: Array, ratio: Array) -> Array:
        """log(1 - exp(-r)) of ratios r of targets y to the scale: their logarithms where they have few digits left."""
        with np.errstate(divide="ignore"):
            logs = np.log(-np.expm1(-ratio))
            few = ratio < LEAST_WITH_ALL_DIGITS
            if not np.any(few):
                return logs
            return np.where(few, np.log(np.maximum(y + self.margin, 0.0)) - np.log(self.scale), logs)

    def learned(self, y: Array) -> Array:
        """Z of targets y (n,) to learn from: of zeros, where they have a mass, in the middle of the margin."""
        return self.to_model(np.where(y <= 0.0, -0.5 * self.margin, y) if self.kind == "non-negative" else y)

    @property
    def farthest(self) -> float:
        """The largest z that a prediction may be centred at: what lines lead to beyond, exponentials make absurd."""
        return float(self.to_model(np.array(TIMES_LARGEST * self.largest)))

    def describe(self) -> str:
        """A description for people.

        Examples
        --------
        >>> SoftLog("positive", 25_000.0).describe()
        'positive: learned on a scale that is logarithmic far below 25,000 and linear far above'
        """
        scale = quantity(float(f"{self.scale:.3g}"))
        return f"{self.kind}: learned on a scale that is logarithmic far below {scale} and linear far above"


def _check_ends(parts: "Logit") -> list[tuple[bool, str]]:
    return [(parts.low < parts.high, "the low end must be below the high one")]


@stored(
    {"low": number(-MOST, MOST), "high": number(-MOST, MOST), "margin": number(0.0, MOST)},
    relations=_check_ends,
)
@dataclass(frozen=True)
class Logit:
    """The logit of targets within bounds: (y - a) / (b - a) = 1 / (1 + exp(-z)).

    Attributes
    ----------
    low, high : float
        Bounds of the targets.
    margin : float
        How far a is below `low` and b above `high`, where bounds themselves are possible: all beyond is the bound.
    """

    low: float
    high: float
    margin: float = 0.0

    @property
    def kind(self) -> str:
        """What targets are."""
        return "bounded"

    @property
    def _width(self) -> float:
        return self.high - self.low + 2.0 * self.margin

    def to_model(self, y: Array) -> Array:
        """Z of targets y, infinite of those beyond all."""
        with np.errstate(divide="ignore"):
            below = np.log(np.maximum(y - self.low + self.margin, 0.0))
            return below - np.log(np.maximum(self.high + self.margin - y, 0.0))

    def to_target(self, z: Array) -> Array:
        """Targets of z, those within the margins as well."""
        # From the nearer end, so that small distances from it keep their digits.
        distance = _times_expit(self._width, -np.abs(z)) - self.margin
        return np.where(z < 0.0, self.low + distance, self.high - distance)

    def slope(self, z: Array) -> Array:
        """Dy / dz at z."""
        return _times_expit(self._width, -np.abs(z)) * expit(np.abs(z))

    def log_slope(self, y: Array) -> Array:
        """log(dz / dy) at targets y."""
        below = np.maximum(y - self.low + self.margin, 0.0)
        above = np.maximum(self.high + self.margin - y, 0.0)
        with np.errstate(divide="ignore"):
            return np.log(self._width) - np.log(below) - np.log(above)

    def learned(self, y: Array) -> Array:
        """Z of targets y (n,) to learn from: of bounds, where they have a mass, in the middle of the margins."""
        beyond = 0.5 * self.margin
        return self.to_model(
            np.where(y <= self.low, self.low - beyond, np.where(y >= self.high, self.high + beyond, y))
        )

    @property
    def farthest(self) -> float:
        """The largest z that a prediction may be centred at: any."""
        return np.inf

    def describe(self) -> str:
        """A description for people.

        Examples
        --------
        >>> Logit(0.0, 100.0).describe()
        'bounded: learned on a logit scale from 0 to 100'
        """
        return f"bounded: learned on a logit scale from {self.low:g} to {self.high:g}"


def _times_expit(factor: float, z: Array) -> Array:
    """Factor / (1 + exp(-z)), to all its digits."""
    return _with_all_digits(factor * expit(z), factor, z)


def _with_all_digits(products: Array, factor: float, z: Array) -> Array:
    """Products (...) of a factor and about exp(z), of which there are few digits far below zero."""
    few = z < DEEP
    if not np.any(few):
        return products
    root = np.exp(0.5 * np.minimum(z, 0.0))
    return np.where(few, factor * root * root, products)


TargetMap = SoftLog | Logit
