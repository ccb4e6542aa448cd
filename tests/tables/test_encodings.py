"""Encodings of single columns: against values worked out by hand, and scikit-learn's encoders."""

import datetime as dt
import decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.model_selection import KFold
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

from ssgp import TableEncoder
from ssgp.tables.encodings import category_codes, unknown_values
from table_rows import mixed_table


def encoded(column, **settings: Any):
    """Features of a table of one column, and their names."""
    encoder = TableEncoder(**settings).fit(pa.table({"c": column}))
    return encoder.transform(pa.table({"c": column})), list(encoder.get_feature_names_out())


class TestNumbers:
    def test_stay_as_they_are(self):
        features, names = encoded([3.0, -1.5, 2.0])
        np.testing.assert_array_equal(features, [[3.0], [-1.5], [2.0]])
        assert names == ["c"]

    @pytest.mark.parametrize("nothing", [None, float("nan")], ids=["null", "NaN"])
    def test_missing_ones_are_the_median_and_told(self, nothing):
        features, names = encoded(pa.array([1.0, nothing, 4.0, 9.0]))
        np.testing.assert_array_equal(features, [[1, 0], [4, 1], [4, 0], [9, 0]])
        assert names == ["c", "c_missing"]

    def test_missing_ones_are_imputed_where_fit_saw_none(self):
        encoder = TableEncoder().fit(pa.table({"c": [1.0, 2.0, 6.0]}))
        with pytest.warns(UserWarning, match=r"'c' in 1 of 2 \(50.0%\). A median or a mean stands for them"):
            features = encoder.transform(pa.table({"c": [None, 7.0]}))
        np.testing.assert_array_equal(features, [[2.0], [7.0]])
        np.testing.assert_array_equal(encoder.encoded(pa.table({"c": pa.nulls(1)})), [[2.0]])

    @pytest.mark.parametrize(
        ("column", "expected"),
        [
            (pa.array([True, False, None]), [[1, 0], [0, 0], [0.5, 1]]),
            (pa.array([dt.timedelta(hours=1), dt.timedelta(milliseconds=5)]), [[3600], [0.005]]),
            (pa.array([decimal.Decimal("1.25"), decimal.Decimal("-3.5")]), [[1.25], [-3.5]]),
            (pa.array([2**62, -(2**61)]), [[2.0**62], [-(2.0**61)]]),
            (pa.array([2**64 - 1, 0], pa.uint64()), [[2.0**64], [0]]),
            (pa.array([1, 2], pa.float16()), [[1], [2]]),
        ],
        ids=["boolean", "duration", "decimal", "large", "larger", "half"],
    )
    def test_other_types_of_them(self, column, expected):
        np.testing.assert_array_equal(encoded(column)[0], expected)

    @pytest.mark.parametrize("when", ["fit", "transform"])
    def test_infinity_is_an_error_that_names_the_column(self, when):
        good, bad = pa.table({"c": [1.0, 2.0, 3.0]}), pa.table({"c": [1.0, np.inf, -np.inf]})
        encoder = TableEncoder().fit(good)
        with pytest.raises(ValueError, match=r"column 'c' has infinity in 2 of 3 rows, the first in row 1"):
            getattr(encoder, when)(bad)

    def test_a_constant_with_holes_is_its_indicator(self):
        features, names = encoded([7.0, None, 7.0])
        assert names == ["c_missing"]
        np.testing.assert_array_equal(features, [[0], [1], [0]])

    def test_text_of_numbers_on_request(self):
        features, _ = encoded(["1.5", "", "3"], kinds={"c": "number"})
        np.testing.assert_array_equal(features, [[1.5, 0], [2.25, 1], [3, 0]])
        with pytest.raises(ValueError, match=r"column 'c' has text that is not a number.*many"):
            encoded(["1.5", "many"], kinds={"c": "number"})


