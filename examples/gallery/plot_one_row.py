"""
Serving one row at a time
=========================

A service answers one request after another. A forest predicts a single row exactly as it
would within a table, in less than a millisecond, and a saved model is one file that cannot
run code.
"""

# sphinx_gallery_thumbnail_path = "images/thumbnails/one_row.svg"

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import ssgp
from ssgp.datasets import load_flights

flights = load_flights()
some = np.random.default_rng(0).permutation(len(flights.y_train))[:5000]
fitted = ssgp.SpectralForestRegressor(random_state=0).fit(
    flights.X_train[some], flights.y_train[some]
)

# %%
# Save the model where you fit it. In the service, load it once, at startup:

with TemporaryDirectory() as folder:
    path = Path(folder, "delays.safetensors")
    fitted.save(path)
    print(f"{path.stat().st_size / 1e6:.1f} MB")
    start = time.perf_counter()
    model = ssgp.load(path)
    print(f"loaded in {time.perf_counter() - start:.2f} s")

# %%
# Each request is then one row, and one distribution answers everything about it:


def answer(row: np.ndarray) -> dict[str, float]:
    """Mean, ends of the 90 % interval, and the probability of more than half an hour."""
    predicted = model.predict_distribution(row[None])
    low, high = predicted.interval(0.9)[0]
    return {
        "mean": predicted.mean()[0],
        "low": low,
        "high": high,
        "late": 1 - predicted.cdf(30.0)[0],
    }


print({name: round(float(value), 2) for name, value in answer(flights.X_test[0]).items()})

# %%
# How long it takes, one row at a time (the machine that builds this page is busy; see
# :doc:`/measurements` for times on an idle one):


def median_milliseconds(task: Callable[[np.ndarray], object], rows: int = 200) -> float:
    """Median time of a call."""
    times = []
    for row in flights.X_test[:rows]:
        start = time.perf_counter()
        task(row)
        times.append(time.perf_counter() - start)
    return 1000 * float(np.median(times))


tasks = {
    "mean": lambda row: model.predict(row[None]),
    "90 % interval": lambda row: model.predict_interval(row[None], 0.9),
    "all of answer": answer,
}
for name, task in tasks.items():
    print(f"{name:14} {median_milliseconds(task):.2f} ms")

# %%
# A row alone gets the same prediction as within a table, to the last bit:

together = model.predict(flights.X_test[:50])
alone = np.array([model.predict(row[None])[0] for row in flights.X_test[:50]])
print((together == alone).all())

# %%
# - If all columns are numbers, pass arrays: for a one-row data frame, most of the time
#   goes into checking its columns.
# - Several threads can predict with one model. Set ``model.n_jobs = 1`` in a service that
#   has its own threads.
# - A category that the model has never seen, or an unexpected missing value, is not an
#   error: the row gets a wider distribution, and a warning. If nobody reads standard
#   error, send warnings to a log.
# - :doc:`/stability` says what may change between versions.
