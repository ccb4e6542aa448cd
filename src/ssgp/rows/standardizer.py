"""The way between a user's units and the model's: inputs and target centred and scaled."""

from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import StandardScaler

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.column_errors import ExtremeValuesError
from ssgp._utils.warning import warn_user
from ssgp._utils.weights import MOST_SHARE_OF_UNITS, limit_share
from ssgp._utils.wide import WIDE, fewer_if_wide
from ssgp.rows.blocks import Rows
from ssgp.rows.isolated_values import clean_range
from ssgp.rows.target_maps import Logit, SoftLog, TargetMap
from ssgp.saving.contents import array, fixed_tuple, made_of, number, optional
from ssgp.saving.kinds import stored

__all__ = ["LEAST_NOISE", "Standardizer"]

# Rows that are standardised at a time.
CHUNK = 65536
WIDE_CHUNK = 4096
# Noise variance, relative to the target's mean square, below which sums are rounding: where learning stops, at least.
LEAST_NOISE = 1e-8
# The same of the target, so that it has a logarithm.
TINY = 1e-30
# Deviations of the target whose squares, and shares of these, are numbers.
LEAST_DEVIATION, MOST_DEVIATION = 1e-140, 1e140
# Columns whose largest number is beyond are brought to about one first: squares would be infinite, or zero.
SAFE = 2.0**300
# Numbers beyond have differences that are infinite.
LARGEST = 2.0**1022
# Rows further away, in deviations, are taken for rows at that distance: all models are at their end there, and squares
# in single precision would be infinite further out.
FARTHEST = 1e12
# And with less than this, noise of a thirtieth of the target's deviation is rounding.
LITTLE_VARIANCE = 1e-5
# The smallest positive number.
SMALLEST = float(np.finfo(float).smallest_subnormal)


@stored(
    {
        "x_mean": array("float64", "d"),
        "x_scale": array("float64", "d", least=SMALLEST),
        "y_mean": number(),
        "y_scale": number(LEAST_DEVIATION, MOST_DEVIATION),
        "y_variance": number(TINY, 1.0),
        "target_map": optional(made_of(SoftLog, Logit)),
        "y_range": optional(fixed_tuple(number(), number())),
    },
    added=("target_map", "y_range"),
)
@dataclass(frozen=True)
class Standardizer:
    """Affine map between a user's units and the model's.

    Inputs are centred and scaled, and the target scaled, always: with a lengthscale for each
    input and variances in the target's units this changes nothing in the model, and keeps
    float32 accurate under huge offsets and tiny scales. Centring the target does change it,
    from a prior mean of zero to one of the target's mean, and is done on request.

    Attributes
    ----------
    x_mean, x_scale : arrays of shape (d,)
        Centre and scale of the inputs.
    y_mean, y_scale : float
        Centre and scale of the target.
    y_variance : float
        Variance of the scaled target around its mean: 1, or less where it is not centred.
    target_map : TargetMap or None
        What becomes of the target before it is centred and scaled; None for nothing.
    y_range : tuple of two floats or None
        Targets beyond are taken for its ends: there were a few, far from all others. None where there were none.
    """

    x_mean: Array
    x_scale: Array
    y_mean: float
    y_scale: float
    y_variance: float = 1.0
    target_map: TargetMap | None = None
    y_range: tuple[float, float] | None = None

    @classmethod
    def fit(
        cls,
        X: Array,
        y: Array,
        weight: Array | None,
        centre_target: bool,
        target_map: TargetMap | None = None,
        places: Indices | None = None,
        extremes: tuple[float, ...] = (),
        tell: bool = True,
    ) -> "Standardizer":
        """Estimate centre and scale; a constant column keeps scale 1.

        Rows of a sample have `places` in their table, whose least and largest targets are `extremes`. Targets that are
        far from all others are warned of, unless `tell` is false.
        """
        y_range = clean_range(y, extremes)
        if y_range is not None and tell:
            _warn_of_isolated(y, y_range, places, extremes)
        if y_range is not None:
            y = np.clip(y, *y_range)
        y = y if target_map is None else target_map.learned(y)
        if weight is not None:
            weight = limit_share(weight, MOST_SHARE_OF_UNITS)
            # StandardScaler takes columns for constant by what rounding leaves of so many rows as the weights sum to.
            weight = weight / weight.mean()
        x_mean, x_scale = _centre_and_scale(X, weight)
        mean, scale = (part.item() for part in _centre_and_scale(y[:, None], weight))
        variance = 1.0
        if not centre_target:
            size = float(np.hypot(mean, scale)) or 1.0
            mean, scale, variance = 0.0, size, max((scale / size) ** 2, TINY)
            _check_offset(variance)
        _check_range(np.asarray(np.isfinite(x_scale)), "X")
        _check_range(np.asarray([LEAST_DEVIATION <= scale <= MOST_DEVIATION]), "y")
        return cls(x_mean, x_scale, mean, scale, variance, target_map, y_range)

    def least_noise(self, share: float, least: float = LEAST_NOISE) -> float:
        """The lowest noise variance to look at: this share of the target's variance, unless that is rounding."""
        return max(share * self.y_variance, least)

    def in_target_units(self, bounds: list[float]) -> Array:
        """Bounds of log p(y) per row of the standardised target, as bounds of the target in its own units."""
        return np.asarray(bounds, dtype=float) - np.log(self.y_scale)

    def frequencies_in_input_units(self, frequencies: Array) -> Array:
        """Frequencies (..., d) of standardised inputs, per unit of the inputs; infinite for the tiniest units."""
        with np.errstate(over="ignore"):
            return frequencies / self.x_scale

    def inputs(self, X: Array, order: Indices | slice = slice(None)) -> Array:
        """Standardise rows ``X[order]`` to float32, a chunk at a time; none is further than `FARTHEST`."""
        n_rows = len(X) if isinstance(order, slice) else len(order)
        out = np.empty((n_rows, X.shape[1]), dtype=np.float32)
        at_once = fewer_if_wide(CHUNK if X.shape[1] <= WIDE else WIDE_CHUNK, X.shape[1])
        for start in range(0, n_rows, at_once):
            part = slice(start, start + at_once)
            rows = X[part] if isinstance(order, slice) else X[order[part]]
            with np.errstate(over="ignore"):
                out[part] = np.clip((rows - self.x_mean) / self.x_scale, -FARTHEST, FARTHEST)
        _check_range(np.asarray(np.isfinite(out).all(axis=0)), "X")
        return out

    def rows(
        self,
        X: Array,
        y: Array,
        weight: Array | None,
        order: Indices | None = None,
        bounds: Indices | None = None,
    ) -> "Rows":
        """Standardise a table, its rows in the given order and blocks; as they are and in one block without these."""
        order = np.arange(len(y)) if order is None else order
        bounds = np.array([0, len(order)]) if bounds is None else bounds
        y = y[order] if self.y_range is None else np.clip(y[order], *self.y_range)
        y = y if self.target_map is None else self.target_map.learned(y)
        with np.errstate(over="ignore"):
            target = ((y - self.y_mean) / self.y_scale).astype(np.float32)
        _check_range(np.asarray([np.isfinite(target).all()]), "y")
        weight = None if weight is None else weight[order].astype(np.float32)
        return Rows(self.inputs(X, order), target, weight, bounds)


