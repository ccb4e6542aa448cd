"""The way between a user's units and the model's: inputs and target centred and scaled."""

from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import StandardScaler

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.column_errors import ExtremeValuesError
from ssgp._utils.warning import warn_user
from ssgp._utils.wide import WIDE, fewer_if_wide
from ssgp.rows.blocks import Rows
from ssgp.saving.kinds import stored

__all__ = ["LEAST_NOISE", "Standardizer"]

# Rows that are standardised at a time.
CHUNK = 65536
WIDE_CHUNK = 4096
# Noise variance, relative to the target's mean square, below which sums are rounding: where learning stops, at least.
LEAST_NOISE = 1e-8
# The same of the target, so that it has a logarithm.
TINY = 1e-30
# And with less than this, noise of a thirtieth of the target's deviation is rounding.
LITTLE_VARIANCE = 1e-5


@stored()
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
    """

    x_mean: Array
    x_scale: Array
    y_mean: float
    y_scale: float
    y_variance: float = 1.0

    @classmethod
    def fit(cls, X: Array, y: Array, weight: Array | None, centre_target: bool) -> "Standardizer":
        """Estimate centre and scale; a constant column keeps scale 1."""
        # StandardScaler takes columns for constant by what rounding leaves of so many rows as the weights sum to.
        weight = None if weight is None else weight / weight.mean()
        with np.errstate(over="ignore", invalid="ignore"):
            inputs = StandardScaler(copy=False).fit(X, sample_weight=weight)
            target = StandardScaler(copy=False).fit(y[:, None], sample_weight=weight)
            mean, scale, variance = np.asarray(target.mean_).item(), np.asarray(target.scale_).item(), 1.0
            if not centre_target:
                size = float(np.hypot(mean, scale)) or 1.0
                mean, scale, variance = 0.0, size, max((scale / size) ** 2, TINY)
                _check_offset(variance)
        x_mean, x_scale = np.asarray(inputs.mean_, dtype=float), np.asarray(inputs.scale_, dtype=float)
        _check_range(np.asarray(np.isfinite(x_scale)), "X")
        _check_range(np.asarray([np.isfinite(scale)]), "y")
        return cls(x_mean, x_scale, mean, scale, variance)

    def least_noise(self, share: float, least: float = LEAST_NOISE) -> float:
        """The lowest noise variance to look at: this share of the target's variance, unless that is rounding."""
        return max(share * self.y_variance, least)

    def in_target_units(self, bounds: list[float]) -> Array:
        """Bounds of log p(y) per row of the standardised target, as bounds of the target in its own units."""
        return np.asarray(bounds, dtype=float) - np.log(self.y_scale)

    def inputs(self, X: Array, order: Indices | slice = slice(None)) -> Array:
        """Standardise rows ``X[order]`` to float32, a chunk at a time."""
        n_rows = len(X) if isinstance(order, slice) else len(order)
        out = np.empty((n_rows, X.shape[1]), dtype=np.float32)
        at_once = fewer_if_wide(CHUNK if X.shape[1] <= WIDE else WIDE_CHUNK, X.shape[1])
        for start in range(0, n_rows, at_once):
            part = slice(start, start + at_once)
            rows = X[part] if isinstance(order, slice) else X[order[part]]
            with np.errstate(over="ignore"):
                out[part] = (rows - self.x_mean) / self.x_scale
        _check_range(np.asarray(np.isfinite(out).all(axis=0)), "X")
        return out

    def rows(self, X: Array, y: Array, weight: Array | None, order: Indices, bounds: Indices) -> "Rows":
        """Standardise a table, its rows in the given order and blocks."""
        with np.errstate(over="ignore"):
            target = ((y[order] - self.y_mean) / self.y_scale).astype(np.float32)
        _check_range(np.asarray([np.isfinite(target).all()]), "y")
        weight = None if weight is None else weight[order].astype(np.float32)
        return Rows(self.inputs(X, order), target, weight, bounds)


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
