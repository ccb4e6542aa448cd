"""Standardised training rows, laid out so that every block is one contiguous slice.

Two orders are used: shuffled rows cut into equal runs are the random blocks that drive the
gradient, and rows sorted by the partition's labels are the local blocks that predict.
Either way a block costs one sequential read, whatever the size of the table.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_even_slices

from ssgp._utils.column_errors import ExtremeValuesError
from ssgp.spectrum.objectives import Block

__all__ = ["Rows", "Standardizer", "block_order", "even_bounds"]

Array = NDArray[np.floating]
CHUNK = 65536
# Noise variance, relative to the target's mean square, below which sums are rounding: where learning stops, at least.
LEAST_NOISE = 1e-8
# The same of the target, so that it has a logarithm.
TINY = 1e-30
# And with less than this, noise of a thirtieth of the target's deviation is rounding.
LITTLE_VARIANCE = 1e-5


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

    def inputs(self, X: Array, order: NDArray[np.integer] | slice = slice(None)) -> Array:
        """Standardise rows ``X[order]`` to float32, a chunk at a time."""
        n_rows = len(X) if isinstance(order, slice) else len(order)
        out = np.empty((n_rows, X.shape[1]), dtype=np.float32)
        for start in range(0, n_rows, CHUNK):
            part = slice(start, start + CHUNK)
            rows = X[part] if isinstance(order, slice) else X[order[part]]
            with np.errstate(over="ignore"):
                out[part] = (rows - self.x_mean) / self.x_scale
        _check_range(np.asarray(np.isfinite(out).all(axis=0)), "X")
        return out

    def rows(
        self, X: Array, y: Array, weight: Array | None, order: NDArray[np.integer], bounds: NDArray[np.integer]
    ) -> "Rows":
        """Standardise a table, its rows in the given order and blocks."""
        with np.errstate(over="ignore"):
            target = ((y[order] - self.y_mean) / self.y_scale).astype(np.float32)
        _check_range(np.asarray([np.isfinite(target).all()]), "y")
        weight = None if weight is None else weight[order].astype(np.float32)
        return Rows(self.inputs(X, order), target, weight, bounds)


@dataclass(frozen=True)
class Rows:
    """Rows in blocks: block k is ``bounds[k]:bounds[k + 1]``.

    Attributes
    ----------
    X : array of shape (n, d), float32
        Standardised inputs.
    y : array of shape (n,), float32
        Standardised targets.
    weight : array of shape (n,) or None
        Sample weights, None for ones.
    bounds : int array of shape (p + 1,)
        Where the blocks begin and end.
    """

    X: Array
    y: Array
    weight: Array | None
    bounds: NDArray[np.integer]

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.bounds) - 1

    @cached_property
    def total(self) -> float:
        """How many rows the table counts for."""
        return self._all.total

    @property
    def labels(self) -> NDArray[np.integer]:
        """Block of each row, shape (n,)."""
        return np.repeat(np.arange(self.n_blocks), np.diff(self.bounds))

    def block(self, index: int) -> Block:
        """Block `index`, as views."""
        return self.part(slice(self.bounds[index], self.bounds[index + 1]))

    def part(self, rows: slice) -> Block:
        """Some neighbouring rows, as views."""
        return self._all.part(rows)

    @property
    def _all(self) -> Block:
        return Block(self.X, self.y, self.weight)

    def reorder(self, order: NDArray[np.integer], bounds: NDArray[np.integer]) -> "Rows":
        """Copy the rows in another order, with other blocks."""
        weight = None if self.weight is None else self.weight[order]
        return Rows(self.X[order], self.y[order], weight, bounds)

    def sort_by(self, labels: NDArray[np.integer], n_blocks: int) -> "Rows":
        """Copy the rows sorted by block label."""
        return self.reorder(*block_order(labels, n_blocks))

    def append(self, other: "Rows") -> "Rows":
        """Rows of both tables, as one block."""
        weight = None
        if self.weight is not None or other.weight is not None:
            ones = [np.ones(len(rows.y), np.float32) if rows.weight is None else rows.weight for rows in (self, other)]
            weight = np.concatenate(ones)
        X, y = np.concatenate([self.X, other.X]), np.concatenate([self.y, other.y])
        return Rows(X, y, weight, np.array([0, len(y)]))


def block_order(labels: NDArray[np.integer], n_blocks: int) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Order that brings rows of a block together, and where the blocks then begin and end."""
    order = np.argsort(labels, kind="stable")
    return order, np.searchsorted(labels[order], np.arange(n_blocks + 1))


def even_bounds(n_rows: int, block_size: int) -> NDArray[np.integer]:
    """Bounds of ceil(n / block_size) blocks that differ by at most one row."""
    n_blocks = max(1, -(-n_rows // block_size))
    slices = list(gen_even_slices(n_rows, n_blocks))
    return np.array([0, *(part.stop for part in slices)])


def _check_offset(variance: float) -> None:
    """Warn, at the line that called `fit`, of a target so far from zero that small noise is lost beside it."""
    if variance < LITTLE_VARIANCE:
        warnings.warn(
            f"the target is {variance**-0.5:,.0f} of its deviations from zero: beside that, small noise is lost in "
            "rounding. Use normalize=True, or subtract a constant from it",
            stacklevel=5,
        )


def _check_range(fine: NDArray[np.bool_], name: str) -> None:
    """Raise an error that names the first column with values too extreme to standardise."""
    if not fine.all():
        raise ExtremeValuesError(int(np.argmin(fine)) if name == "X" else None)
