"""A short use of everything, by what is installed alone: ``python smoke.py`` or ``python smoke.py extras``."""

import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

import ssgp
from ssgp import metrics

RNG = np.random.default_rng(0)
KINDS = np.array(["red", "green", "blue"])


def table(n_rows: int) -> tuple[pa.Table, np.ndarray]:
    """Rows of numbers, categories and dates with gaps, and targets."""
    x, kind = RNG.uniform(0, 6, n_rows), RNG.integers(0, 3, n_rows)
    days = np.datetime64("2024-01-01") + RNG.integers(0, 300, n_rows)
    y = np.sin(x) + kind + 0.1 * RNG.normal(size=n_rows)
    kinds = [None if i % 50 == 0 else str(KINDS[code]) for i, code in enumerate(kind)]
    return pa.table({"x": x, "kind": kinds, "day": days.astype("datetime64[s]")}), y


def regressors(folder: Path) -> None:
    """Every regressor is fitted, predicts, is saved and loaded."""
    X = RNG.uniform(-2, 2, (300, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.05 * RNG.normal(size=300)
    for name in ("SpectralForest", "SVBSSGP", "SSGP", "VSSGP", "DTC", "PIC", "ExactGP"):
        model = getattr(ssgp, f"{name}Regressor")(random_state=0)
        if name not in {"SpectralForest", "ExactGP"}:
            model.set_params(max_iter=30)
        model.fit(X[:200], y[:200])
        predicted = model.predict_distribution(X[200:])
        assert np.isfinite(metrics.crps(y[200:], predicted)), name
        assert (predicted.interval(0.9)[:, 0] < predicted.interval(0.9)[:, 1]).all(), name
        model.save(folder / "model.safetensors")
        again = ssgp.load(folder / "model.safetensors")
        assert np.array_equal(again.predict(X), model.predict(X)), name
        print(f"  {name:15} RMSE {metrics.rmse(y[200:], predicted.mean()):.3f}")


def tables(folder: Path) -> None:
    """A forest of a table of mixed columns holds what it promises, and is recalibrated."""
    (rows, y), (new, y_new) = table(800), table(400)
    model = ssgp.SpectralForestRegressor(random_state=0).fit(rows, y)
    inside = metrics.coverage(y_new, model.predict_distribution(new), level=0.9)
    assert 0.8 < inside < 0.98, inside
    corrected = ssgp.recalibrate(model, new, y_new)
    corrected.save(folder / "corrected.safetensors")
    assert "kind" in model.encoder_.describe()
    assert ssgp.importances(model, new).mean[0] > 0.1
    print(f"  a table: 90 % intervals hold {inside:.1%}")


def extras(folder: Path) -> None:
    """The command line from CSV to predictions and the report."""
    for name in ("rows", "new"):
        rows, y = table(400)
        csv.write_csv(rows.append_column("y", pa.array(y)), folder / f"{name}.csv")
    for command in (
        "fit rows.csv --target y --hold-out 0.2 --out model.safetensors",
        "predict model.safetensors new.csv --std --interval 0.9 --out predicted.parquet",
        "evaluate model.safetensors new.csv --json",
        "inspect model.safetensors",
        "report model.safetensors new.csv --out report.html",
    ):
        program = [sys.executable, "-m", "ssgp", *command.split()]
        done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"ssgp {command}\n{done.stderr}"
        print(f"  ssgp {command.split()[0]}")
    assert (folder / "report.html").stat().st_size > 50_000


def main() -> None:
    """Run everything that is asked for."""
    warnings.simplefilter("error", FutureWarning)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        regressors(folder)
        tables(folder)
        if "extras" in sys.argv[1:]:
            extras(folder)
    print(f"  ssgp {ssgp.__version__} works")


if __name__ == "__main__":
    main()
