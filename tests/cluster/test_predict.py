"""Predictions on a cluster, which need none: Dask's threads compute them too."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ssgp import SpectralForestRegressor

dask = pytest.importorskip("ssgp.dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    return X, X[:, 0] + 0.1 * rng.normal(size=900)


@pytest.fixture(scope="module")
def model(rows):
    return SpectralForestRegressor(2, max_iter=10, random_state=0).fit(*rows)


@pytest.fixture(scope="module")
def frame(rows):
    return pd.DataFrame(rows[0], columns=pd.Index(["a", "b"]))


@pytest.fixture(scope="module")
def named_model(rows, frame):
    return SpectralForestRegressor(2, max_iter=10, random_state=0).fit(frame, rows[1])


def computed(lazy):
    """With one thread: trees of the model take others."""
    return lazy.compute(scheduler="synchronous")


def test_of_arrays_are_those_of_the_model(model, rows):
    X, y = rows
    lazy = da.from_array(X, chunks=((400, 0, 500), 1))
    mean, std = dask.predict(model, lazy, return_std=True)
    assert mean.chunks == ((400, 500),)
    expected = {
        "mean": (dask.predict(model, lazy), model.predict(X)),
        "mean with deviation": (mean, model.predict(X)),
        "deviation": (std, model.predict(X, return_std=True)[1]),
        "quantiles": (dask.predict_quantiles(model, lazy, [0.1, 0.9]), model.predict_quantiles(X, [0.1, 0.9])),
        "one quantile": (dask.predict_quantiles(model, lazy, [0.5]), model.predict_quantiles(X, [0.5])),
        "interval": (dask.predict_interval(model, lazy, 0.9), model.predict_interval(X, 0.9)),
        "density": (dask.log_prob(model, lazy, da.from_array(y, chunks=300)), model.log_prob(X, y)),
    }
    for name, (found, wanted) in expected.items():
        assert found.shape == wanted.shape, name
        np.testing.assert_array_equal(computed(found), wanted, err_msg=name)


def test_of_frames_keep_their_index(named_model, frame, rows):
    shuffled = frame.set_index(pd.Index(np.arange(900)[::-1]))
    lazy = dd.from_pandas(shuffled, npartitions=3, sort=False)
    mean = computed(dask.predict(named_model, lazy))
    pd.testing.assert_series_equal(mean, pd.Series(named_model.predict(frame), shuffled.index, name="mean"))
    low, high = named_model.predict_interval(frame, 0.8).T
    expected = pd.DataFrame({"lower": low, "upper": high}, index=shuffled.index)
    pd.testing.assert_frame_equal(computed(dask.predict_interval(named_model, lazy, 0.8)), expected)
    _, std = dask.predict(named_model, lazy, return_std=True)
    np.testing.assert_array_equal(computed(std), named_model.predict(frame, return_std=True)[1])
    target = dd.from_pandas(pd.Series(rows[1], shuffled.index), npartitions=3, sort=False)
    density = computed(dask.log_prob(named_model, lazy, target))
    np.testing.assert_array_equal(density, named_model.log_prob(frame, rows[1]))


def test_of_files_take_the_columns_they_need(named_model, frame, tmp_path):
    table = pa.table({"b": frame["b"], "name": ["x"] * 900, "a": frame["a"]})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=250)
    found = dask.predict_quantiles(named_model, tmp_path)
    assert found.shape == (900, 5)
    np.testing.assert_array_equal(computed(found), named_model.predict_quantiles(frame))


def test_of_files_without_row_groups_are_none(named_model, tmp_path):
    with pq.ParquetWriter(tmp_path / "rows.parquet", pa.schema([("a", pa.float64()), ("b", pa.float64())])):
        pass
    assert computed(dask.predict(named_model, tmp_path)).shape == (0,)
    assert computed(dask.predict_interval(named_model, tmp_path)).shape == (0, 2)


def test_a_missing_column_is_an_error_that_names_the_file(named_model, frame, tmp_path):
    pq.write_table(pa.table({"a": frame["a"]}), tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"rows\.parquet' has no column 'b'"):
        dask.predict(named_model, tmp_path / "rows.parquet")


def test_nothing_is_computed_before_it_is_asked_for(model):
    def fail(block):
        raise AssertionError("computed")

    lazy = da.zeros((30, 2), chunks=10).map_blocks(fail, meta=np.empty((0, 2)))
    predicted = dask.predict(model, lazy)
    with pytest.raises(AssertionError, match="computed"):
        computed(predicted)


def test_what_is_neither_dasks_nor_a_path_is_refused(model, rows):
    X, y = rows
    for source in (X, pd.DataFrame({"a": X[:, 0]}), [X], []):
        with pytest.raises(TypeError, match="source must be an array or a data frame of Dask, or paths of Parquet"):
            dask.predict(model, source)
    with pytest.raises(TypeError, match="X must be an array or a data frame of Dask, as y must, got str"):
        dask.log_prob(model, "rows.parquet", da.from_array(y, chunks=300))