class TestTimes:
    def test_are_points_on_circles_and_days(self):
        times = [dt.datetime(2020, 1, 6) + dt.timedelta(hours=7 * k) for k in range(1500)]
        features, names = encoded(times)
        assert names == [
            *("c_hour_sin", "c_hour_cos", "c_weekday_sin", "c_weekday_cos", "c_yearday_sin", "c_yearday_cos"),
            "c_days",
        ]
        for row, time in zip(features[::97], times[::97], strict=True):
            day = (time.hour + time.minute / 60) / 24
            length = 366 if time.year == 2020 else 365
            turns = [day, (time.weekday() + day) / 7, (time.timetuple().tm_yday - 1 + day) / length]
            circles = [f(2 * np.pi * turn) for turn in turns for f in (np.sin, np.cos)]
            np.testing.assert_allclose(row, [*circles, (time - times[0]) / dt.timedelta(days=1)], atol=1e-9)

    def test_only_what_varies_is_there(self):
        dates = [dt.date(2020, 1, 1) + dt.timedelta(days=k) for k in range(30)]
        assert encoded(dates)[1] == ["c_weekday_sin", "c_weekday_cos", "c_days"]
        weekly = [dt.date(2020, 1, 1) + dt.timedelta(days=7 * k) for k in range(10)]
        assert encoded(weekly)[1] == ["c_days"]
        minutes = [dt.datetime(2020, 1, 1, 12, k) for k in range(30)]
        assert encoded(minutes)[1] == ["c_hour_sin", "c_hour_cos", "c_days"]

    def test_times_of_day_have_no_days(self):
        features, names = encoded([dt.time(6), dt.time(18), None])
        assert names == ["c_hour_sin", "c_hour_cos", "c_missing"]
        np.testing.assert_allclose(features, [[1, 0, 0], [-1, 0, 0], [0, 0, 1]], atol=1e-12)

    def test_missing_ones_are_the_centre_and_the_median(self):
        times = [dt.datetime(2020, 1, 1), None, dt.datetime(2020, 1, 2, 6), dt.datetime(2020, 1, 5)]
        features, names = encoded(times)
        assert names[-2:] == ["c_days", "c_missing"]
        np.testing.assert_array_equal(features[1], [0, 0, 0, 0, 1.25, 1])

    def test_hours_are_those_of_the_time_zone(self):
        zone = ZoneInfo("America/New_York")
        times = [dt.datetime(2020, month, 1, 6, tzinfo=zone) for month in (1, 2, 7)]
        column = pa.array([*times, times[0] + dt.timedelta(hours=1)], pa.timestamp("ms", "America/New_York"))
        features, _ = encoded(column)
        np.testing.assert_allclose(features[:3, :2], [[1, 0]] * 3, atol=1e-12)

    def test_a_fixed_offset_is_a_time_zone(self):
        column = pa.array([dt.datetime(2020, 1, 1, 5), dt.datetime(2020, 1, 2, 17)], pa.timestamp("us", "+01:00"))
        np.testing.assert_allclose(encoded(column)[0][:, 0], [1, -1], atol=1e-12)

    def test_another_time_zone_is_the_same_instants(self):
        table, y = mixed_table()
        encoder = TableEncoder().fit(table, y)
        moved = table.assign(when=table["when"].dt.tz_convert("Asia/Tokyo"))
        np.testing.assert_array_equal(encoder.transform(moved), encoder.transform(table))

    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    def test_units_do_not_matter(self, unit):
        times = [dt.datetime(1969, 5, 1, 3), dt.datetime(2020, 1, 2, 6), dt.datetime(1971, 1, 1, 1)]
        expected, _ = encoded(pa.array(times, pa.timestamp("us")))
        np.testing.assert_array_equal(encoded(pa.array(times, pa.timestamp(unit)))[0], expected)

    def test_text_of_times_on_request(self):
        text = ["2020-01-01", "2020-01-03T06:00:00", None]
        times = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 3, 6), None]
        np.testing.assert_array_equal(encoded(text, kinds={"c": "time"})[0], encoded(times)[0])
        zoned = ["2020-01-01T01:00:00+01:00", "2020-01-03T06:00:00Z", None]
        np.testing.assert_array_equal(encoded(zoned, kinds={"c": "time"})[0], encoded(times)[0])

    @pytest.mark.parametrize(
        ("column", "kinds"),
        [
            (pa.array([2**62, 0, 1], pa.timestamp("s")), None),
            (pa.array([0, 10**9], pa.timestamp("s", "Mars/Olympus")), None),
            (pa.array(["2020-01-01", "yesterday"]), {"c": "time"}),
        ],
        ids=["far away", "no such zone", "text"],
    )
    def test_what_cannot_be_read_is_named(self, column, kinds):
        with pytest.raises(ValueError, match=r"column 'c' has (times|text) that"):
            encoded(column, kinds=kinds)


