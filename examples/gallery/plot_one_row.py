"""
Serving one row at a time
=========================

A service answers one request after the other. A forest predicts a row alone exactly as it
does among others, in less than a millisecond, and a saved model is one file that cannot run
code.
"""

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
# Where the model is fitted, save it. In the service, load it once, at its start:

with TemporaryDirectory() as folder:
    path = Path(folder, "delays.safetensors")
    fitted.save(path)
    print(f"{path.stat().st_size / 1e6:.1f} MB")
    start = time.perf_counter()
    model = ssgp.load(path)
    print(f"loaded in {time.perf_counter() - start:.2f} s")

# %%
# Then each request is a row. One distribution answers everything about it:


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
# How long it takes, each on a row of its own (the machine that builds this page is busy;
# see :doc:`/measurements` for quiet ones):


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
# Alone and among others, to the last bit:

together = model.predict(flights.X_test[:50])
alone = np.array([model.predict(row[None])[0] for row in flights.X_test[:50]])
print((together == alone).all())

# %%
# - Give arrays where columns are numbers: of a data frame's row most of the time is a look
#   at its columns.
# - Several threads may predict with one model. Set ``model.n_jobs = 1`` in a service that
#   has threads of its own.
# - A category that the model has never seen, or a gap where there was none, is no error:
#   the row gets a wider distribution, and a warning. Turn warnings into a log where nobody
#   reads the standard error.
# - What may change between versions: :doc:`/stability`.
