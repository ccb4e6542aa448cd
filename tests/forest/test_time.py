"""Forests that are calibrated forward in time."""

import datetime
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ssgp import SpectralForestRegressor, TableEncoder

QUICK = {"n_trees": 4, "max_iter": 100, "random_state": 0}


def by_day(n_rows, rng):
    """Twenty rows a day, which have an effect of the day in common: that of days to come is not known.

    Columns are the day and something that tells no more.
    """
    day = np.arange(n_rows) // 20
    effect = rng.normal(size=n_rows // 20 + 1)
    return np.column_stack([day * 1.0, rng.normal(size=n_rows)]), effect[day] + 0.1 * rng.normal(size=n_rows)


def covered(model, X, y):
    low, high = model.predict_interval(X, coverage=0.9).T
    return np.mean((low < y) & (y < high))


@pytest.mark.slow
def test_intervals_hold_for_rows_to_come():
    """By random rows, which are of days that are known, intervals are those of such days."""
    gains, covers = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = by_day(2000, rng)
        order = rng.permutation(1200)
        past, to_come = (X[order], y[order]), (X[1200:], y[1200:])
        by_row = SpectralForestRegressor(**QUICK).fit(*past)
        by_time = SpectralForestRegressor(**QUICK).fit(*past, time=past[0][:, 0])
        gains.append(np.mean(by_time.log_prob(*to_come) - by_row.log_prob(*to_come)))
        covers.append(covered(by_time, *to_come))
    assert min(gains) > 0.0
    # Days to come are 40 of each table, and 18 were held out: a deviation of some 5 % of their mean.
    assert np.mean(covers) > 0.75


def sorts_of_times(n_rows):
    """The same times in several ways, of which parts have the same rows."""
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    hours = np.arange(n_rows)
    stamps = np.datetime64("2025-03-01T00:00:00") + hours.astype("timedelta64[h]")
    return {
        "hours": hours,
        "whole": hours.astype(np.int32),
        "negative": hours - 1e6,
        "numpy": stamps.astype("datetime64[h]"),
        "nanoseconds": stamps.astype("datetime64[ns]"),
        "pandas": pd.Series(stamps),
        "zone": pd.Series(stamps).dt.tz_localize("UTC").dt.tz_convert("America/New_York"),
        "index": pd.DatetimeIndex(stamps),
        "periods": pd.PeriodIndex(stamps, freq="h"),
        "arrow": pa.array(stamps),
        "chunks": pa.chunked_array([stamps[:100], stamps[100:]]),
        "durations": hours.astype("timedelta64[h]").astype("timedelta64[s]"),
        "python": [datetime.datetime(2025, 3, 1) + datetime.timedelta(hours=int(hour)) for hour in hours],
        "text": [str(stamp) for stamp in stamps],
        "dots": [f"{stamp:%d.%m.%Y %H:%M}" for stamp in stamps.tolist()],
    }


@pytest.mark.slow
def test_times_of_all_sorts_are_the_same(rng):
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=200)
    quickest = {"n_trees": 2, "max_iter": 20, "random_state": 0, "correct": False}
    results = {
        name: SpectralForestRegressor(**quickest).fit(X, y, time=time).predict_interval(X[:20])
        for name, time in sorts_of_times(200).items()
    }
    for name, result in results.items():
        np.testing.assert_array_equal(result, results["hours"], err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("sampled", [False, True])
def test_times_of_batches_are_those_of_the_whole_table(sampled, rng, monkeypatch):
    if sampled:
        for name in ("LEAST_SAMPLED", "MOST_SAMPLED"):
            monkeypatch.setattr(f"ssgp.forest.sizes.{name}", 400)
    X, y = by_day(700, rng)
    order = rng.permutation(700)
    X, y = X[order], y[order]
    time, weight = np.datetime64("2025-01-01") + X[:, 0].astype("timedelta64[D]"), rng.integers(3, size=700) * 1.0
    one = SpectralForestRegressor(**QUICK).fit(X, y, weight, time=time)
    parts = np.split(np.arange(700), [100, 350])
    other = SpectralForestRegressor(**QUICK).fit_batches([(X[p], y[p], weight[p], None, time[p]) for p in parts])
    np.testing.assert_array_equal(one.predict_interval(X), other.predict_interval(X))


@pytest.mark.slow
def test_the_number_of_threads_changes_nothing(rng):
    X, y = by_day(400, rng)
    one = SpectralForestRegressor(**QUICK, n_jobs=1).fit(X, y, time=X[:, 0])
    other = SpectralForestRegressor(**QUICK, n_jobs=2).fit(X, y, time=X[:, 0])
    np.testing.assert_array_equal(one.predict_interval(X), other.predict_interval(X))


def test_a_time_limit_is_borne(rng):
    X, y = by_day(400, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SpectralForestRegressor(**QUICK, max_time=0.5).fit(X, y, time=X[:, 0])
    assert np.isfinite(model.predict_interval(X)).all()


@pytest.mark.parametrize(
    ("time", "message"),
    [
        ([1.0] * 50, "time is the same in all rows"),
        ([1.0, None, *range(48)], r"time is missing in row 1 \(1 of 50 rows\)"),
        (np.array(["2025-01-01"] * 49 + ["NaT"], "datetime64[s]"), r"time is missing in row 49 \(1 of 50 rows\)"),
        (["soon"] * 50, "time holds text, such as 'soon'; it has to hold times, dates or numbers"),
        (["3/4/2025"] * 25 + ["5/4/2025"] * 25, "time has dates whose order of day and month is not said"),
        ([1.0, 2.0], "inconsistent numbers of samples"),
        ([True] * 50, "time holds truth values"),
        ([1.0, np.inf, *range(48)], "infinity"),
    ],
)
def test_times_that_cannot_be(time, message, rng):
    X = rng.normal(size=(50, 2))
    with pytest.raises(ValueError, match=message):
        SpectralForestRegressor().fit(X, X[:, 0], time=time)


def test_an_encoder_says_how_dates_are_read(rng):
    X = rng.normal(size=(60, 2))
    dates = [f"{1 + i % 12}/{1 + i // 12}/2025" for i in range(60)]
    quickest = {"n_trees": 2, "max_iter": 20, "random_state": 0, "correct": False}
    model = SpectralForestRegressor(**quickest, encoder=TableEncoder(dates="dayfirst")).fit(X, X[:, 0], time=dates)
    number = [31 * (i // 12) + i % 12 for i in range(60)]
    other = SpectralForestRegressor(**quickest, encoder=TableEncoder()).fit(X, X[:, 0], time=number)
    np.testing.assert_array_equal(model.predict_interval(X), other.predict_interval(X))


def test_groups_and_time_are_not_both_given(rng):
    X = rng.normal(size=(50, 2))
    with pytest.raises(ValueError, match="groups and time are both given"):
        SpectralForestRegressor().fit(X, X[:, 0], groups=np.arange(50), time=np.arange(50))
