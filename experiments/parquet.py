"""Parquet files: written whole or not at all, and columns of them as arrays."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

__all__ = ["read_columns", "write_whole"]


def write_whole(table: pa.Table, path: Path) -> None:
    """Write a file beside the place and move it there: who reads meanwhile sees the former file, or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        pq.write_table(table, part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def read_columns(path: Path, names: Sequence[str], n_rows: int | None = None) -> NDArray[np.float64]:
    """Columns of a file as one array of shape (n, columns), read a column at a time."""
    file = pq.ParquetFile(path)
    absent = [name for name in names if name not in file.schema_arrow.names]
    if absent:
        raise ValueError(f"{path} has no column {absent[0]!r}; it needs {', '.join(names)}")
    n_rows = min(file.metadata.num_rows, file.metadata.num_rows if n_rows is None else n_rows)
    out = np.empty((n_rows, len(names)))
    for i, name in enumerate(names):
        out[:, i] = file.read([name]).column(0).slice(0, n_rows).to_numpy()
    return out
