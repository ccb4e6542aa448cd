"""Ways to make blocks: from inputs and target of all rows, or from the inputs of training rows alone.

The first is what the program of the paper's authors did when it made the partition that its configuration loads: test
rows are clustered along with the others, by their targets as well, and predicted by the block they were clustered into.
The second is what a user can do, who does not know the targets that are to be predicted.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.tables import Table
from ssgp.rows.kmeans import even_kmeans

__all__ = [
    "BlockLabels",
    "MakeBlocks",
    "block_means",
    "given_blocks",
    "input_blocks",
    "joint_blocks",
    "raw_input_blocks",
]

Array = NDArray[np.floating]
Mask = NDArray[np.bool_]
Labels = NDArray[np.integer]

# A cluster of k-means holds so many blocks at most: all pairs of two million rows and 8,000 centres take minutes.
MOST_CENTRES = 2000


@dataclass(frozen=True)
class BlockLabels:
    """Blocks of training rows and of test rows.

    Attributes
    ----------
    train, test : int arrays of shapes (n,) and (n*,)
        Labels.
    """

    train: Labels
    test: Labels


# Takes table, test rows, number of blocks and seed to blocks.
MakeBlocks = Callable[[Table, Mask, int, int], BlockLabels]


def given_blocks(table: Table, test: Mask, n_blocks: int, seed: int) -> BlockLabels:
    """The blocks that a table comes with, of test rows too."""
    if table.blocks is None:
        raise ValueError("the table comes without blocks")
    return BlockLabels(table.blocks[~test], table.blocks[test])


def joint_blocks(table: Table, test: Mask, n_blocks: int, seed: int) -> BlockLabels:
    """Even k-means of standardised inputs and target of all rows."""
    rows = _standardized(np.column_stack([table.X, table.y]))
    rng = np.random.default_rng(seed)
    n_centres = min(n_blocks, MOST_CENTRES)
    _, labels = even_kmeans(rows, n_centres, rng, _no_metric(rows))
    labels = _divided(rows, labels, n_blocks // n_centres, rng)
    return BlockLabels(labels[~test], labels[test])


def input_blocks(table: Table, test: Mask, n_blocks: int, seed: int) -> BlockLabels:
    """Even k-means of standardised inputs of training rows; a test row goes to the centre that is nearest."""
    return _by_inputs(_standardized(table.X), test, n_blocks, seed)


def raw_input_blocks(table: Table, test: Mask, n_blocks: int, seed: int) -> BlockLabels:
    """As `input_blocks`, in the units of the table, which are those of the authors' program."""
    return _by_inputs(table.X.astype(np.float32), test, n_blocks, seed)


def block_means(y: Array, blocks: BlockLabels) -> Array:
    """Predictions (n*,) of test rows by the means of their blocks' training targets."""
    names, train = np.unique(blocks.train, return_inverse=True)
    means = np.bincount(train, y) / np.bincount(train)
    return means[np.searchsorted(names, blocks.test)]


def _by_inputs(rows: Array, test: Mask, n_blocks: int, seed: int) -> BlockLabels:
    partition, labels = even_kmeans(rows[~test], n_blocks, np.random.default_rng(seed), _no_metric(rows))
    return BlockLabels(labels, partition.assign(rows[test]))


def _divided(rows: Array, labels: Labels, n_parts: int, rng: np.random.Generator) -> Labels:
    """Every block cut into so many, again by even k-means."""
    if n_parts == 1:
        return labels
    order = np.argsort(labels, kind="stable")
    divided = np.empty_like(labels)
    for block in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        _, parts = even_kmeans(rows[block], n_parts, rng, _no_metric(rows))
        divided[block] = labels[block[0]] * n_parts + parts
    return divided


def _standardized(rows: Array) -> Array:
    deviation = rows.std(axis=0)
    return ((rows - rows.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)).astype(np.float32)


def _no_metric(rows: Array) -> Array:
    return np.ones(rows.shape[1], np.float32)