def _centre_and_scale(columns: Array, weight: Array | None) -> tuple[Array, Array]:
    """Means and deviations of columns (n, d) of numbers of any size, shapes (d,); 1 where a column is constant.

    Of huge numbers that differ by rounding alone, which count as constant, the largest difference is one.
    """
    top, bottom = columns.max(axis=0).astype(float), columns.min(axis=0).astype(float)
    largest = np.maximum(top, -bottom)
    extreme = (largest > SAFE) | ((largest > 0) & (largest < 1.0 / SAFE))
    power = np.where(extreme, np.frexp(largest)[1], 0)
    with np.errstate(over="ignore", invalid="ignore"):
        brought = np.ldexp(columns.astype(float), -power) if extreme.any() else columns
        scaler = StandardScaler(copy=False).fit(brought, sample_weight=weight)
        mean, scale = np.asarray(scaler.mean_, dtype=float), np.asarray(scaler.scale_, dtype=float)
        # A constant column has the deviation 1, however it was brought there.
        varies = scale == np.sqrt(np.asarray(scaler.var_, dtype=float))
        # A deviation may be less than any positive number: it would be zero.
        deviation = np.maximum(np.ldexp(scale, power), SMALLEST)
        scale = np.where(varies, deviation, np.maximum(scale, top - bottom))
        return np.where(top == bottom, top, np.ldexp(mean, power)), np.where(largest <= LARGEST, scale, np.inf)


def _warn_of_isolated(
    y: Array, clean: tuple[float, float], places: Indices | None, extremes: tuple[float, ...]
) -> None:
    """Warn of targets so far from all others that these would be lost in their scale."""
    rows = np.flatnonzero((y < clean[0]) | (y > clean[1]))
    examples = [(float(y[row]), int(row if places is None else places[row])) for row in rows[:3]]
    named = ", ".join(f"{value:.6g} in row {row}" for value, row in examples)
    named = named or " and ".join(f"{value:.6g}" for value in extremes if not clean[0] <= value <= clean[1])
    more = ", ..." if len(rows) > 3 else ""
    warn_user(
        f"y has values that are far from all others, {named}{more}: they are learned from as if they were "
        f"{clean[0]:.6g} or {clean[1]:.6g}, about as far as the farthest of the others. Look for mistakes, or "
        "transform y if such values are to be predicted"
    )


def _check_offset(variance: float) -> None:
    """Warn of a target so far from zero that small noise is lost beside it."""
    if variance < LITTLE_VARIANCE:
        warn_user(
            f"the target is {variance**-0.5:,.0f} of its deviations from zero: beside that, small noise is lost in "
            "rounding. Use normalize=True, or subtract a constant from it"
        )


def _check_range(fine: Mask, name: str) -> None:
    """Raise an error that names the first column with values too extreme to standardise."""
    if not fine.all():
        raise ExtremeValuesError(int(np.argmin(fine)) if name == "X" else None)
