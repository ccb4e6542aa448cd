"""The encoder of whole tables: what is dropped, described, refused and saved."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import ssgp
from helpers import small_forest
from ssgp import TableEncoder
from ssgp.saved_models import read_summary
from table_rows import mixed_table


@parametrize_with_checks([TableEncoder()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_an_encoder_fitted_to_a_sample_cross_fits_that_alone(rng):
    """Rows outside the sample are encoded as new rows are, those inside without their own targets."""
    n_rows = 2000
    town = rng.integers(30, size=n_rows)
    table, y = pa.table({"town": [f"town {i}" for i in town]}), town + rng.normal(size=n_rows)
    encoder = TableEncoder(max_rows=600)
    found = encoder.fit_transform(table, y)[:, 0]
    inside = encoder.sampled_rows(n_rows)
    assert len(np.unique(inside)) == 600
    outside = np.setdiff1d(np.arange(n_rows), inside)
    new = encoder.transform(table)[:, 0]
    np.testing.assert_array_equal(found[outside], new[outside])
    of_sample = TableEncoder().fit_transform(table.take(inside), y[inside])[:, 0]
    np.testing.assert_array_equal(found[inside], of_sample)
    assert (of_sample != new[inside]).mean() > 0.9


def test_what_says_nothing_is_dropped_and_described():
    table, y = mixed_table()
    table["empty"] = None
    table["hollow"] = np.nan
    table["one"] = 1
    table["close"] = 2**60 + np.arange(len(table)) % 2
    lines = TableEncoder().fit(table, y).describe().splitlines()
    assert [line.partition(":")[0] for line in lines] == list(table.columns)
    assert lines[-6:] == [
        "identifier: dropped: an identifier, 200 different values in 200 rows",
        "constant: dropped: always 'same'",
        "empty: dropped: all values are missing",
        "hollow: dropped: all values are missing",
        "one: dropped: always 1",
        "close: dropped: always 1.15292e+18, to which such integers are rounded",
    ]


def test_every_other_column_is_described():
    table, y = mixed_table()
    lines = TableEncoder().fit(table, y).describe().splitlines()
    assert lines[1:3] == ["count: numbers as they are", "flag: truth values as 0 and 1"]
    assert lines[3] == (
        "when: times with a time zone in Europe/Berlin as hour of day on a circle, day of week on a circle, "
        "day of year on a circle, days since 2021-02-28T23:00:00 UTC; 1 of 200 missing, told by an indicator"
    )
    assert lines[4] == "few: 3 categories, one feature each; 1 of 200 missing, a category of their own"
    assert lines[6] == "wait: durations in seconds"


def test_an_identifier_is_kept_on_request():
    table, y = mixed_table()
    encoder = TableEncoder(kinds={"identifier": "category", "number": "drop"}).fit(table, y)
    names = encoder.get_feature_names_out()
    assert "identifier" in names
    assert "number" not in names
    assert encoder.describe().startswith("number: dropped: as asked for")


def test_nothing_left_is_an_error():
    with pytest.raises(ValueError, match=r"no column of X is left.*a: dropped: always 1; b: dropped: all values"):
        TableEncoder().fit(pa.table({"a": [1, 1], "b": pa.nulls(2)}))


def test_all_libraries_give_the_same():
    table, y = mixed_table()
    encoder = TableEncoder().fit(table, y)
    expected = encoder.transform(table)
    arrow, polar = pa.Table.from_pandas(table), pl.from_pandas(table)
    for other in (arrow, polar, arrow.to_batches()[0], polar.with_columns(pl.col("few").cast(pl.Categorical))):
        np.testing.assert_array_equal(encoder.transform(other), expected)
    for other in (arrow, polar):
        np.testing.assert_array_equal(TableEncoder().fit(other, y).transform(other), expected)


def test_parts_give_the_same_as_the_whole():
    table, y = mixed_table()
    encoder = TableEncoder().fit(table, y)
    parts = [encoder.transform(table[start : start + 7]) for start in range(0, len(table), 7)]
    np.testing.assert_array_equal(np.concatenate(parts), encoder.transform(table))
    assert encoder.transform(table[:0]).shape == (0, parts[0].shape[1])


def test_a_part_without_values_has_any_type():
    table, y = mixed_table()
    encoder = TableEncoder().fit(table, y)
    empty = pa.nulls(2)
    expected = encoder.encoded(pa.table({name: empty for name in table.columns}))
    assert np.isfinite(expected).all()
    for kind in (pa.float64(), pa.string(), pa.timestamp("s"), pa.dictionary(pa.int8(), pa.float64())):
        other = pa.table({name: empty.cast(kind) for name in table.columns})
        np.testing.assert_array_equal(encoder.encoded(other), expected)


def test_order_and_extra_columns_do_not_matter():
    table, y = mixed_table()
    encoder = TableEncoder().fit(table, y)
    moved = table[list(table.columns[::-1])].assign(extra="new")
    np.testing.assert_array_equal(encoder.transform(moved), encoder.transform(table))
    np.testing.assert_array_equal(encoder.transform(table.drop(columns="constant")), encoder.transform(table))
    # Nobody asks what is in them.
    others = pd.DataFrame({"b": [object()] * len(table), "c": [1, "a"] * (len(table) // 2)})
    moved = pd.concat([others, moved, others], axis=1)
    np.testing.assert_array_equal(encoder.transform(moved), encoder.transform(table))


@pytest.mark.parametrize(
    ("change", "message"),
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
def test_other_columns_than_in_fit_are_named(change, message):
    table, y = mixed_table()
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(table, y).transform(change(table))


@pytest.mark.parametrize(
    ("settings", "table", "message"),
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
def test_bad_input_is_named(settings, table, message):
    with pytest.raises(ValueError, match=message):
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


def test_a_row_of_a_table_alone_is_told_how_to_be_a_table():
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]}))
    row = pd.DataFrame({"a": [1], "b": ["x"]})
    with pytest.raises(ValueError, match=r"got Series: a row of a pandas table is table\.iloc\[\[0\]\]"):
        encoder.transform(row.iloc[0])
    with pytest.raises(ValueError, match=r"got LazyFrame; collect\(\) it first"):
        TableEncoder().fit(pl.LazyFrame({"a": [1], "b": ["x"]}))


def test_pandas_columns_of_its_own_types_are_those_they_stand_for():
    numbers = pd.Series([1.0, 7.0, 3.0, 9.0, 5.0, 0.0])
    months = pd.Series(pd.to_datetime([f"2024-{month:02d}-01" for month in (1, 7, 3, 9, 5, 1)]))
    own = pd.DataFrame(
        {
            "bin": pd.cut(numbers, [-1, 2, 6, 10]),
            "month": months.dt.to_period("M"),
            "often_zero": numbers.where(numbers > 4, 0).astype(pd.SparseDtype(float, 0.0)),
        }
    )
    usual = pd.DataFrame(
        {
            "bin": pd.Categorical.from_codes([0, 2, 1, 2, 1, 0], ["(-1, 2]", "(2, 6]", "(6, 10]"], ordered=True),
            "month": months,
            "often_zero": numbers.where(numbers > 4, 0),
        }
    )
    encoder, expected = TableEncoder().fit(own), TableEncoder().fit(usual)
    assert encoder.describe() == expected.describe()
    assert encoder.columns_[0].describe() == "3 categories as their places in the order"
    np.testing.assert_array_equal(encoder.transform(own), expected.transform(usual))
    np.testing.assert_array_equal(encoder.transform(own[:1]), expected.transform(usual[:1]))


def test_names_of_features_are_different():
    encoder = TableEncoder().fit(pa.table({"a": ["b", "c", None], "a_b": [1, 2, 3], "a_missing": [1, 2, 4]}))
    assert list(encoder.get_feature_names_out()) == ["a_b", "a_c", "a_missing", "a_b_2", "a_missing_2"]


def test_a_failed_fit_leaves_the_encoder_as_it_was():
    table, y = mixed_table()
    encoder = TableEncoder().fit(table, y)
    expected = encoder.transform(table)
    with pytest.raises(ValueError, match="infinity"):
        encoder.fit(pa.table({"c": [np.inf]}))
    np.testing.assert_array_equal(encoder.transform(table), expected)


@pytest.mark.parametrize(("library", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_output_as_a_table(library, frame):
    table, y = mixed_table()
    encoder = TableEncoder().set_output(transform=library).fit(table, y)
    out = encoder.transform(table)
    assert isinstance(out, frame)
    assert list(out.columns) == list(encoder.get_feature_names_out())


@pytest.mark.slow
def test_in_a_pipeline_with_a_file_in_between(tmp_path):
    table, y = mixed_table(50)
    model: Any = make_pipeline(TableEncoder(), small_forest(n_trees=2, max_iter=10)).fit(table, y)
    ssgp.save(model, tmp_path / "model")
    loaded = ssgp.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    assert loaded[0].describe() == model[0].describe()
    assert read_summary(tmp_path / "model")["feature_names_in"] == list(table.columns)
    assert "\n".join(read_summary(tmp_path / "model")["columns"]) == model[0].describe()
    assert read_summary(tmp_path / "model")["classes"] == ["TableEncoder", "SpectralForestRegressor"]


def test_alone_in_a_file_pickled_and_cloned(tmp_path):
    table, y = mixed_table()
    encoder = TableEncoder(kinds={"count": "category"}).fit(table, y)
    encoder.save(tmp_path / "encoder")
    for again in (ssgp.load(tmp_path / "encoder"), pickle.loads(pickle.dumps(encoder))):
        np.testing.assert_array_equal(again.transform(table), encoder.transform(table))
    fresh: Any = clone(encoder)
    assert fresh.get_params() == encoder.get_params()
    assert not hasattr(fresh, "columns_")


@pytest.mark.parametrize("kind", ["time", "category"])
def test_a_time_zone_that_nobody_knows_is_told_with_its_column(kind):
    times = pa.array([0, 1, 2] * 10).cast(pa.timestamp("s", "Nowhere/City"))
    with pytest.raises(ValueError, match=r"column 'when' has .*'Nowhere/City'") as refusal:
        TableEncoder(kinds={"when": kind}).fit(pa.table({"when": times, "x": range(30)}))
    assert type(refusal.value) is ValueError
