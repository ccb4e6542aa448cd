"""The command line on tables from two to a hundred million rows: time, memory, throughput and size of the model.

AIRLINE's rows are repeated, with noise, until there are enough of them. A row a stage goes to
``results/streaming.jsonl`` when the stage is done.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from common import options, record
from experiments.tables import load_airline

BASE_ROWS = 2_000_000
GROUP_ROWS = 1_000_000
INPUT_NOISE = 0.02
TARGET_NOISE = 10.0


def write_table(path: Path, n_rows: int, folder: Path | None) -> None:
    """AIRLINE's first rows, then the same again with noise of some percent of the inputs' deviations."""
    table = load_airline(folder)
    X, y = table.X[:BASE_ROWS].astype(np.float32), table.y[:BASE_ROWS].astype(np.float32)
    deviation, names = X.std(axis=0), [*table.feature_names, "ArrDelay"]
    rng = np.random.default_rng(0)
    writer = None
    for start in range(0, n_rows, GROUP_ROWS):
        some = np.arange(start, min(start + GROUP_ROWS, n_rows)) % BASE_ROWS
        inputs, target = X[some], y[some]
        if start >= BASE_ROWS:
            inputs = inputs + INPUT_NOISE * deviation * rng.standard_normal(inputs.shape, np.float32)
            target = target + np.float32(TARGET_NOISE) * rng.standard_normal(len(target), np.float32)
        group = pa.table([*inputs.T, target], names=names)
        writer = writer or pq.ParquetWriter(path, group.schema)
        writer.write_table(group)
    if writer is not None:
        writer.close()


def run(*arguments: str | Path) -> tuple[dict[str, Any], float, float]:
    """Run a command; what it found, the seconds it took and its peak memory in GB."""
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([sys.executable, "-m", "ssgp", *map(str, arguments), "--json"], stdout=out)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except KeyboardInterrupt:
            # A fit would go on to plant what it has learned, in a folder that is about to be deleted.
            process.kill()
            process.wait()
            raise
        seconds = time.perf_counter() - began
        if status:
            raise SystemExit(f"ssgp {arguments[0]} failed")
        out.seek(0)
        return json.load(out), seconds, usage.ru_maxrss / 1e6


def measure(millions: float, folder: Path | None, scratch: Path, memory: str, stages: list[str]) -> None:
    """Fit, predict and evaluate one size of table."""
    n_rows = round(millions * 1e6)
    data, model, predicted = scratch / f"{millions:g}.parquet", scratch / "model", scratch / "predicted.parquet"
    if not data.exists():
        write_table(data, n_rows, folder)
    commands = {
        "fit": ("fit", data, "--target", "ArrDelay", "--memory", memory, "--out", model),
        "predict": ("predict", model, data, "--out", predicted),
        "predict with deviations": ("predict", model, data, "--std", "--out", predicted),
        "evaluate": ("evaluate", model, data),
    }
    for stage in stages:
        found, seconds, peak = run(*commands[stage])
        row = {"rows": n_rows, "stage": stage, "seconds": seconds, "rows_a_second": n_rows / seconds, "peak_gb": peak}
        row["table_gb"] = data.stat().st_size / 1e9
        if stage == "fit":
            row |= {"model_gb": model.stat().st_size / 1e9, "leaves": found["training"]["n_leaves_"]}
        if stage == "evaluate":
            row |= {name: found["model"][name] for name in ("rmse", "mnlp")}
        record("streaming", [row])
    predicted.unlink(missing_ok=True)


def main() -> None:
    stages = "fit,predict,predict with deviations,evaluate"
    given = options(__doc__, millions="2,20,100", memory="4GB", scratch="", stages=stages)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    scratch = Path(given.scratch or tempfile.mkdtemp())
    scratch.mkdir(exist_ok=True)
    try:
        for millions in map(float, given.millions.split(",")):
            measure(millions, given.data, scratch, given.memory, given.stages.split(","))
    finally:
        if not given.scratch:
            shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
