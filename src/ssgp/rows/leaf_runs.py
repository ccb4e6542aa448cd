"""Runs of rows on their way to their leaves: each sorted by leaf, then gathered, some leaves at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssgp._utils.arrays import Array, Indices
from ssgp.rows.bisecting_tree import BisectingTree
from ssgp.rows.blocks import Rows, block_order

__all__ = ["SortedRows", "gather_runs", "run_record", "sort_run"]


@dataclass(frozen=True)
class SortedRows:
    """Rows of some neighbouring leaves.

    Attributes
    ----------
    first_leaf : int
        The first of the leaves.
    rows : Rows
        A leaf is a block.
    index : int array of shape (n,)
        Their numbers in the table.
    """

    first_leaf: int
    rows: Rows
    index: Indices

    def load(self) -> "SortedRows":
        """The rows, which are there."""
        return self


def run_record(n_inputs: int, weighted: bool) -> np.dtype:
    """Type of a row on its way to its leaf."""
    columns: list[Any] = [("leaf", np.int32), ("index", np.int64), ("x", np.float32, (n_inputs,)), ("y", np.float32)]
    return np.dtype([*columns, *[("weight", np.float32)] * weighted])


def sort_run(
    rows: Rows, start: int, partition: BisectingTree, held_out: Indices, ends: Indices
) -> tuple[NDArray[Any], Indices]:
    """Neighbouring rows of a table, sorted by leaf.

    Parameters
    ----------
    rows : Rows
        The rows, standardised.
    start : int
        Number of the first of them in the table.
    partition : BisectingTree
        The leaves.
    held_out : int array
        Numbers in the table of rows that go to no leaf, ascending; there may be others before and after these rows.
    ends : int array of shape (k + 1,)
        Leaves at which parts begin and end.

    Returns
    -------
    run : array of records
        The rows, as `run_record` has them; of a leaf in the order of the table.
    places : int array of shape (k + 1,)
        Where the parts begin and end among them.
    """
    leaf = partition.assign(rows.X)
    first, last = np.searchsorted(held_out, [start, start + len(leaf)])
    leaf[held_out[first:last] - start] = partition.n_blocks
    order = np.argsort(leaf, kind="stable")[: len(leaf) - (last - first)]
    run = np.empty(len(order), run_record(rows.X.shape[1], rows.weight is not None))
    run["leaf"], run["index"], run["x"], run["y"] = leaf[order], start + order, rows.X[order], rows.y[order]
    if rows.weight is not None:
        run["weight"] = rows.weight[order]
    return run, np.searchsorted(leaf[order], ends)


def gather_runs(runs: Sequence[NDArray[Any]], first_leaf: int, end_leaf: int) -> SortedRows:
    """Rows of some leaves, from all runs in the order of the table."""
    records = np.concatenate(runs)
    order, bounds = block_order(records["leaf"] - first_leaf, end_leaf - first_leaf)
    records = records[order]
    weight: Array | None = records["weight"].copy() if "weight" in (records.dtype.names or ()) else None
    rows = Rows(np.ascontiguousarray(records["x"]), records["y"].copy(), weight, bounds)
    return SortedRows(first_leaf, rows, records["index"].copy())
