"""Tables read in batches: encoded as if they were read at once, against scikit-learn's encoder and loops made here."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pytest
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder

from helpers import small_forest
from ssgp import TableEncoder
from ssgp.tables.batches import RowSelection

pc: Any = pyarrow.compute

N_ROWS, N_SAMPLED = 1500, 400
LIBRARIES = {
    "arrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.from_arrow,
}


def towns(n_rows=N_ROWS, seed=0):
    """A table of many towns, few colours, dates and numbers, with gaps in three of them, and a target."""
    rng = np.random.default_rng(seed)
    town = rng.integers(40, size=n_rows)
    table = pa.table(
        {
            "town": pa.array([f"town {i}" for i in town], mask=rng.random(n_rows) < 0.05),
            "colour": rng.choice(["red", "green", "blue"], n_rows),
            "opened": pa.array(np.datetime64("2020-01-01", "s") + rng.integers(10**8, size=n_rows)),
            "size": pa.array(rng.normal(size=n_rows), mask=rng.random(n_rows) < 0.1),
        }
    )
    return table, town + rng.normal(size=n_rows)


def reader(table, y, batch_rows, *others, library="arrow"):
    """A function that returns the batches of a table."""
    convert = LIBRARIES[library]

    def read():
        for start in range(0, table.num_rows, batch_rows):
            rows = slice(start, start + batch_rows)
            yield convert(table.slice(start, batch_rows)), *(values[rows] for values in (y, *others))

    return read


def joined(batches):
    """All rows of encoded batches."""
    return np.concatenate([X for X, *_ in batches])


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("batch_rows", [1, 77, 500, 2000])
@pytest.mark.parametrize("max_rows", [N_SAMPLED, N_ROWS])
def test_batches_give_the_bits_of_the_whole_table(library, batch_rows, max_rows):
    table, y = towns(300 if batch_rows == 1 else N_ROWS)
    whole, in_batches = TableEncoder(max_rows=max_rows), TableEncoder(max_rows=max_rows)
    expected = whole.fit_transform(LIBRARIES[library](table), y)
    encoded = joined(in_batches.fit_transform_batches(reader(table, y, batch_rows, library=library)))
    np.testing.assert_array_equal(encoded, expected)
    new, _ = towns(200, seed=1)
    np.testing.assert_array_equal(in_batches.transform(new), whole.transform(new))
    assert in_batches.describe() == whole.describe()
    assert in_batches.feature_names_in_.tolist() == table.column_names


def test_rows_of_the_sample_are_cross_fitted_and_no_others():
    """Means of the target are scikit-learn's: of the other folds of the sample inside it, of all of it outside."""
    table, y = towns()
    encoder = TableEncoder(max_rows=N_SAMPLED, cv=4, random_state=3)
    encoded = joined(encoder.fit_transform_batches(reader(table, y, 170), N_ROWS))
    found = encoded[:, encoder.get_feature_names_out().tolist().index("town")]
    town = table["town"].fill_null("none").to_numpy()[:, None]
    sample = encoder.sampled_rows(N_ROWS)
    assert len(np.unique(sample)) == N_SAMPLED
    expected = TargetEncoder(target_type="continuous").fit(town[sample], y[sample]).transform(town)[:, 0]
    for train, test in KFold(4, shuffle=True, random_state=3).split(sample):
        fold = TargetEncoder(target_type="continuous").fit(town[sample[train]], y[sample[train]])
        expected[sample[test]] = fold.transform(town[sample[test]])[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_medians_are_those_of_the_sample():
    table, y = towns()
    encoder = TableEncoder(max_rows=N_SAMPLED)
    encoded = joined(encoder.fit_transform_batches(reader(table, y, 170), N_ROWS))
    size = table["size"].to_pandas()
    median = size[encoder.sampled_rows(N_ROWS)].median()
    column = encoder.get_feature_names_out().tolist().index("size")
    np.testing.assert_array_equal(encoded[:, column], size.fillna(median))
    np.testing.assert_array_equal(encoded[:, column + 1], size.isna())


@pytest.mark.slow
def test_a_forest_fed_with_batches_is_the_pipeline_of_the_whole_table():
    table, y = towns(600)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 600)
    whole = make_pipeline(TableEncoder(max_rows=N_SAMPLED), small_forest())
    whole.fit(table, y, spectralforestregressor__sample_weight=weight)
    encoder, forest = TableEncoder(max_rows=N_SAMPLED), small_forest()
    forest.fit_batches(encoder.fit_transform_batches(reader(table, y, 130, weight)))
    new, _ = towns(100, seed=1)
    np.testing.assert_array_equal(make_pipeline(encoder, forest).predict(new), whole.predict(new))


