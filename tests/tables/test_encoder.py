"""From mixed columns to floats: against values worked out by hand, and against scikit-learn's encoders."""

import datetime as dt
import decimal
import pickle
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import clone
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, TargetEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

import ssgp
from helpers import small_forest
from ssgp import TableEncoder
from ssgp.saving.model_files import read_summary


@parametrize_with_checks([TableEncoder()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def encoded(column, **settings: Any):
    """Features of a table of one column, and their names."""
    encoder = TableEncoder(**settings).fit(pa.table({"c": column}))
    return encoder.transform(pa.table({"c": column})), list(encoder.get_feature_names_out())


def mixed(n=200, seed=0):
    """A pandas table of all kinds, and a target."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "count": rng.integers(5, size=n),
            "flag": rng.random(n) > 0.5,
            "when": pd.date_range("2021-03-01", periods=n, freq="31h", tz="Europe/Berlin"),
            "few": rng.choice(["a", "b", "c"], n),
            "many": pd.Categorical(rng.choice([f"m{i}" for i in range(25)], n)),
            "wait": pd.to_timedelta(rng.integers(100, size=n), unit="min"),
            "identifier": [f"id{i}" for i in range(n)],
            "constant": "same",
        }
    )
    table.loc[3, "number"] = np.nan
    table.loc[4, "few"] = None
    table.loc[5, "when"] = pd.NaT
    table.loc[6, "many"] = None
    return table, rng.normal(size=n)


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
        np.testing.assert_array_equal(encoder.transform(pa.table({"c": [None, 7.0]})), [[2.0], [7.0]])
        np.testing.assert_array_equal(encoder.transform(pa.table({"c": pa.nulls(1)})), [[2.0]])

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
        table, y = mixed()
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
        features = encoder.transform(pa.table({"c": ["a", "", None, "new"]}))
        np.testing.assert_array_equal(features, [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]])

    def test_many_are_the_smoothed_means_of_scikit_learn(self):
        table, y = mixed()
        encoder = TableEncoder(random_state=3).fit(table[["many"]], y)
        column = table["many"].astype(object).fillna("missing").to_numpy()[:, None]
        oracle = TargetEncoder(target_type="continuous").fit(column, y)
        np.testing.assert_allclose(encoder.transform(table[["many"]]), oracle.transform(column), rtol=1e-12)
        new = pd.DataFrame({"many": ["never seen"]})
        np.testing.assert_allclose(encoder.transform(new), [[y.mean()]])

    def test_a_row_does_not_see_its_own_target_in_fit_transform(self):
        table, y = mixed()
        features = TableEncoder(cv=4, random_state=3).fit_transform(table[["many"]], y)
        column = table["many"].astype(object).fillna("missing").to_numpy()[:, None]
        expected = np.empty((len(y), 1))
        for train, test in KFold(4, shuffle=True, random_state=3).split(column):
            oracle = TargetEncoder(target_type="continuous").fit(column[train], y[train])
            expected[test] = oracle.transform(column[test])
        np.testing.assert_allclose(features, expected, rtol=1e-12)

    def test_many_need_a_target(self):
        table, _ = mixed()
        with pytest.raises(ValueError, match=r"column 'many' has 25 categories, more than max_one_hot=10.*no y"):
            TableEncoder().fit(table)
        assert TableEncoder(max_one_hot=25).fit(table).transform(table).shape[0] == len(table)

    def test_numbers_on_request_are_the_same_with_and_without_holes(self):
        encoder = TableEncoder(kinds={"zip": "category"}).fit(pd.DataFrame({"zip": [10, 20, 10]}))
        features = encoder.transform(pd.DataFrame({"zip": [20.0, np.nan, 10.0]}))
        np.testing.assert_array_equal(features, [[0, 1], [0, 0], [1, 0]])

    def test_long_numbers_are_categories_of_their_own(self):
        encoder = TableEncoder(kinds={"c": "category"}).fit(pa.table({"c": [2**60, 2**60 + 1, 123456789012]}))
        assert list(encoder.get_feature_names_out()) == [f"c_{2**60}", f"c_{2**60 + 1}", "c_123456789012"]
        floats = pa.table({"c": [123456789012.0, np.nan, 0.5, 1e300]})
        np.testing.assert_array_equal(encoder.transform(floats), [[0, 0, 1]] + 3 * [[0, 0, 0]])

    def test_dictionaries_of_numbers_are_categories(self):
        features, _ = encoded(pa.array([5, 7, 5]).dictionary_encode())
        np.testing.assert_array_equal(features, [[1, 0], [0, 1], [1, 0]])

    def test_unused_categories_of_a_dictionary_are_not_there(self):
        column = pd.Series(pd.Categorical(["a", "b"], categories=["a", "b", "never"]))
        assert encoded(pa.array(column))[1] == ["c_a", "c_b"]


def test_what_says_nothing_is_dropped_and_described():
    table, y = mixed()
    table["empty"] = None
    table["hollow"] = np.nan
    table["one"] = 1
    lines = TableEncoder().fit(table, y).describe().splitlines()
    assert [line.partition(":")[0] for line in lines] == list(table.columns)
    assert lines[-5:] == [
        "identifier: dropped: an identifier, 200 different values in 200 rows",
        "constant: dropped: always 'same'",
        "empty: dropped: all values are missing",
        "hollow: dropped: all values are missing",
        "one: dropped: always 1",
    ]


def test_every_other_column_is_described():
    table, y = mixed()
    lines = TableEncoder().fit(table, y).describe().splitlines()
    assert lines[1:3] == ["count: numbers as they are", "flag: truth values as 0 and 1"]
    assert lines[3] == (
        "when: times with a time zone in Europe/Berlin as hour of day on a circle, day of week on a circle, "
        "day of year on a circle, days since 2021-02-28T23:00:00 UTC; 1 of 200 missing, told by an indicator"
    )
    assert lines[4] == "few: 3 categories, one feature each; 1 of 200 missing, a category of their own"
    assert lines[6] == "wait: durations in seconds"


def test_an_identifier_is_kept_on_request():
    table, y = mixed()
    encoder = TableEncoder(kinds={"identifier": "category", "number": "drop"}).fit(table, y)
    names = encoder.get_feature_names_out()
    assert "identifier" in names
    assert "number" not in names
    assert encoder.describe().startswith("number: dropped: as asked for")


def test_nothing_left_is_an_error():
    with pytest.raises(ValueError, match=r"no column of X is left.*a: dropped: always 1; b: dropped: all values"):
        TableEncoder().fit(pa.table({"a": [1, 1], "b": pa.nulls(2)}))


def test_all_libraries_give_the_same():
    table, y = mixed()
    encoder = TableEncoder().fit(table, y)
    expected = encoder.transform(table)
    arrow, polar = pa.Table.from_pandas(table), pl.from_pandas(table)
    for other in (arrow, polar, arrow.to_batches()[0], polar.with_columns(pl.col("few").cast(pl.Categorical))):
        np.testing.assert_array_equal(encoder.transform(other), expected)
    for other in (arrow, polar):
        np.testing.assert_array_equal(TableEncoder().fit(other, y).transform(other), expected)


def test_parts_give_the_same_as_the_whole():
    table, y = mixed()
    encoder = TableEncoder().fit(table, y)
    parts = [encoder.transform(table[start : start + 7]) for start in range(0, len(table), 7)]
    np.testing.assert_array_equal(np.concatenate(parts), encoder.transform(table))
    assert encoder.transform(table[:0]).shape == (0, parts[0].shape[1])


def test_a_part_without_values_has_any_type():
    table, y = mixed()
    encoder = TableEncoder().fit(table, y)
    empty = pa.nulls(2)
    expected = encoder.transform(pa.table({name: empty for name in table.columns}))
    assert np.isfinite(expected).all()
    for kind in (pa.float64(), pa.string(), pa.timestamp("s"), pa.dictionary(pa.int8(), pa.float64())):
        other = pa.table({name: empty.cast(kind) for name in table.columns})
        np.testing.assert_array_equal(encoder.transform(other), expected)


def test_order_and_extra_columns_do_not_matter():
    table, y = mixed()
    encoder = TableEncoder().fit(table, y)
    moved = table[list(table.columns[::-1])].assign(extra="new")
    np.testing.assert_array_equal(encoder.transform(moved), encoder.transform(table))
    np.testing.assert_array_equal(encoder.transform(table.drop(columns="constant")), encoder.transform(table))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table.drop(columns="count"), r"column 'count' is missing.*Columns of X: 'number', 'flag'"),
        (lambda table: table.rename(columns={"count": "Count"}), r"'count' is missing.*is 'Count' meant"),
        (lambda table: table.assign(number="text"), r"column 'number' held numbers in fit and holds text"),
        (lambda table: table.assign(few=1.0), r"column 'few' held text in fit and holds numbers \(double\) now"),
        (lambda table: table.assign(when=table["when"].dt.tz_localize(None)), r"'when' held times with a time zone"),
        (lambda table: table.assign(wait=1), r"column 'wait' held durations in fit and holds numbers \(int64\)"),
        (lambda table: table.to_numpy(), "X is an array without names, and fit saw a table"),
    ],
    ids=["missing", "renamed", "text", "numbers", "zone", "duration", "array"],
)
def test_other_columns_than_in_fit_are_named(change, said):
    table, y = mixed()
    with pytest.raises(ValueError, match=said):
        TableEncoder().fit(table, y).transform(change(table))


@pytest.mark.parametrize(
    ("settings", "table", "said"),
    [
        ({"kinds": {"d": "drop"}}, {"c": [1, 2]}, "kinds has 'd', and X has no such column"),
        ({"kinds": {"c": "text"}}, {"c": [1, 2]}, r"kinds\['c'\] must be one of .*'category'.*got 'text'"),
        ({"kinds": {"c": "time"}}, {"c": [1, 2]}, "column 'c' holds numbers.*cannot be encoded as a time"),
        ({}, {"c": [[1], [2]]}, r"column 'c' has the type list.*kinds=\{'c': 'drop'\}"),
        ({}, {"c": pa.array([b"x", b"y"]).dictionary_encode()}, r"column 'c' has the type dictionary.*'drop'"),
        ({"max_one_hot": -1}, {"c": [1, 2]}, "max_one_hot"),
        ({}, {"c": pa.array([], pa.int64())}, "no rows"),
    ],
)
def test_bad_input_is_named(settings, table, said):
    with pytest.raises(ValueError, match=said):
        TableEncoder(**settings).fit(pa.table(table))


def test_mixed_types_and_names_that_are_there_twice_are_named():
    with pytest.raises(ValueError, match="column 'c' has values of several types"):
        TableEncoder().fit(pd.DataFrame({"c": [1, "a", 2.5]}))
    with pytest.raises(ValueError, match="2 columns called 'c'"):
        TableEncoder().fit(pd.DataFrame(np.eye(2), columns=pd.Index(["c", "c"])))
    for column in (pl.Series([1, 2]), pa.array([1, 2]), pl.LazyFrame({"c": [1]}), {"c": [1]}, None):
        with pytest.raises(ValueError, match="X must be a table or an array of rows and columns"):
            TableEncoder().fit(column)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TableEncoder().fit(pa.table({"c": [1, 2]}), [1.0])


def test_names_of_features_are_different():
    encoder = TableEncoder().fit(pa.table({"a": ["b", "c", None], "a_b": [1, 2, 3], "a_missing": [1, 2, 4]}))
    assert list(encoder.get_feature_names_out()) == ["a_b", "a_c", "a_missing", "a_b_2", "a_missing_2"]


def test_a_failed_fit_leaves_the_encoder_as_it_was():
    table, y = mixed()
    encoder = TableEncoder().fit(table, y)
    expected = encoder.transform(table)
    with pytest.raises(ValueError, match="infinity"):
        encoder.fit(pa.table({"c": [np.inf]}))
    np.testing.assert_array_equal(encoder.transform(table), expected)


@pytest.mark.parametrize(("library", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_output_as_a_table(library, frame):
    table, y = mixed()
    encoder = TableEncoder().set_output(transform=library).fit(table, y)
    out = encoder.transform(table)
    assert isinstance(out, frame)
    assert list(out.columns) == list(encoder.get_feature_names_out())


def test_in_a_pipeline_with_a_file_in_between(tmp_path):
    table, y = mixed(300)
    model: Any = make_pipeline(TableEncoder(), small_forest(n_trees=2, max_iter=10)).fit(table, y)
    ssgp.save(model, tmp_path / "model")
    loaded = ssgp.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    assert loaded[0].describe() == model[0].describe()
    assert read_summary(tmp_path / "model")["feature_names_in"] == list(table.columns)
    assert "\n".join(read_summary(tmp_path / "model")["columns"]) == model[0].describe()
    assert read_summary(tmp_path / "model")["classes"] == ["TableEncoder", "SpectralForestRegressor"]


def test_alone_in_a_file_pickled_and_cloned(tmp_path):
    table, y = mixed()
    encoder = TableEncoder(kinds={"count": "category"}).fit(table, y)
    encoder.save(tmp_path / "encoder")
    for again in (ssgp.load(tmp_path / "encoder"), pickle.loads(pickle.dumps(encoder))):
        np.testing.assert_array_equal(again.transform(table), encoder.transform(table))
    fresh: Any = clone(encoder)
    assert fresh.get_params() == encoder.get_params()
    assert not hasattr(fresh, "columns_")