class TestCategories:
    def test_few_are_those_of_scikit_learn(self):
        rng = np.random.default_rng(0)
        column = rng.choice(["x", "y", "z"], 50)
        features, names = encoded(column)
        np.testing.assert_array_equal(features, OneHotEncoder(sparse_output=False).fit_transform(column[:, None]))
        assert names == ["c_x", "c_y", "c_z"]

    def test_missing_and_empty_are_one_category_and_new_ones_none(self):
        encoder = TableEncoder().fit(pa.table({"c": ["a", None, "b", ""]}))
        features = encoder.encoded(pa.table({"c": ["a", "", None, "new"]}))
        np.testing.assert_array_equal(features, [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]])

    def test_many_are_the_smoothed_means_of_scikit_learn(self):
        table, y = mixed_table()
        encoder = TableEncoder(random_state=3).fit(table[["many"]], y)
        column = table["many"].astype(object).fillna("missing").to_numpy()[:, None]
        oracle = TargetEncoder(target_type="continuous").fit(column, y)
        np.testing.assert_allclose(encoder.transform(table[["many"]]), oracle.transform(column), rtol=1e-12)
        new = pd.DataFrame({"many": ["never seen"]})
        np.testing.assert_allclose(encoder.encoded(new), [[y.mean()]])

    def test_a_row_does_not_see_its_own_target_in_fit_transform(self):
        table, y = mixed_table()
        features = TableEncoder(cv=4, random_state=3).fit_transform(table[["many"]], y)
        column = table["many"].astype(object).fillna("missing").to_numpy()[:, None]
        expected = np.empty((len(y), 1))
        for train, test in KFold(4, shuffle=True, random_state=3).split(column):
            oracle = TargetEncoder(target_type="continuous").fit(column[train], y[train])
            expected[test] = oracle.transform(column[test])
        np.testing.assert_allclose(features, expected, rtol=1e-12)

    def test_many_need_a_target(self):
        table, _ = mixed_table()
        with pytest.raises(ValueError, match=r"column 'many' has 25 categories, more than max_one_hot=10.*no y"):
            TableEncoder().fit(table)
        assert TableEncoder(max_one_hot=25).fit(table).transform(table).shape[0] == len(table)

    def test_numbers_on_request_are_the_same_with_and_without_holes(self):
        encoder = TableEncoder(kinds={"zip": "category"}).fit(pd.DataFrame({"zip": [10, 20, 10]}))
        features = encoder.encoded(pd.DataFrame({"zip": [20.0, np.nan, 10.0]}))
        np.testing.assert_array_equal(features, [[0, 1], [0, 0], [1, 0]])

    def test_long_numbers_are_categories_of_their_own(self):
        encoder = TableEncoder(kinds={"c": "category"}).fit(pa.table({"c": [2**60, 2**60 + 1, 123456789012]}))
        assert list(encoder.get_feature_names_out()) == [f"c_{2**60}", f"c_{2**60 + 1}", "c_123456789012"]
        floats = pa.table({"c": [123456789012.0, np.nan, 0.5, 1e300]})
        np.testing.assert_array_equal(encoder.encoded(floats), [[0, 0, 1]] + 3 * [[0, 0, 0]])

    def test_dictionaries_of_numbers_are_categories(self):
        features, _ = encoded(pa.array([5, 7, 5]).dictionary_encode())
        np.testing.assert_array_equal(features, [[1, 0], [0, 1], [1, 0]])

    def test_unused_categories_of_a_dictionary_are_not_there(self):
        column = pd.Series(pd.Categorical(["a", "b"], categories=["a", "b", "never"]))
        assert encoded(pa.array(column))[1] == ["c_a", "c_b"]


@pytest.mark.parametrize("empty", ["", "d"])
def test_categories_of_a_slice_are_those_of_its_rows(empty):
    names = ["a", empty, "cc", None, "a", "cc", empty, "bbb"] * 3
    whole = pa.chunked_array([pa.array(names)])
    categories = np.array(["a", "bbb", "cc", "d"], dtype=object)
    codes = category_codes(whole.slice(5, 11), categories)
    expected = [4 if not name else categories.tolist().index(name) for name in names[5:16]]
    assert codes.tolist() == expected
    assert category_codes(whole, categories)[5:16].tolist() == expected


@pytest.mark.parametrize("parts", [1, 3])
def test_an_order_that_names_a_category_twice_is_that_of_its_first_places(parts):
    names, codes = pa.array(["low", "high", "low", "top"]), pa.array([0, 3, 2, 1, 0, 3], pa.int8())
    whole = pa.DictionaryArray.from_arrays(codes, names, ordered=True)
    column = pa.chunked_array([whole[k::parts] for k in range(parts)])
    features, _ = encoded(column)
    order = {"low": 0.0, "high": 1.0, "top": 2.0}
    assert features[:, 0].tolist() == [order[name] for name in column.to_pylist()]


@pytest.mark.parametrize("values", [
    [1.5, 2.5], ["a", "b"], [f"k{i}" for i in range(15)], [dt.date(2024, 1, 1), dt.date(2024, 1, 2)],
    pd.Categorical(["low", "high"], ["low", "high"], ordered=True),
], ids=["numbers", "categories", "many categories", "times", "order"])  # fmt: skip
@pytest.mark.parametrize(("n_rows", "n_missing", "hardly_any"), [
    (2000, 0, True), (2000, 19, True), (2000, 20, False), (300, 5, True), (300, 6, False), (30, 1, False),
])  # fmt: skip
def test_gaps_that_fit_hardly_had_are_unknown(values, n_rows, n_missing, hardly_any):
    column = pd.Series(values).take(np.arange(n_rows) % len(values)).reset_index(drop=True)
    table = pd.DataFrame({"c": column.where(np.arange(n_rows) >= n_missing)})
    encoder = TableEncoder().fit(table, np.arange(float(n_rows)))
    found = unknown_values(encoder.columns_[0], pa.chunked_array([pa.nulls(2)]), replaced=True)
    assert found.tolist() == [hardly_any] * 2
    alone = unknown_values(encoder.columns_[0], pa.chunked_array([pa.nulls(2)]), replaced=False)
    assert alone.tolist() == [n_missing == 0] * 2
