"""What a target may be: the parameter `target`, checks of targets by it, and the maps that come into question."""

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import StrOptions

from ssgp._utils.arrays import Array
from ssgp._utils.foreign_arrays import on_host
from ssgp.rows.target_maps import MOST, Logit, SoftLog, TargetMap

__all__ = ["Target", "TargetOptions", "allowed_by", "check_allowed", "in_single_precision", "possible_maps"]

# What the parameter `target` may be.
Target = Literal["auto", "any", "positive", "non-negative", "count"] | tuple[float, float]

KINDS = ("auto", "any", "positive", "non-negative", "count")
# Scales of maps are quantiles of the positive targets. Beyond the largest at least a map is linear: of a logarithm
# alone, what is predicted for a mistyped row may be hundreds of times the largest target.
QUANTILES = (0.1, 0.9, 1.0)
LEAST_SCALE, MOST_SCALE = 1e-130, 1e130
# Margin of an end that has a mass, relative to the distance of usual targets from it.
MARGIN = 0.1


class TargetOptions(StrOptions):
    """A kind of target, or a pair of bounds."""

    def __init__(self) -> None:
        super().__init__(set(KINDS))

    def is_satisfied_by(self, val: Any) -> bool:  # noqa: ANN401
        """Whether it is one."""
        return super().is_satisfied_by(val) or bounds_of(val) is not None

    def __str__(self) -> str:
        return f"{super().__str__()} or a pair of numbers, the lower and the upper bound, of at most {MOST:g}"


def bounds_of(target: Any) -> tuple[float, float] | None:  # noqa: ANN401
    """Bounds as floats, None where it is something else or no bounds of a map."""
    if not isinstance(target, tuple | list) or len(target) != 2:
        return None
    if not all(isinstance(end, int | float | np.number) and not isinstance(end, bool) for end in target):
        return None
    low, high = float(target[0]), float(target[1])
    return (low, high) if -MOST <= low < high <= MOST else None


def allowed_by(target_map: TargetMap) -> Target:
    """The kind of target that a map is of."""
    return (target_map.low, target_map.high) if isinstance(target_map, Logit) else cast(Target, target_map.kind)


def check_allowed(
    target: Target, y: ArrayLike, sample_weight: ArrayLike | None = None, atoms: Array | None = None
) -> None:
    """Raise an error that names the first target that is not of its kind, nor an atom, of rows that count."""
    values = np.asarray(on_host(y), dtype=float).reshape(-1)
    bounds = bounds_of(target)
    if bounds is not None:
        wrong, allowed = (values < bounds[0]) | (values > bounds[1]), f"numbers from {bounds[0]:g} to {bounds[1]:g}"
    elif target == "positive":
        wrong, allowed = values <= 0.0, "numbers above 0 (and 'non-negative' 0 as well)"
    elif target == "non-negative":
        wrong, allowed = values < 0.0, "numbers from 0 on"
    elif target == "count":
        wrong, allowed = (values < 0.0) | (values != np.floor(values)), "whole numbers from 0 on"
    else:
        return
    if atoms is not None:
        # Targets may be in single precision.
        wrong = wrong & ~np.isin(values, np.concatenate([atoms, in_single_precision(atoms)]))
    if sample_weight is not None:
        wrong = wrong & (np.broadcast_to(np.asarray(on_host(sample_weight), dtype=float), len(values)) != 0.0)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(
            f"y has the value {values[first]:g} in row {first} ({int(wrong.sum()):,} of {len(values):,} rows), and "
            f"target={target!r} allows {allowed}; target='any' takes all numbers"
        )


def in_single_precision(values: Array) -> Array:
    """Values (k,) as they are where they have been in single precision."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(float)


def possible_maps(target: Target, y: Array, least: float) -> Sequence[TargetMap | None]:
    """Maps of targets of this kind, of which one is to be chosen; None is for targets as they are.

    Parameters
    ----------
    target : Target
        As the parameter.
    y : array of shape (n,)
        Targets of a sample of the rows.
    least : float
        The least target of all rows.
    """
    bounds = bounds_of(target)
    if bounds is not None:
        return [_logit(*bounds, y)]
    if target == "any" or (target == "auto" and least <= 0.0):
        return [None]
    positive = y[y > 0.0]
    if not len(positive):
        return [SoftLog(str(target), 1.0, _margin_of(target, 1.0), 1.0)]
    # Scales whose squares, and their inverses, are numbers.
    positive = np.clip(positive, LEAST_SCALE, MOST_SCALE)
    scales = np.quantile(positive, QUANTILES).tolist()
    kind = "positive" if target == "auto" else str(target)
    margin, largest = _margin_of(target, scales[0]), float(positive.max())
    maps = [SoftLog(kind, scale, margin, largest) for scale in scales]
    return [None, *maps] if target == "auto" else maps


def _margin_of(target: Target, usual: float) -> float:
    """Margin below zero, of targets whose small ones are as large as is usual."""
    return {"count": 0.5, "non-negative": MARGIN * usual}.get(str(target), 0.0)


def _logit(low: float, high: float, y: Array) -> Logit:
    """The map of targets within bounds, with margins where bounds are among them."""
    inside = np.sort(y[(y > low) & (y < high)])
    if len(inside) == len(y):
        return Logit(low, high)
    distances = np.minimum(inside - low, high - inside)
    usual = float(np.quantile(distances, 0.1)) if len(inside) else 0.1 * (high - low)
    return Logit(low, high, MARGIN * usual)
