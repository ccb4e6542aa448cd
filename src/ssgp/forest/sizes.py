"""Sizes of a forest, chosen by the size of the table where they are not set."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log2
from typing import Any, Literal

from sklearn.utils._param_validation import StrOptions

from ssgp._utils.memory import parse_bytes
from ssgp._utils.wide import COPIED_ROWS, WIDE, fewer_if_wide, n_trend_inputs
from ssgp.forest.tree import TreeShape

__all__ = ["DEFAULT_MEMORY", "LEAST_MEMORY", "AmountOfMemory", "Auto", "ForestSizes", "MemoryShares", "choose_sizes"]

Auto = Literal["auto"]

# A model takes at most this share of the table it was fitted to (in float64), or so many bytes if that is more.
MODEL_SHARE = 0.5
MODEL_BYTES = 4_000_000
LEAST_LEAF = 20
MOST_FREQUENCIES = 100
LEAST_FREQUENCIES = 30
ROWS_PER_FREQUENCY = 20
# Large tables make do with fewer trees, which share their features: predictions then compute these less often.
LARGE = 100_000
TREES = 16
TREES_OF_LARGE = 8
TREES_PER_DRAW = 8
STEPS = 1500
# Rows per frequency of a block that drives the gradient.
BLOCK_ROWS_PER_FREQUENCY = 7
# Held-out rows: so many settle the calibration to about a percent of coverage, and a share of the rows of large tables,
# up to a limit, to half of that.
HELD_OUT = 5000
HELD_OUT_SHARE = 1 / 50
MOST_HELD_OUT = 20_000
LEAST_HELD_OUT = 500
MOST_FOLDS = 10
# Rows, counted once per tree, whose errors teach the correction, each left out; bytes of each, and of each of its
# inputs, while it is learned.
MOST_LEFT_OUT, LEAST_LEFT_OUT = 1_200_000, 50_000
LEFT_OUT_BYTES, LEFT_OUT_INPUT_BYTES = 200, 16
# Trees that lack so small a share of the rows are kept; otherwise they are filled again with all.
NEGLIGIBLE = 1 / 40
# Bytes that a fit makes do with, besides what it is given, and the fewest it can.
DEFAULT_MEMORY = 2**31
LEAST_MEMORY = 2**26
# More rows than these teach the frequencies and the trees' cuts nothing; fewer do.
MOST_SAMPLED = 4_000_000
LEAST_SAMPLED = 50_000
# Sampled rows from which a leaf's place can be told.
SAMPLED_ROWS_PER_LEAF = 8
# Operations of sums over the rows of a tree from which threads do not wait for each other longer than they work.
LEAST_THREADED_WORK = 3e8
# Bytes of a process that fits parts of trees, and operations for all trees from which it is worth its start.
PROCESS_BYTES = 2**26
LEAST_SHARED_WORK = 1e10
# Matrices of a node of a branch that is solved: its sums, their factor and its inverse.
MATRICES_PER_NODE = 3
# Copies of wide rows, in float32, that a tree makes while it is grown and filled.
WIDE_COPIES = 4
# Rows per feature of the mean leaf up to which leaves are taken to need no matrices of their own: the largest has more.
MEAN_ROWS_PER_FEATURE = 0.4


class AmountOfMemory(StrOptions):
    """A text that says how much memory a fit may take, or "auto"."""

    def __init__(self) -> None:
        super().__init__({"auto"})

    def is_satisfied_by(self, val: Any) -> bool:  # noqa: ANN401
        """Whether it is such a text."""
        return super().is_satisfied_by(val) or (isinstance(val, str) and (parse_bytes(val) or 0.0) >= LEAST_MEMORY)

    def __str__(self) -> str:
        return "'auto' or a str of at least 64 MiB such as '4GB', '512MB' or '1.5GiB'"


@dataclass(frozen=True)
class MemoryShares:
    """Shares of the memory of a fit. Working copies take the rest.

    Attributes
    ----------
    model_bytes : int
        Bytes of a fitted model, at most.
    sampled_rows : int
        Rows that are kept in memory to learn from, at most.
    part_bytes : int
        Bytes of rows of a file that are sorted together.
    working_bytes : int
        Bytes that trees which are fitted at the same time may take.
    left_out_rows : int
        Rows that are left out of trees in turn to learn the correction, at most.
    """

    model_bytes: int
    sampled_rows: int
    part_bytes: int
    working_bytes: int = DEFAULT_MEMORY // 2
    left_out_rows: int = MOST_LEFT_OUT

    @classmethod
    def of(cls, max_memory: float | str, n_inputs: int) -> "MemoryShares":
        """Shares of so many bytes, or of an amount of them such as "4GB"; "auto" is the default."""
        n_bytes = parse_bytes(max_memory) if isinstance(max_memory, str) else max_memory
        memory = DEFAULT_MEMORY if n_bytes is None else int(n_bytes)
        sampled_rows = memory // 8 // (4 * (n_inputs + 1))
        least = fewer_if_wide(LEAST_SAMPLED, n_inputs)
        left_out_rows = memory // 4 // (LEFT_OUT_BYTES + LEFT_OUT_INPUT_BYTES * n_inputs)
        return cls(
            model_bytes=memory // 4,
            sampled_rows=max(least, min(MOST_SAMPLED, sampled_rows)),
            part_bytes=memory // 64,
            working_bytes=memory // 2,
            left_out_rows=max(LEAST_LEFT_OUT, min(MOST_LEFT_OUT, left_out_rows)),
        )


@dataclass(frozen=True)
class ForestSizes:
    """Sizes of a forest.

    Attributes
    ----------
    n_frequencies, n_trees, n_draws : int
        m, T, and the number of draws of the frequencies that the trees share.
    depth : int
        Depth of the trees, which have 2^depth leaves.
    block_size : int
        Rows of a block that drives the gradient.
    max_iter : int
        Upper limit of the steps.
    n_held_out, n_folds : int
        Rows of a fold that calibrates, and how many folds there are.
    n_left_out : int
        Rows, counted once per tree, that are left out of it in turn, at most: all rows of some branches.
    trees_at_once : int
        Trees that may be fitted at the same time, as memory allows; one where they are small.
    most_processes : int
        Processes that may share the trees: none where they would be done before these have started.
    """

    n_frequencies: int
    n_trees: int
    n_draws: int
    depth: int
    block_size: int
    max_iter: int
    n_held_out: int
    n_folds: int
    n_left_out: int
    trees_at_once: int
    most_processes: int

    def refits(self, n_rows: int) -> bool:
        """Whether trees that lack the rows held out are filled again with all rows."""
        return self.n_folds > 1 or self.n_held_out > NEGLIGIBLE * n_rows


def choose_sizes(
    n_rows: int,
    n_inputs: int,
    memory: MemoryShares,
    *,
    n_frequencies: int | Auto = "auto",
    n_trees: int | Auto = "auto",
    leaf_size: int | Auto = "auto",
    max_iter: int | Auto = "auto",
    n_sketches: int | Literal["exact"] = 1,
) -> ForestSizes:
    """Sizes as they were set, and by the size of the table where they are "auto".

    Fewer frequencies are taken where memory asks for it, and what needs more memory than there is is refused.
    """
    trees = (TREES if n_rows < LARGE else TREES_OF_LARGE) if n_trees == "auto" else n_trees
    most_held_out = min(max(HELD_OUT, int(HELD_OUT_SHARE * n_rows)), MOST_HELD_OUT)
    n_held_out = max(1, min(most_held_out, n_rows // 10)) if n_rows > 1 else 0

    def depth_for(m: int) -> int:
        smallest = least_leaf(n_rows, n_inputs, m, trees, n_sketches, memory) if leaf_size == "auto" else leaf_size
        return _depth(n_rows, n_rows - n_held_out, smallest, memory.sampled_rows)

    def needed_for(m: int) -> int:
        return tree_bytes(n_rows, n_inputs, m, depth_for(m))

    m = _choose_frequencies(n_rows, needed_for, memory) if n_frequencies == "auto" else n_frequencies
    work = trees * n_rows * _n_features(m, n_inputs) ** 2
    if needed_for(m) > memory.working_bytes:
        raise _too_little_memory(n_inputs, m, needed_for, memory)
    return ForestSizes(
        n_frequencies=m,
        n_trees=trees,
        n_draws=_n_draws(n_rows, n_inputs, m, trees, memory),
        depth=depth_for(m),
        block_size=BLOCK_ROWS_PER_FREQUENCY * m,
        max_iter=STEPS if max_iter == "auto" else max_iter,
        n_held_out=n_held_out,
        n_folds=min(MOST_FOLDS, ceil(min(LEAST_HELD_OUT, n_rows) / n_held_out)) if n_held_out else 0,
        # Trees that leave out the same rows share what these take.
        n_left_out=MOST_LEFT_OUT if n_rows <= memory.left_out_rows else memory.left_out_rows,
        trees_at_once=memory.working_bytes // needed_for(m) if work >= LEAST_THREADED_WORK * trees else 1,
        most_processes=memory.working_bytes // PROCESS_BYTES if work >= LEAST_SHARED_WORK else 0,
    )


def _choose_frequencies(n_rows: int, needed_for: Callable[[int], int], memory: MemoryShares) -> int:
    """One frequency per some rows, or as many as there is memory for."""
    by_rows = min(MOST_FREQUENCIES, max(LEAST_FREQUENCIES, n_rows // ROWS_PER_FREQUENCY))
    affordable = (m for m in range(by_rows, LEAST_FREQUENCIES, -1) if needed_for(m) <= memory.working_bytes)
    return next(affordable, LEAST_FREQUENCIES)


def tree_bytes(n_rows: int, n_inputs: int, n_frequencies: int, depth: int) -> int:
    """Bytes that a tree takes while it is fitted, about: matrices of a branch's nodes, and copies of wide rows."""
    shape, n_features = TreeShape.of_depth(depth), _n_features(n_frequencies, n_inputs)
    nodes = [shape.leaves_per_branch // size for size in shape.leaves_per_node]
    if len(nodes) > 1 and n_rows / shape.n_leaves <= MEAN_ROWS_PER_FEATURE * n_features:
        nodes = nodes[:-1]
    copied = 4 * WIDE_COPIES * n_inputs * min(n_rows, fewer_if_wide(COPIED_ROWS, n_inputs)) if n_inputs > WIDE else 0
    return 8 * MATRICES_PER_NODE * sum(nodes) * (n_features + 1) ** 2 + copied


def _too_little_memory(
    n_inputs: int, n_frequencies: int, needed_for: Callable[[int], int], memory: MemoryShares
) -> ValueError:
    """The error of a forest that does not fit into memory."""
    fewer = next((m for m in range(n_frequencies - 1, 0, -1) if needed_for(m) <= memory.working_bytes), None)
    ways = [f"raise max_memory to {2 * needed_for(n_frequencies):,} bytes"]
    ways += [] if fewer is None else [f"set n_frequencies to at most {fewer}"]
    ways += ["give fewer columns"] if n_inputs > WIDE or fewer is None else []
    return ValueError(
        f"fitting a tree of {n_frequencies:,} frequencies on {n_inputs:,} inputs takes about "
        f"{needed_for(n_frequencies):,} bytes, and max_memory leaves {memory.working_bytes:,} for it, half of what it "
        f"is: {', '.join(ways[:-1])}{' or ' if len(ways) > 1 else ''}{ways[-1]}"
    )


def _n_features(n_frequencies: int, n_inputs: int) -> int:
    """Features of a leaf's model: cosines, sines, the constant, and linear functions of all or some inputs."""
    return 2 * n_frequencies + 1 + n_trend_inputs(n_inputs)


def _n_draws(n_rows: int, n_inputs: int, n_frequencies: int, n_trees: int, memory: MemoryShares) -> int:
    """Draws of the frequencies: one per tree, shared by some on large tables, and on wide ones for their size."""
    if n_rows >= LARGE:
        return ceil(n_trees / TREES_PER_DRAW)
    if n_inputs <= WIDE:
        return n_trees
    draw_bytes = 4 * (n_inputs + 1) * (2 * n_frequencies + 1)
    return int(min(n_trees, max(1, 0.5 * _model_bytes(n_rows, n_inputs, memory) // draw_bytes)))


def _model_bytes(n_rows: int, n_inputs: int, memory: MemoryShares) -> float:
    """Bytes of the model, at most."""
    return min(max(MODEL_SHARE * 8 * n_rows * (n_inputs + 1), MODEL_BYTES), memory.model_bytes)


def _depth(n_rows: int, n_fitted: int, leaf_size: int, sampled_rows: int) -> int:
    """Depth of trees with leaves of that size, or as small as a sample can place them, and a row at least in each."""
    n_leaves = min(n_rows / leaf_size, n_fitted)
    if n_rows > sampled_rows:
        n_leaves = min(n_leaves, sampled_rows / SAMPLED_ROWS_PER_LEAF)
    return int(log2(max(1.0, n_leaves)))


def least_leaf(
    n_rows: int,
    n_inputs: int,
    n_frequencies: int,
    n_trees: int,
    n_sketches: int | Literal["exact"],
    memory: MemoryShares,
) -> int:
    """Rows of a leaf for which the model is small enough; leaves are shrunk, so they may be small themselves.

    Exact covariances count as one sketch: who asks for them has the memory.
    """
    size = _n_features(n_frequencies, n_inputs)
    vectors = 1 + (1 if n_sketches == "exact" else n_sketches)
    # Cuts, of a number per input, count where there are many inputs.
    leaf_bytes = n_trees * (2 * vectors * size + (4 * n_inputs if n_inputs > WIDE else 0))
    return max(LEAST_LEAF, ceil(n_rows * leaf_bytes / _model_bytes(n_rows, n_inputs, memory)))
