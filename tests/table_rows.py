"""Tables of all kinds of columns that tests share."""

import numpy as np
import pandas as pd


def mixed_table(n=200, seed=0):
    """A pandas table of all kinds, and a target."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "count": rng.integers(5, size=n),
            "flag": rng.random(n) > 0.5,
            "when": pd.date_range("2021-03-01", periods=n, freq="31h", tz="Europe/Berlin"),
            "few": rng.choice(["a", "b", "c"], n),
            "many": pd.Categorical(rng.choice([f"m{i}" for i in range(25)], n)),
            "wait": pd.to_timedelta(rng.integers(100, size=n), unit="min"),
            "identifier": [f"id{i}" for i in range(n)],
            "constant": "same",
        }
    )
    table.loc[3, "number"] = np.nan
    table.loc[4, "few"] = None
    table.loc[5, "when"] = pd.NaT
    table.loc[6, "many"] = None
    return table, rng.normal(size=n)


def trips(n=500, seed=0):
    """A table of every kind of column, one with a name that HTML would take for a tag."""
    rng = np.random.default_rng(seed)
    hour, line = rng.integers(0, 24, n), rng.choice(["red", "blue", "<b>green"], n)
    table = pd.DataFrame(
        {
            "left": pd.Timestamp("2020-01-06") + pd.to_timedelta(24 * rng.integers(0, 300, n) + hour, unit="h"),
            "line": line,
            "weight <kg>": rng.normal(70.0, 10.0, n),
            "ticket": [f"t{i}" for i in range(n)],
        }
    )
    y = 20.0 + 5.0 * (line == "red") + 0.2 * hour + rng.normal(size=n)
    return table, pd.Series(y, name="trip (minutes)")
