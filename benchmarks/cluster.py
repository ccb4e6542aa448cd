"""Fits on a cluster of processes of this machine beside the fit in parts: time by stage, bytes moved, memory of each.

AIRLINE's rows are repeated, with noise, until there are enough of them. Workers have one thread each; the process that
calls, the scheduler in it, has all of the machine's while it learns. Nought workers are the fit in parts, with so many
threads. All models of a table are the same: `checksum` is of their predictions for its first rows.
"""

import shutil
import tempfile
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster, SchedulerPlugin

import ssgp.dask
from benchmarks.common import parser, print_command, print_table, run_benchmark
from benchmarks.stages import STAGES, Stages
from benchmarks.streaming import write_table
from experiments.machine import peak_memory
from experiments.study import Cell, Row, Study
from ssgp import SpectralForestRegressor
from ssgp._utils.progress import observed

__all__ = ["Fit", "cells", "measure"]

TARGET = "ArrDelay"
CHECKED_ROWS = 10_000
WHO = ("millions", "trees", "workers")
TIMES = ("fit_s", *(f"{stage}_s" for stage in STAGES), "cpu_s", *(f"{stage}_cpu_s" for stage in STAGES), "worker_cpu_s")
MOVED = ("sent_gb", "to_caller_gb", "peak_gb", "worker_peaks_gb", "model_gb", "checksum")
TASKS = ("look", "sample", "sort", "rows", "solve")


@dataclass(frozen=True)
class Fit(Cell):
    """A fit of so many million rows by so many workers, or by this process with so many threads."""

    millions: float
    trees: int
    memory: str
    worker_memory: str
    workers: int
    threads: int


class TaskTotals(SchedulerPlugin):
    """A plugin of a scheduler that adds up tasks by their kind."""

    name = "task-totals"

    def __init__(self) -> None:
        self.numbers: dict[str, int] = defaultdict(int)
        self.seconds: dict[str, float] = defaultdict(float)
        self.n_bytes: dict[str, int] = defaultdict(int)

    def transition(self, key: str, start: str, finish: str, *arguments: Any, **settings: Any) -> None:  # noqa: ANN401
        """Count a task that is done."""
        kind = str(key).split("-")[1] if str(key).startswith("ssgp-") else "others"
        if start == "processing" and finish == "memory":
            spans = settings.get("startstops") or ()
            self.numbers[kind] += 1
            self.seconds[kind] += sum(span["stop"] - span["start"] for span in spans if span["action"] == "compute")
            self.n_bytes[kind] += settings.get("nbytes") or 0


def cells(
    millions: list[float], trees: int, memory: str, worker_memory: str, workers: list[int], threads: int
) -> list[Fit]:
    """Each table by every number of workers before the next."""
    return [Fit(size, trees, memory, worker_memory, number, threads) for size in millions for number in workers]


def measure(folder: Path | None, scratch: Path, cell: Fit) -> list[Row]:
    """Fit, with what it took."""
    data = scratch / f"{cell.millions:g}.parquet"
    if not data.exists():
        write_table(data, round(cell.millions * 1e6), folder)
    fit = _fit_in_parts if cell.workers == 0 else _fit_on_workers
    model = SpectralForestRegressor(n_trees=cell.trees, random_state=0, max_memory=cell.memory, n_jobs=cell.threads)
    row = fit(model, data, cell)
    model.save(scratch / "model")
    first = next(_batches(data))[0]
    row["checksum"] = zlib.crc32(np.ascontiguousarray(model.predict(first.slice(0, CHECKED_ROWS))).tobytes())
    return [{**row, "rmse": _rmse(model, data), "model_gb": (scratch / "model").stat().st_size / 1e9}]


def _batches(data: Path) -> Iterator[tuple[pa.Table, pa.Array]]:
    file = pq.ParquetFile(data)
    for group in range(file.num_row_groups):
        table = file.read_row_group(group)
        yield table.drop_columns(TARGET), table[TARGET].to_numpy()


def _rmse(model: Any, data: Path) -> float:  # noqa: ANN401
    """Error on the first rows, which were learned from: a sign that fits did what they should, no measure of them."""
    table, y = next(_batches(data))
    return float(np.sqrt(np.mean((model.predict(table.slice(0, CHECKED_ROWS)) - y[:CHECKED_ROWS]) ** 2)))


@contextmanager
def _timed(row: Row) -> Iterator[None]:
    """Context of a fit, whose seconds, stages, CPU seconds and peak memory in this process go to a row."""
    stages = Stages()
    with observed(stages):
        yield
    row |= {**stages.seconds(), "peak_gb": peak_memory()}


def _fit_in_parts(model: SpectralForestRegressor, data: Path, cell: Fit) -> Row:
    row: Row = {}
    with _timed(row):
        model.fit_batches(lambda: _batches(data), n_rows=round(cell.millions * 1e6))
    return row


def _fit_on_workers(model: SpectralForestRegressor, data: Path, cell: Fit) -> Row:
    """The same on a cluster, with what the workers did and sent each other."""
    row, totals = dict[str, Any](), TaskTotals()
    settings: dict[str, Any] = {
        "threads_per_worker": 1,
        "memory_limit": cell.worker_memory,
        "dashboard_address": "127.0.0.1:0",
    }
    with LocalCluster(n_workers=cell.workers, **settings) as cluster, Client(cluster) as client:
        cluster.scheduler.add_plugin(totals)  # pyright: ignore
        with _timed(row):
            ssgp.dask.fit(model, str(data), client, target=TARGET)
        sent: Any = client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
        peaks: Any = client.run(peak_memory)
        cpu: Any = client.run(time.process_time)
    row |= {"sent_gb": sum(sent.values()) / 1e9, "worker_cpu_s": sum(cpu.values())}
    row["to_caller_gb"] = sum(totals.n_bytes[kind] for kind in ("look", "count", "sample", "solve")) / 1e9
    row["worker_peaks_gb"] = " ".join(f"{peak:.2f}" for peak in peaks.values())
    for kind in TASKS:
        row |= {f"{kind}_tasks": totals.numbers[kind], f"{kind}_s_in_all": totals.seconds[kind]}
    return row


def main() -> None:
    line = parser(__doc__)
    line.add_argument("--millions", type=float, nargs="+", default=[20.0, 100.0], help="millions of rows")
    line.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2], metavar="N", help="workers, 0 for none")
    line.add_argument("--threads", type=int, default=2, help="of the process that calls")
    line.add_argument("--trees", type=int, default=8, help="trees of the forest")
    line.add_argument("--memory", default="2GB", help="max_memory of the fit")
    line.add_argument("--worker-memory", default="4GB", help="of a worker, which is ended where it takes more")
    line.add_argument("--scratch", default="", help="folder of the tables, by default one that is deleted")
    flags = line.parse_args()
    scratch = Path(flags.scratch or tempfile.mkdtemp())
    scratch.mkdir(exist_ok=True)
    print_command("cluster")
    try:
        budgets = flags.memory, flags.worker_memory
        chosen = cells(flags.millions, flags.trees, *budgets, flags.workers, flags.threads)
        rows = run_benchmark("cluster", Study(chosen, partial(measure, flags.data, scratch)), columns=(*WHO, *TIMES))
        print()
        print_table(rows, (*WHO, *MOVED))
        print()
        print_table(rows, (*WHO, *(f"{k}{end}" for k in TASKS for end in ("_tasks", "_s_in_all"))))
    finally:
        if not flags.scratch:
            shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
