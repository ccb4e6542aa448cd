"""What tests of the paper's evaluation share: a small suite, and rows of results that were never measured."""

from dataclasses import replace

import numpy as np

from experiments.suites import SUITES, reduced
from experiments.tables import Table
from helpers import wavy


def small_table(folder=None):
    X, y, _ = wavy(800)
    return Table(X, y, ("a", "b"), np.arange(800) % 20 == 0)


SMALL = replace(reduced(SUITES["aimpeak"]), load=small_table, n_rows=None, draws=(1, 3))


def made_up(**columns):
    """One row of results, with these columns."""
    plain = {"suite": "aimpeak", "split": "0", "method": "sVBSSGP", "kind": "trace", "n_draws": 20, "gamma": 0.0}
    rest = {
        "iteration": 1,
        "steps": 1,
        "seed": 0,
        "converged": False,
        "train_s": 1.0,
        "rmse": 1.0,
        "mnlp": 1.0,
        "coverage": 0.95,
        "error": None,
    }
    about = {"quick": False, "wall_s": 1.0, "finished": "2026", "machine": "m", "versions": "v"}
    return [{**plain, **rest, **about, **columns}]
