"""The command line on tables from two to a hundred million rows: time, memory, throughput and size of the model.

AIRLINE's rows are repeated, with noise, until there are enough of them. Stages share a scratch folder, in which the
models are.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import options, run_benchmark
from experiments.study import Cell, Row, Study
from experiments.tables import load_airline

BASE_ROWS = 2_000_000
GROUP_ROWS = 1_000_000
INPUT_NOISE = 0.02
TARGET_NOISE = 10.0
STAGES = ("fit", "predict", "predict with deviations", "evaluate")


@dataclass(frozen=True)
class Stage(Cell):
    """A command on a table of so many million rows."""

    millions: float
    memory: str
    stage: str
    device: str


def write_table(path: Path, n_rows: int, folder: Path | None) -> None:
    """AIRLINE's first rows, then the same again with noise, two percent of the inputs' deviations."""
    table = load_airline(folder)
    X, y = table.X[:BASE_ROWS].astype(np.float32), table.y[:BASE_ROWS].astype(np.float32)
    deviation, names = X.std(axis=0), [*table.feature_names, "ArrDelay"]
    rng = np.random.default_rng(0)
    schema = pa.schema([(name, pa.float32()) for name in names])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n_rows, GROUP_ROWS):
            group = np.arange(start, min(start + GROUP_ROWS, n_rows)) % len(y)
            inputs, target = X[group], y[group]
            if start >= len(y):
                inputs = inputs + INPUT_NOISE * deviation * rng.standard_normal(inputs.shape, np.float32)
                target = target + np.float32(TARGET_NOISE) * rng.standard_normal(len(target), np.float32)
            writer.write_table(pa.table([*inputs.T, target], schema=schema))


def run_command(*arguments: str | Path) -> tuple[dict[str, Any], float, float]:
    """Run a command; what it prints, the seconds it took and its peak memory in GB."""
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([sys.executable, "-m", "ssgp", *map(str, arguments), "--json"], stdout=out)

        def give_up(number: int, frame: FrameType | None) -> NoReturn:
            # A fit would go on with what it has learned, in a folder that is about to be deleted.
            process.kill()
            sys.exit(1)

        signal.signal(signal.SIGTERM, give_up)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        if status:
            raise RuntimeError(f"ssgp {arguments[0]} failed")
        out.seek(0)
        return json.load(out), seconds, usage.ru_maxrss * 1024 / 1e9


def measure(folder: Path | None, scratch: Path, cell: Stage) -> list[Row]:
    n_rows, stem = round(cell.millions * 1e6), f"{cell.millions:g}"
    data, model, predicted = scratch / f"{stem}.parquet", scratch / f"{stem}.model", scratch / "predicted.parquet"
    if not data.exists():
        # In another process: a command's peak memory is counted from that of the process that starts it.
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            pool.submit(write_table, data, n_rows, folder).result()
    device = ("--device", cell.device)
    commands = {
        "fit": ("fit", data, "--target", "ArrDelay", "--memory", cell.memory, "--out", model, *device),
        "predict": ("predict", model, data, "--out", predicted, *device),
        "predict with deviations": ("predict", model, data, "--std", "--out", predicted, *device),
        "evaluate": ("evaluate", model, data),
    }
    if cell.stage != "fit" and not model.exists():
        raise FileNotFoundError(f"there is no model of {stem} million rows in {scratch}: the stage fit comes first")
    printed, seconds, peak = run_command(*commands[cell.stage])
    predicted.unlink(missing_ok=True)
    row = {"rows": n_rows, "seconds": seconds, "rows_per_second": n_rows / seconds, "peak_gb": peak}
    row["table_gb"] = data.stat().st_size / 1e9
    if cell.stage == "fit":
        row |= {"model_gb": model.stat().st_size / 1e9, "leaves": printed["training"]["n_leaves_"]}
    if cell.stage == "evaluate":
        row |= {name: printed["model"][name] for name in ("rmse", "mnlp")}
    return [row]


def main() -> None:
    flags = options(__doc__, millions="2,20,100", memory="4GB", scratch="", stages=",".join(STAGES), device="cpu")
    scratch = Path(flags.scratch or tempfile.mkdtemp())
    scratch.mkdir(exist_ok=True)
    cells = [
        Stage(float(millions), flags.memory, stage, flags.device)
        for millions in flags.millions.split(",")
        for stage in flags.stages.split(",")
    ]
    try:
        run_benchmark("streaming", Study(cells, partial(measure, flags.data, scratch)))
    finally:
        if not flags.scratch:
            shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
