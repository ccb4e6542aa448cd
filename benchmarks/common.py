"""What the benchmarks share: data, timing, peak memory, rows of results."""

import argparse
import json
import os
import platform
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

import ssgp
from ssgp.metrics import coverage, mnlp, rmse

RESULTS = Path("results")


def options(description: str | None, **flags: Any) -> argparse.Namespace:  # noqa: ANN401  as argparse takes them
    """Command line of a benchmark: a data folder, and flags with their defaults."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("SSGP_DATA"),
        help="folder with the Parquet tables (or set SSGP_DATA)",
    )
    # Ctrl-C ends a fit early and leaves a model, which is no result: here it ends the benchmark.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for name, default in flags.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    return parser.parse_args()


@dataclass
class Clock:
    """Seconds of named stages."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Time a stage."""
        start = time.perf_counter()
        yield
        self.seconds[stage] = time.perf_counter() - start


def peak_memory() -> float:
    """Peak resident memory of this process in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def held_out_deviation(make: Callable[[], Any], X: NDArray, y: NDArray) -> float:
    """Of the residuals on a tenth of the rows, by a model that has not seen them."""
    held_out = np.random.default_rng(0).random(len(y)) < 0.1
    blind = make().fit(X[~held_out], y[~held_out])
    return float(np.std(y[held_out] - blind.predict(X[held_out])))


def score(y: NDArray, mean: NDArray, std: NDArray) -> dict[str, float]:
    return {"rmse": rmse(y, mean), "mnlp": mnlp(y, mean, std), "coverage": coverage(y, mean, std)}


def quantiles_of(run: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Least and median seconds of a repeated call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times), float(np.median(times))


def record(benchmark: str, rows: list[dict[str, Any]]) -> None:
    """Print rows as a table and keep them, with machine and versions, in ``results/``."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    texts = [[_text(row.get(name, "")) for name in names] for row in rows]
    widths = [max(len(name), *(len(line[i]) for line in texts)) for i, name in enumerate(names)]
    for line in [names, *texts]:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
    about = {
        "benchmark": benchmark,
        "time": time.strftime("%Y-%m-%dT%H:%M:%S"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "ssgp": ssgp.__version__,
    }
    RESULTS.mkdir(exist_ok=True)
    with open(RESULTS / f"{benchmark}.jsonl", "a") as file:
        file.writelines(json.dumps({**about, **row}) + "\n" for row in rows)


def _text(value: Any) -> str:  # noqa: ANN401  any cell of a table
    return f"{value:.4g}" if isinstance(value, float) else str(value)
