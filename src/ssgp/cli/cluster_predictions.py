"""Predictions that the workers of a cluster compute and write: each task some row groups of the table, to a file."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ssgp._utils.whole_folder import folder_beside, whole_folder
from ssgp.cli.errors import CommandError
from ssgp.cli.predicted_tables import TablePredictor, no_rows
from ssgp.cli.progress_display import Display
from ssgp.dask.blocks import RowGroups
from ssgp.dask.sources import blocks_to_predict
from ssgp.dask.tasks import tasks_of
from ssgp.dask.workers import MAX_WAIT
from ssgp.engine.freed_memory import give_back
from ssgp.engine.threads import with_one_blas_thread
from ssgp.tables.files import BATCH_ROWS, TableSource, open_table
from ssgp.tables.input_warnings import Told, collected, tell_all
from ssgp.tables.table_file import gathered
from ssgp.tables.writing import write_table

__all__ = ["write_file", "write_folder"]


class Part(NamedTuple):
    """How many rows a task has written, and what there is to tell of their values."""

    n_rows: int
    told: Told


def write_folder(
    predict: TablePredictor,
    source: TableSource,
    out: str,
    display: Display,
    client: Any,  # noqa: ANN401
    max_wait: float | None = MAX_WAIT,
) -> int:
    """Write a new folder of Parquet files, in the order of their names, and return the number of rows."""
    with whole_folder(out) as folder:
        n_rows, names = _write_parts(predict, source, folder, display, client, max_wait)
        for left in set(folder.iterdir()) - {folder / name for name in names}:
            # Of a worker that was killed while it wrote.
            left.unlink()
        return n_rows


def write_file(
    predict: TablePredictor,
    source: TableSource,
    out: str,
    display: Display,
    client: Any,  # noqa: ANN401
    max_wait: float | None = MAX_WAIT,
) -> int:
    """Write one file: the workers write parts of it, which are joined here. Return the number of rows."""
    with folder_beside(out) as folder:
        _write_parts(predict, source, folder, display, client, max_wait)
        return write_table(open_table(folder).batches(), out)


def _write_parts(
    predict: TablePredictor,
    source: TableSource,
    folder: Path,
    display: Display,
    client: Any,  # noqa: ANN401
    max_wait: float | None = MAX_WAIT,
) -> tuple[int, list[str]]:
    """Write files to a folder; return the number of rows, and the names of the files."""
    with tasks_of(client, max_wait) as tasks:
        blocks = blocks_to_predict(source.name, source.schema(predict.read), tasks)
        total, n_written = sum(block.n_rows for block in blocks), 0
        if not total:
            raise no_rows(source)

        def after(part: Part) -> None:
            nonlocal n_written
            n_written += part.n_rows
            display("row", n_written, total)

        display("row", 0, total)
        shared = tasks.constant("model", predict)
        names = [f"part-{i:05d}.parquet" for i in range(len(blocks))]
        paths = [os.fspath(folder / name) for name in names]
        pairs = zip(blocks, paths, strict=True)
        for part in tasks.run([tasks.call("predict", _write_part, shared, *pair) for pair in pairs], after):
            tell_all(part.told)
    return total, names


def _write_part(predict: TablePredictor, block: RowGroups, path: str) -> Part:
    """Predict the rows of a block and write them, whole or not at all: it may be done again, elsewhere."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise CommandError(
            f"a worker finds no folder {folder!r}: all of them have to see the place of --out, by the same name"
        )
    try:
        with collected() as told:
            n_rows = write_table((with_one_blas_thread(predict, rows) for rows in _batches(block)), path)
    finally:
        give_back()
    return Part(n_rows, told)


def _batches(block: RowGroups) -> Iterator[pa.Table]:
    """The rows, so many at a time."""
    for table in gathered(block.tables(), BATCH_ROWS):
        for start in range(0, table.num_rows, BATCH_ROWS):
            yield table.slice(start, BATCH_ROWS)