def test_targets_and_weights_are_passed_on_as_they_are():
    table, y = towns(100)
    weight = pd.Series(np.arange(100.0))
    batches = list(TableEncoder().fit_transform_batches(reader(table, y.tolist(), 30, weight)))
    assert [len(X) for X, _, _ in batches] == [30, 30, 30, 10]
    assert [value for _, part, _ in batches for value in part] == y.tolist()
    assert pd.concat([part for _, _, part in batches]).equals(weight)


def test_arrays_are_tables_without_names():
    X = np.random.default_rng(0).normal(size=(90, 3))
    X[5, 1] = np.nan
    encoder = TableEncoder()
    encoded = joined(encoder.fit_transform_batches(lambda: ((X[i : i + 40], X[i : i + 40, 0]) for i in (0, 40, 80))))
    np.testing.assert_array_equal(encoded, TableEncoder().fit_transform(X, X[:, 0]))
    assert not hasattr(encoder, "feature_names_in_")


def test_batches_without_rows_are_left_out():
    table, y = towns(60)

    def read():
        for batch in reader(table, y, 25)():
            yield table.slice(0, 0), y[:0]
            yield batch

    batches = TableEncoder().fit_transform_batches(read)
    assert [len(X) for X, _ in batches] == [25, 25, 10]


def test_a_column_may_be_empty_or_whole_in_some_batches():
    first = pa.table({"x": [1, 2, 3], "y": pa.nulls(3)})
    second = pa.table({"x": [0.5, None, 4.0], "y": ["a", "b", "a"]})
    batches = [(first, np.zeros(3)), (second, np.ones(3))]
    encoded = joined(TableEncoder().fit_transform_batches(lambda: batches))
    whole = pa.table({"x": [1.0, 2.0, 3.0, 0.5, None, 4.0], "y": [None, None, None, "a", "b", "a"]})
    np.testing.assert_array_equal(encoded, TableEncoder().fit_transform(whole))


@pytest.mark.parametrize(("n_rows", "n_calls"), [(N_ROWS, 2), (None, 3)])
def test_the_table_is_read_twice_and_once_more_to_count(n_rows, n_calls):
    read, calls = reader(*towns(), 170), []
    encoder = TableEncoder(max_rows=N_SAMPLED)
    batches = encoder.fit_transform_batches(lambda: (calls.append(1), read())[1], n_rows)
    assert (len(calls), len(encoder.columns_)) == (n_calls - 1, 4), "it is fitted before the first batch is encoded"
    joined(batches)
    assert len(calls) == n_calls


def test_no_more_than_the_sample_and_a_batch_are_in_memory():
    n_batches, batch_rows, before, allocated = 40, 20_000, pa.total_allocated_bytes(), []

    def read():
        for i in range(n_batches):
            allocated.append(pa.total_allocated_bytes() - before)
            # Computed by Arrow, which counts the memory of what it computes.
            values = pc.random(batch_rows, initializer=i)
            town = pc.cast(pc.round(pc.multiply(values, 40)), pa.string())
            yield pa.table({"town": town, "size": values}), values

    batches = TableEncoder(max_rows=1000).fit_transform_batches(read, n_batches * batch_rows)
    assert sum(len(X) for X, _ in batches) == n_batches * batch_rows
    one_batch = pa.table({"town": ["40.0"] * batch_rows, "size": np.zeros(batch_rows)}).nbytes
    assert 0 < max(allocated) < 4 * one_batch


