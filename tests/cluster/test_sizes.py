"""What one task reads or solves stays within its share of the memory, however long the table is."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("ssgp.dask")
from ssgp.dask.sources import open_parquet
from ssgp.dask.table import MOST_PART_SHARES, ClusterTable
from ssgp.rows.leaf_runs import run_record


def test_blocks_are_neighbouring_row_groups_of_so_many_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("ssgp.dask.sources.LEAST_BLOCK_BYTES", 1)
    monkeypatch.setattr("ssgp.dask.sources.BLOCKS", 1)
    monkeypatch.setattr("ssgp.dask.sources.MOST_PREDICTED_BYTES", 250 * 8)
    # Row groups of very different sizes, one of which is larger than a block may be.
    for name, ends in {"a": [0, 10, 110, 210, 215], "b": [215, 900, 950]}.items():
        with pq.ParquetWriter(tmp_path / f"{name}.parquet", pa.schema([("x", pa.float64())])) as writer:
            for start, stop in pairwise(ends):
                writer.write_table(pa.table({"x": np.arange(start, stop, dtype=float)}))
    blocks = open_parquet([str(tmp_path)], None)
    assert [block.n_rows for block in blocks if block.n_rows > 250] == [685]
    read = [np.concatenate([table["x"].to_numpy() for table in block.tables()]) for block in blocks]
    assert [len(rows) for rows in read] == [block.n_rows for block in blocks]
    np.testing.assert_array_equal(np.concatenate(read), np.arange(950.0))


@pytest.mark.parametrize("n_rows", [1000, 10**7, 10**9])
def test_parts_of_a_tree_are_branches_of_so_many_bytes(n_rows):
    rows, part_bytes, n_leaves, branch = (
        SimpleNamespace(n_rows=n_rows, n_inputs=8, weighted=False),
        1 << 25,
        1 << 18,
        16,
    )
    table = ClusterTable(rows, None, part_bytes)  # pyright: ignore[reportArgumentType]
    ends = table._ends(n_leaves, branch)
    assert (ends[0], ends[-1]) == (0, n_leaves)
    assert np.all(ends % branch == 0)
    leaf_bytes = n_rows * run_record(8, False).itemsize / n_leaves
    assert np.diff(ends).max() * leaf_bytes < MOST_PART_SHARES * part_bytes + branch * leaf_bytes
    assert len(ends) == 2 if n_rows == 1000 else len(ends) > 32
