"""Rows that repeat others exactly, inputs and target: a model that has seen one is no judge of the other.

Rows may also agree by chance, where inputs and targets take few values. They are taken for copies where most rows with
the same inputs have the same target, by far more than targets agree anyway, and where inputs agree by far more often
than those of rows whose columns are drawn independently.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.warning import warn_user
from ssgp.rows.blocks import Rows
from ssgp.rows.training_rows import TrainingRows

__all__ = ["keys_of_copies", "repeats_together"]

# Rows whose keys are computed at a time.
CHUNK = 1 << 16
# Targets of rows with the same inputs agree so often beyond chance, where these are copies.
LEAST_AGREEMENT = 0.5
# Fewer distinct rows, or fewer distinct inputs per row, are those of a design: rows agree because there are no others.
LEAST_DISTINCT = 50
LEAST_INPUTS_PER_ROW = 0.03
# Pairs of rows with the same inputs are so many times as many as independent columns have, where rows are copies.
LEAST_TIMES_CHANCE = 10.0
# A share of repeats that users should know of.
TOLD_SHARE = 0.05
# An odd number whose products have random digits, and how far these are shifted.
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
SHIFT = np.uint64(32)


def repeats_together(rows: TrainingRows) -> TrainingRows:
    """The same rows, those that repeat others once or, of a large table, in one group with them.

    A copy tells nothing new: it has no noise of its own. A warning names a large share of repeats.
    """
    keys = keys_of_copies(rows.sample.X, rows.sample.y)
    if keys is None:
        return rows
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    share = 1.0 - len(first) / len(keys)
    in_sample = len(rows.places) == rows.table.n_rows
    if share >= TOLD_SHARE:
        warn_user(
            f"{share:.1%} of the rows repeat another exactly, inputs and target. "
            + (
                "Each is learned from once, for a copy tells nothing new; where a row stands for several, say so by "
                "sample_weight"
                if in_sample
                else "Repeats are held out together, so that intervals are right for rows without one; they still "
                "count as often as they are there. If they came about by a mistake, fit without them"
            )
        )
    if in_sample:
        return TrainingRows.in_random_order(_each_once(rows.sample, first, which))
    return replace(rows, groups=keys, groups_of_table=lambda: rows.table.map_chunks(_row_keys))


def keys_of_copies(X: Array, y: Array) -> NDArray[np.uint64] | None:
    """Numbers of rows (n, d) with targets (n,), the same for copies, shape (n,); None where there are no copies."""
    inputs = _keys(X)
    keys = _with_target(inputs, y)
    n_distinct = len(_times(keys))
    return keys if LEAST_DISTINCT <= n_distinct < len(keys) and _are_copies(X, inputs, keys, y) else None


def _each_once(rows: Rows, first: Indices, which: Indices) -> Rows:
    """Rows without their copies, in their order; with the mean weight of these."""
    once = rows.reorder(np.sort(first), np.array([0, len(first)]))
    if rows.weight is None:
        return once
    weight = np.bincount(which, rows.weight) / np.bincount(which)
    return replace(once, weight=weight[np.argsort(first)].astype(np.float32))


def _row_keys(rows: Rows) -> NDArray[np.uint64]:
    """Numbers of rows, the same for the same inputs and target and else different, but for one pair in 10^9, (n,)."""
    return _with_target(_keys(rows.X), rows.y)


def _keys(X: Array) -> NDArray[np.uint64]:
    """Numbers of inputs (n, d), shape (n,)."""
    keys = np.zeros(len(X), np.uint64)
    multipliers = np.random.default_rng(0).integers(2**63, size=X.shape[1], dtype=np.uint64) * np.uint64(2)
    for start in range(0, len(X), CHUNK):
        part = keys[start : start + CHUNK]
        for column, multiplier in enumerate(multipliers):
            part += _digits(X[start : start + CHUNK, column]) * (multiplier + np.uint64(1))
        part ^= part >> SHIFT
    return keys


def _with_target(keys: NDArray[np.uint64], y: Array) -> NDArray[np.uint64]:
    mixed = (keys + _digits(y)) * MULTIPLIER
    return mixed ^ (mixed >> SHIFT)


def _digits(values: Array) -> NDArray[np.uint64]:
    """Numbers of 64 random digits for numbers in single precision, of which zero has one."""
    mixed = (values.astype(np.float32) + np.float32(0.0)).view(np.uint32).astype(np.uint64) * MULTIPLIER
    return mixed ^ (mixed >> SHIFT)


def _are_copies(X: Array, inputs: NDArray[np.uint64], keys: NDArray[np.uint64], y: Array) -> bool:
    """Whether rows with the same inputs mostly agree in the target, both by more than chance."""
    times = _times(inputs)
    if len(times) < max(LEAST_DISTINCT, LEAST_INPUTS_PER_ROW * len(keys)):
        return False
    n_pairs = float(np.sum(times * (times - 1.0))) / 2.0
    if n_pairs < LEAST_TIMES_CHANCE * _pairs_by_chance(X):
        return False
    n_alike, n_same = _times_of_each(inputs), _times_of_each(keys)
    shared = n_alike > 1
    agreement = float(np.mean((n_same[shared] - 1) / (n_alike[shared] - 1))) if shared.any() else 0.0
    shares = _times(y) / len(y)
    by_chance = float(np.sum(shares * shares))
    return agreement >= by_chance + LEAST_AGREEMENT * (1.0 - by_chance)


def _times(values: NDArray[Any]) -> Indices:
    """How often each value (n,) is there, in the order of the values: several times as fast as `np.unique`."""
    ordered = np.sort(values)
    ends = np.flatnonzero(np.concatenate([ordered[1:] != ordered[:-1], [True]])) if len(values) else np.empty(0, int)
    return np.diff(ends, prepend=-1)


def _times_of_each(values: NDArray[Any]) -> Indices:
    """Of every value (n,) how often it is there, shape (n,)."""
    _, which, times = np.unique(values, return_inverse=True, return_counts=True)
    return times[which]


def _pairs_by_chance(X: Array) -> float:
    """Pairs of rows (n, d) with the same inputs, as many as there would be if columns were independent."""
    pairs = len(X) * (len(X) - 1.0) / 2.0
    for column in X.T:
        if pairs < 1.0:
            break
        counts = _times(column)
        pairs *= float(np.sum(counts * (counts - 1.0))) / max(1.0, len(X) * (len(X) - 1.0))
    return pairs
