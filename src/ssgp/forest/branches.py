"""A branch of a tree, from its rows to the models of all its levels, and their errors on rows left out."""

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from ssgp.forest.leaf_features import Waves
from ssgp.forest.leave_one_out import left_out_errors
from ssgp.forest.nodes import LeafSums, SolvedNodes, leaf_sums, solve_branch
from ssgp.forest.small_leaves import SmallLeaves, are_small
from ssgp.spectrum.objectives import FLOAT32_RIDGE, Block

__all__ = ["fill_branch", "join_one"]

Array = NDArray[np.floating]

# Noise variance over signal variance from which residual sums of squares may be taken from float32 sums.
NOISY = 0.02
# Rows whose features are in memory together.
MOST_ROWS = 1 << 16


def fill_branch(
    block: Block,
    bounds: NDArray[np.integer],
    waves: Waves,
    groups: Sequence[int],
    ridge: float,
    signs: Array,
    shrink: bool,
    leave_out: bool,
) -> tuple[list[SolvedNodes], Array | None]:
    """Solve a branch, from sums over the rows of its nodes or, for small leaves, from the rows themselves.

    Parameters
    ----------
    block : Block
        Rows of the branch.
    bounds : int array of shape (p + 1,)
        Where the leaves begin and end.
    waves : Waves
        The tree's features.
    groups : sequence of int
        Leaves under a node, for each level from the root (all of them) to the leaves (1).
    ridge : float
        m noise / signal.
    signs : array of shape (k, q)
        What the covariances are sketched with: E signs^T signs = I.
    shrink : bool
        Whether weights are shrunk towards the parent's, or all towards zero.
    leave_out : bool
        Whether the rows are also predicted, each left out of the branch.

    Returns
    -------
    levels : list of SolvedNodes
        For each level.
    errors : array of shape (levels, n), float32, or None
        Of the rows left out.
    """
    if len(block.y) > MOST_ROWS:
        return _fill_in_parts(block, bounds, waves, groups, ridge, signs, shrink, leave_out)
    phi = waves.features(join_one(block.X))
    small = len(groups) > 1 and are_small(bounds, waves.n_features)
    summed = groups[-2] if small else 1
    above = [group for group in groups if group >= summed]
    dtype = _sum_dtype(block.total / len(bounds[summed::summed]), ridge, waves)
    sums = leaf_sums(phi, block, bounds[::summed], dtype)
    levels = solve_branch(
        sums, [group // summed for group in above], ridge, signs, shrink, dtype if leave_out else None
    )
    errors, moved = left_out_errors(phi, block, bounds, levels, above, shrink) if leave_out else (None, phi)
    if small:
        prior = np.repeat(levels[-1].weights, summed, axis=0) if shrink else None
        leaves = SmallLeaves.of(phi, block, bounds, prior, ridge, dtype)
        levels.append(leaves.solve(signs))
        if errors is not None:
            errors = np.concatenate(
                [errors, leaves.left_out_errors(moved)[None]], dtype=np.float32, casting="same_kind"
            )
    return levels, errors


def _fill_in_parts(
    block: Block,
    bounds: NDArray[np.integer],
    waves: Waves,
    groups: Sequence[int],
    ridge: float,
    signs: Array,
    shrink: bool,
    leave_out: bool,
) -> tuple[list[SolvedNodes], Array | None]:
    """The same for a branch of many rows, as rows that are alike make one: features of some rows at a time."""

    def parts() -> Iterator[tuple[Array, Block, NDArray[np.integer]]]:
        for start in range(0, len(block.y), MOST_ROWS):
            part = block.part(slice(start, start + MOST_ROWS))
            yield waves.features(join_one(part.X)), part, np.clip(bounds - start, 0, len(part.y))

    dtype = _sum_dtype(block.total / (len(bounds) - 1), ridge, waves)
    sums = reduce(LeafSums.merge, (leaf_sums(*part, dtype) for part in parts()))
    levels = solve_branch(sums, groups, ridge, signs, shrink, dtype if leave_out else None)
    if not leave_out:
        return levels, None
    errors = [left_out_errors(*part, levels, groups, shrink)[0] for part in parts()]
    return levels, np.concatenate(errors, axis=1)


def join_one(X: Array) -> Array:
    """Rows [x, 1]."""
    return np.concatenate([X, np.ones((len(X), 1), X.dtype)], axis=1)


def _sum_dtype(n_rows: float, ridge: float, waves: Waves) -> type[np.floating]:
    """Noise well above the rounding of float32 sums over so many rows makes these good enough, in half the time."""
    rounding = FLOAT32_RIDGE * n_rows * waves.n_features
    return np.float32 if ridge > max(rounding, NOISY * waves.n_cosines / 2) else np.float64
