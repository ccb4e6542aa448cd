"""Rows and regressors that the tests of figures share."""

import numpy as np
import pandas as pd

from helpers import quick, small_forest
from ssgp import DTCRegressor, ExactGPRegressor, PICRegressor, SSGPRegressor, VSSGPRegressor

REGRESSORS = {
    "forest": small_forest(),
    "svbssgp": quick(max_iter=30),
    "ssgp": SSGPRegressor(n_frequencies=5, max_iter=5, random_state=0),
    "vssgp": VSSGPRegressor(n_frequencies=5, max_iter=5, random_state=0),
    "dtc": DTCRegressor(n_inducing=8, max_iter=5, random_state=0),
    "pic": PICRegressor(n_inducing=8, n_blocks=4, max_iter=5, random_state=0),
    "exact": ExactGPRegressor(random_state=0),
}


def mixed_rows(n=300, seed=0):
    """A table of a number, a category, a time and a constant, with missing values, and a target of them all."""
    rng = np.random.default_rng(seed)
    size, kind = rng.normal(size=n), rng.choice(["ash", "oak", "yew"], n, p=[0.5, 0.3, 0.2])
    minutes = rng.integers(0, 60 * 24 * 200, n)
    when = pd.Timestamp("2021-03-01") + pd.to_timedelta(minutes, unit="min")
    y = size + 2.0 * (kind == "oak") + np.sin(2 * np.pi * minutes / 1440) + 0.1 * rng.normal(size=n)
    size[::17] = np.nan
    return pd.DataFrame({"size": size, "kind": kind, "when": when, "unit": "m"}), y