class TestMistakes:
    def test_batches_that_can_be_read_once(self):
        read = reader(*towns(60), 25)
        once: Any = read()
        with pytest.raises(TypeError, match="read must be a function that returns the batches anew each time, got gen"):
            TableEncoder().fit_transform_batches(once)
        with pytest.raises(ValueError, match=r"the batches have 0 rows, not 60: .* the same batches each time"):
            TableEncoder().fit_transform_batches(lambda: once)

    @pytest.mark.parametrize("n_rows", [59, 61])
    def test_a_wrong_number_of_rows(self, n_rows):
        with pytest.raises(ValueError, match=f"the batches have 60 rows, not {n_rows}: n_rows must be their number"):
            TableEncoder().fit_transform_batches(reader(*towns(60), 25), n_rows)

    def test_batches_that_change_from_one_time_to_the_next(self):
        table, y = towns(60)
        times = iter([table, table.slice(10)])
        batches = TableEncoder().fit_transform_batches(lambda: [(part := next(times), y[: len(part)])], 60)
        with pytest.raises(ValueError, match="the batches have 50 rows, not 60"):
            list(batches)

    def test_no_rows(self):
        with pytest.raises(ValueError, match="read returned no rows"):
            TableEncoder().fit_transform_batches(list)
        with pytest.raises(ValueError, match="n_rows must be a whole number of at least 1, got 0"):
            TableEncoder().fit_transform_batches(list, 0)

    def test_no_columns(self):
        with pytest.raises(ValueError, match="read returned a batch without columns"):
            TableEncoder().fit_transform_batches(lambda: [(np.empty((3, 0)), np.zeros(3))])

    def test_tables_without_targets(self):
        with pytest.raises(ValueError, match=r"batches must be \(X, y\) or \(X, y, sample_weight\), got Table"):
            TableEncoder().fit_transform_batches(lambda: [towns(60)[0]])

    @pytest.mark.parametrize(
        ("y", "message"), [([1.0], "inconsistent numbers of samples"), ([1.0, np.nan], "1 values that are not finite")]
    )
    def test_targets_that_are_too_few_or_missing(self, y, message):
        with pytest.raises(ValueError, match=message):
            TableEncoder().fit_transform_batches(lambda: [(pa.table({"x": [1.0, 2.0]}), y)])

    def test_types_that_do_not_fit_together(self):
        batches = [(pa.table({"x": [1, 2]}), [1.0, 2.0]), (pa.table({"x": ["a", "b"]}), [1.0, 2.0])]
        with pytest.raises(ValueError, match=r"the batches do not fit together: .*x has incompatible types"):
            TableEncoder().fit_transform_batches(lambda: batches)

    def test_a_column_that_a_batch_lacks(self):
        table, y = towns(60)
        batches = [(table.slice(0, 30), y[:30]), (table.slice(30).drop_columns("size"), y[30:])]
        with pytest.raises(ValueError, match="column 'size' is missing: it was there in fit"):
            list(TableEncoder().fit_transform_batches(lambda: batches))


@pytest.mark.parametrize("batch_rows", [1, 7, 100])
def test_selected_rows_are_found_again_in_batches(rng, batch_rows):
    chosen = np.sort(rng.choice(100, 30, replace=False))
    selection = RowSelection(chosen)
    sizes = [min(batch_rows, 100 - start) for start in range(0, 100, batch_rows)]
    mask = np.concatenate([selection.next_batch(size) for size in sizes])
    assert np.flatnonzero(mask).tolist() == chosen.tolist()
