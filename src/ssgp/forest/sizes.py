"""Sizes of a forest that nobody has to choose, from the size of the table."""

from dataclasses import dataclass
from math import ceil, log2

__all__ = ["ForestSizes", "MemoryShares", "choose_sizes"]

# A model takes at most this share of the table it was fitted to (in float64), or so many bytes if that is more.
MODEL_SHARE = 0.5
MODEL_BYTES = 4_000_000
LEAST_LEAF = 20
MOST_FREQUENCIES = 100
LEAST_FREQUENCIES = 30
ROWS_A_FREQUENCY = 20
# Large tables make do with fewer trees, which share their waves: predictions then compute them less often.
LARGE = 100_000
TREES = 16
TREES_OF_LARGE = 8
TREES_A_DRAW = 8
STEPS = 1500
# Rows of a block that drives the gradient, for each frequency.
BLOCK_ROWS_A_FREQUENCY = 7
# Held-out rows: so many settle the calibration to about half a percent of coverage.
HELD_OUT = 5000
LEAST_HELD_OUT = 500
# Trees that lack so small a share of the rows are kept; otherwise they are filled again with all.
NEGLIGIBLE = 1 / 40
# Bytes that a fit makes do with, besides what it is given, and the fewest it can.
MEMORY = 2**31
LEAST_MEMORY = 2**26
# More rows than these teach the waves and the trees' cuts nothing; fewer do.
MOST_SAMPLED = 4_000_000
LEAST_SAMPLED = 50_000
# Sampled rows from which a leaf's place can be told.
GROWN_ROWS_A_LEAF = 8


@dataclass(frozen=True)
class MemoryShares:
    """What the memory of a fit is spent on. Working copies take the rest.

    Attributes
    ----------
    model_bytes : int
        Of a fitted model, at most.
    sampled_rows : int
        Rows that are kept in memory to learn from, at most.
    part_bytes : int
        Of rows of a file that are sorted together.
    """

    model_bytes: int
    sampled_rows: int
    part_bytes: int

    @classmethod
    def of(cls, max_memory: float | None, n_inputs: int) -> "MemoryShares":
        """Shares of so many bytes, None for our own choice."""
        memory = int(max_memory or MEMORY)
        sampled_rows = memory // 8 // (4 * (n_inputs + 1))
        return cls(memory // 4, max(LEAST_SAMPLED, min(MOST_SAMPLED, sampled_rows)), memory // 64)


@dataclass(frozen=True)
class ForestSizes:
    """Sizes of a forest.

    Attributes
    ----------
    n_frequencies, n_trees, n_draws : int
        m, T, and the number of draws of the frequencies that the trees share.
    depth : int
        Of the trees: there are 2^depth leaves.
    block_size : int
        Rows of a block that drives the gradient.
    max_iter : int
        Upper limit of the steps.
    n_held_out, n_folds : int
        Rows of a fold that calibrates, and how many folds there are.
    """

    n_frequencies: int
    n_trees: int
    n_draws: int
    depth: int
    block_size: int
    max_iter: int
    n_held_out: int
    n_folds: int

    def plants_again(self, n_rows: int) -> bool:
        """Whether trees that lack the rows held out are filled again with all rows."""
        return self.n_folds > 1 or self.n_held_out > NEGLIGIBLE * n_rows


def choose_sizes(
    n_rows: int,
    n_inputs: int,
    n_frequencies: int | None,
    n_trees: int | None,
    leaf_size: int | None,
    max_iter: int | None,
    n_sketches: int | None,
    memory: MemoryShares,
) -> ForestSizes:
    """Fill in what was not set (None)."""
    m = n_frequencies or min(MOST_FREQUENCIES, max(LEAST_FREQUENCIES, n_rows // ROWS_A_FREQUENCY))
    trees = n_trees or (TREES if n_rows < LARGE else TREES_OF_LARGE)
    smallest = leaf_size or least_leaf(n_rows, n_inputs, m, trees, n_sketches, memory.model_bytes)
    n_held_out = max(1, min(HELD_OUT, n_rows // 10)) if n_rows > 1 else 0
    n_folds = min(10, ceil(min(LEAST_HELD_OUT, n_rows) / n_held_out)) if n_held_out else 0
    return ForestSizes(
        n_frequencies=m,
        n_trees=trees,
        n_draws=trees if n_rows < LARGE else ceil(trees / TREES_A_DRAW),
        depth=_depth(n_rows, n_rows - n_held_out, smallest, memory.sampled_rows),
        block_size=BLOCK_ROWS_A_FREQUENCY * m,
        max_iter=max_iter or STEPS,
        n_held_out=n_held_out,
        n_folds=n_folds,
    )


def _depth(n_rows: int, n_seen: int, leaf_size: int, sampled_rows: int) -> int:
    """Of trees with leaves of that size, or as small as a sample can place them, and a row at least in each."""
    n_leaves = min(n_rows / leaf_size, n_seen)
    if n_rows > sampled_rows:
        n_leaves = min(n_leaves, sampled_rows / GROWN_ROWS_A_LEAF)
    return int(log2(max(1.0, n_leaves)))


def least_leaf(
    n_rows: int, n_inputs: int, n_frequencies: int, n_trees: int, n_sketches: int | None, model_bytes: int
) -> int:
    """Rows of a leaf for which the model is small enough; leaves are shrunk, so they may be small themselves."""
    size = 2 * n_frequencies + 1 + n_inputs
    vectors = 1 + (1 if n_sketches is None else n_sketches)
    leaf_bytes, table_bytes = 2 * n_trees * vectors * size, 8 * n_rows * (n_inputs + 1)
    allowed = min(max(MODEL_SHARE * table_bytes, MODEL_BYTES), model_bytes)
    return max(LEAST_LEAF, ceil(n_rows * leaf_bytes / allowed))
