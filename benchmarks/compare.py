"""The spectral forest beside its peers: error, density, calibration, time and memory, in one run on one machine.

Every cell (table, method, fold) runs in a process of its own, so that its peak memory is its own, and
its row goes to ``results/compare.jsonl`` at once: an interrupted run goes on where it stopped. ``compare_report.py``
makes the table and the figure from the rows.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from common import RESULTS, peak_memory
from tables import FOLDS, SMALL, TABLES

ROWS = RESULTS / "compare.jsonl"
EVERYWHERE = ["spectral forest", "LightGBM", "LightGBM quantile", "histogram boosting"]
SUITE: dict[str, list[str]] = {
    **{name: [*EVERYWHERE, "NGBoost", "exact GP", "SVGP"] for name in SMALL},
    "kin40k": [*EVERYWHERE, "NGBoost", "exact GP", "SVGP"],
    "aimpeak": [*EVERYWHERE, "LightGBM 127 x 3000", "NGBoost", "SVGP"],
    "blog": [*EVERYWHERE, "NGBoost"],
    "flights": [*EVERYWHERE, "LightGBM 255 x 300", "LightGBM 255 x 2000"],
    "airline": ["spectral forest", "LightGBM 255 x 3000", "LightGBM 1023 x 600"],
}
VARIANTS = ["forest, exact covariances", "forest, average over prunings", "forest, not shrunk"]
VARIANT_TABLES = ["flights", "aimpeak", "kin40k", "elevators"]
FOLDED = (*SMALL, "kin40k")
PACKAGES = ["ssgp", "numpy", "scikit-learn", "lightgbm"]


def cells(tables: list[str], methods: list[str], n_folds: int) -> list[tuple[str, str, int]]:
    """What is to be run: whole tables first, so that peers are timed close together."""
    wanted = []
    for table in tables:
        own = [*SUITE[table], *(VARIANTS if table in VARIANT_TABLES else [])]
        folds = n_folds if table in FOLDED else 1
        wanted += [(table, method, fold) for fold in range(folds) for method in own if not methods or method in methods]
    return wanted


def run_cell(folder: Path | None, table: str, method: str, fold: int) -> dict[str, Any]:
    """Fit and score one method on one split."""
    import numpy as np

    from peers import METHODS
    from ssgp.metrics import rmse

    data = TABLES[table](folder, fold)
    loaded = peak_memory()
    outcome = METHODS[method](data)
    inside = (outcome.interval[:, 0] <= data.y_test) & (data.y_test <= outcome.interval[:, 1])
    return {
        "n_train": len(data.y_train),
        "n_test": len(data.y_test),
        "rmse": rmse(data.y_test, outcome.mean),
        "mnlp": None if outcome.log_density is None else float(-np.mean(outcome.log_density)),
        "crps": None if outcome.crps is None else float(np.mean(outcome.crps)),
        "coverage": float(inside.mean()),
        "width": float(np.mean(outcome.interval[:, 1] - outcome.interval[:, 0])),
        "target_deviation": float(data.y_train.std()),
        "fit_s": outcome.fit_s,
        "predict_s": outcome.predict_s,
        "peak_gb": peak_memory(),
        "loaded_gb": loaded,
        **outcome.about,
    }


def known() -> set[tuple[str, str, int]]:
    """Cells that have a row."""
    if not ROWS.exists():
        return set()
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    return {(row["table"], row["method"], row["fold"]) for row in rows if "error" not in row}


def run(folder: Path | None, table: str, method: str, fold: int) -> None:
    """Run a cell in its own process and keep its row; a failure is a row too."""
    command = [sys.executable, __file__, "--cell", table, method, str(fold)]
    if folder is not None:
        command += ["--data", str(folder)]
    result = subprocess.run(command, capture_output=True, text=True)
    about = {
        "table": table,
        "method": method,
        "fold": fold,
        "time": time.strftime("%Y-%m-%dT%H:%M:%S"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        "versions": {name: version(name) for name in PACKAGES},
    }
    if result.returncode == 0:
        row = json.loads(result.stdout.splitlines()[-1])
        print(f"rmse {row['rmse']:.4g}, mnlp {row['mnlp'] or float('nan'):.4g}, {row['fit_s']:.1f} s", flush=True)
    else:
        row = {"error": result.stderr.strip().splitlines()[-1] if result.stderr.strip() else "no message"}
        print(f"failed: {row['error']}", flush=True)
    RESULTS.mkdir(exist_ok=True)
    with open(ROWS, "a") as file:
        file.write(json.dumps({**about, **row}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("SSGP_DATA"), help="folder with the Parquet tables")
    parser.add_argument("--tables", nargs="*", default=list(SUITE), choices=list(SUITE), metavar="TABLE")
    parser.add_argument("--methods", nargs="*", default=[], metavar="METHOD")
    parser.add_argument("--folds", type=int, default=FOLDS, help="of the tables that have folds (default %(default)s)")
    parser.add_argument("--again", action="store_true", help="run cells that have a row already, too")
    parser.add_argument("--cell", nargs=3, metavar=("TABLE", "METHOD", "FOLD"), help="run one cell and print its row")
    options = parser.parse_args()
    folder = None if options.data is None else Path(options.data)
    if options.cell:
        table, method, fold = options.cell
        print(json.dumps(run_cell(folder, table, method, int(fold))))
        return
    done = set() if options.again else known()
    todo = [cell for cell in cells(options.tables, options.methods, options.folds) if cell not in done]
    for i, cell in enumerate(todo):
        print(f"[{i + 1}/{len(todo)}] {cell[0]}, {cell[1]}, fold {cell[2]}: ", end="", flush=True)
        run(folder, *cell)


if __name__ == "__main__":
    main()
