"""What tests of the command line share: tables, and how it is called."""

from math import inf

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from helpers import wavy
from ssgp import table_files
from ssgp.cli.app import app

QUICK = ["--jobs", "1"]
for setting in ("max_iter=20", "n_trees=2", "n_frequencies=8", "correct=no"):
    QUICK += ["--set", setting]

SMALL_SSGP = ["--set", "n_frequencies=5", "--set", "max_iter=3", "--set", "n_restarts=1"]

SMALL_MODELS = {
    "svbssgp": ["--set", "n_frequencies=5", "--set", "max_iter=5"],
    "ssgp": SMALL_SSGP,
    "vssgp": ["--set", "n_frequencies=5", "--set", "max_iter=5"],
    "dtc": ["--set", "n_inducing=10", "--set", "max_iter=5"],
    "pic": ["--set", "n_inducing=10", "--set", "max_iter=5"],
    "exact": ["--set", "learn_rows=50"],
}


def mixed(n_rows, seed=0):
    """Numbers, categories, times and missing values; targets missing in the first three rows."""
    X, y, _ = wavy(n_rows, seed)
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue"], n_rows)
    y = y + (colour == "red")
    return pa.table(
        {
            "id": [f"{i:04d}" for i in range(n_rows)],
            "east": X[:, 0],
            "north": pa.array(X[:, 1], mask=rng.random(n_rows) < 0.05),
            "colour": colour,
            "when": pa.array(np.datetime64("2024-01-01T00", "s") + rng.integers(10**7, size=n_rows)),
            "unit": ["m"] * n_rows,
            "height": pa.array(y, mask=np.arange(n_rows) < 3),
        }
    )


def fill(folder):
    """Put a table to learn from, new rows, and a model that `ssgp fit` made into a folder."""
    csv.write_csv(mixed(300), folder / "train.csv")
    new = mixed(300, seed=1)
    csv.write_csv(new, folder / "new.csv")
    pq.write_table(new, folder / "new.parquet", row_group_size=70)
    code, out, _ = run("fit", folder / "train.csv", "--target", "height", "--key", "id", *QUICK, "--out", folder / "m")
    assert code == 0, out
    return folder


def run(*arguments, **settings):
    """Exit code, standard output and standard error, without lines that slow machines would print of their progress."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ssgp.cli.progress_display.SECONDS_BETWEEN_LINES", inf)
        done = CliRunner().invoke(app, [str(argument) for argument in arguments], **settings)
    return done.exit_code, done.stdout, done.stderr


def fails(*arguments, code=1):
    """The one line of an error."""
    found, out, err = run(*arguments)
    assert found == code, err
    assert "Saved" not in out
    *before, line = err.splitlines()
    assert line.startswith("ssgp: error: ")
    assert all(other.startswith("ssgp: warning: ") for other in before)
    return line


def predicted(path):
    """Predictions in a file."""
    return table_files.open_table(path, {"id": pa.string()}).read()
