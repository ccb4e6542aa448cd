"""Fits on a cluster of processes are the fits of one machine."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fit_checks
from cluster_state import assert_no_task_is_left
from ssgp import ExactGPRegressor, SpectralForestRegressor

pytestmark = pytest.mark.slow

dask = pytest.importorskip("ssgp.dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

# Partitions of very different sizes, an empty one among them, and more than there are workers.
ENDS = [0, 40, 40, 2500, 2600, 5990, fit_checks.N_ROWS]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    fit_checks.learn_from_few_rows(monkeypatch)


@pytest.fixture
def fit(client):
    """A fit to Dask's collections in uneven partitions."""

    def fit(model, X, y, weight=None):
        parts = [in_partitions(part) for part in (X, y, weight) if part is not None]
        return dask.fit(model, tuple(parts), client)

    return fit


def in_partitions(values):
    if isinstance(values, pd.DataFrame):
        parts = [values.iloc[a:b] for a, b in pairwise(ENDS)]
        return dd.from_map(lambda i: parts[i], range(len(parts)), meta=values.iloc[:0])
    return da.from_array(values, chunks=(tuple(np.diff(ENDS).tolist()), *values.shape[1:]))


@pytest.fixture
def files(tmp_path):
    """Three Parquet files of a few row groups each."""
    X, y = fit_checks.sorted_rows()
    for i, part in enumerate(np.array_split(np.arange(len(y)), 3)):
        table = pa.table([*X[part].T, y[part]], names=["a", "b", "c", "y"])
        pq.write_table(table, tmp_path / f"{i}.parquet", row_group_size=700)
    return tmp_path


def test_is_the_fit_in_memory(fit):
    fit_checks.check_is_the_fit_in_memory(fit, weighted=True)


def test_atoms_are_those_of_memory(fit):
    fit_checks.check_atoms_are_those_of_memory(fit)


def test_tables_are_encoded(fit):
    fit_checks.check_tables_are_encoded(fit)


def test_a_failed_fit_leaves_the_model_as_it_was(fit, client):
    fit_checks.check_a_failed_fit_leaves_the_model_as_it_was(fit)
    assert_no_task_is_left(client)


def test_weights_of_nothing_are_refused(fit):
    fit_checks.check_weights_of_nothing_are_refused(fit)


def test_workers_read_files_themselves(files, client, monkeypatch):
    """Blocks of a row group or two each; two workers give the model of one machine."""
    monkeypatch.setattr("ssgp.dask.sources.LEAST_BLOCK_BYTES", 50_000)
    monkeypatch.setattr("ssgp.dask.table.LEAST_PART_BYTES", 20_000)
    X, y = fit_checks.sorted_rows()
    frame = pd.DataFrame(X, columns=pd.Index(["a", "b", "c"]))
    whole = SpectralForestRegressor(**fit_checks.SETTINGS).fit(frame, y)
    model = dask.fit(SpectralForestRegressor(**fit_checks.SETTINGS), files, client, target="y")
    fit_checks.assert_same_model(whole, model, frame[::10])
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert_no_task_is_left(client)


def test_small_tables_are_fitted_here(client, monkeypatch):
    monkeypatch.undo()
    X, y = fit_checks.sorted_rows(400)
    whole = SpectralForestRegressor(**fit_checks.SETTINGS).fit(X, y)
    arrays = da.from_array(X, chunks=(150, 2)), da.from_array(y, chunks=100)
    model = dask.fit(SpectralForestRegressor(**fit_checks.SETTINGS), arrays, client)
    fit_checks.assert_same_model(whole, model, X)


class TestErrors:
    def test_name_the_file_that_is_corrupt(self, files, client):
        (files / "1.parquet").write_bytes(b"PAR1 this is no file of Parquet PAR1")
        with pytest.raises(ValueError, match=r"1\.parquet' cannot be read as Parquet"):
            self.fit(files, client)

    def test_name_the_file_that_lacks_a_column(self, files, client):
        pq.write_table(pq.read_table(files / "1.parquet").drop_columns("b"), files / "1.parquet")
        with pytest.raises(ValueError, match=r"1\.parquet' has no column 'b' as there is in the first file"):
            self.fit(files, client)

    def test_name_the_file_whose_column_has_another_type(self, files, client):
        table = pq.read_table(files / "2.parquet")
        text = pa.array([str(value) for value in table["c"].to_pylist()])
        pq.write_table(table.set_column(2, "c", text), files / "2.parquet")
        with pytest.raises(ValueError, match=r"2\.parquet' does not fit .* column 'c' holds string and double"):
            self.fit(files, client)

    def test_name_the_row_group_that_has_no_target(self, files, client):
        table = pq.read_table(files / "0.parquet")
        y = table["y"].to_numpy().copy()
        y[1500] = np.nan
        pq.write_table(table.set_column(3, "y", pa.array(y)), files / "0.parquet", row_group_size=700)
        with pytest.raises(ValueError, match=r"0\.parquet', row group 2: .*NaN"):
            self.fit(files, client)

    def test_name_the_row_group_whose_target_is_text(self, files, client):
        table = pq.read_table(files / "0.parquet")
        text = pa.array([f"{value:.3f} m" for value in table["y"].to_pylist()])
        for path in files.iterdir():
            pq.write_table(table.set_column(3, "y", text), path)
        with pytest.raises(ValueError, match=r"0\.parquet', row group 0: column 'y' holds string, and it has to hold"):
            self.fit(files, client)

    def test_name_the_row_group_that_is_damaged(self, files, client):
        path = files / "1.parquet"
        content = bytearray(path.read_bytes())
        start = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
        content[start : start + 400] = bytes(400)
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"1\.parquet' cannot be read as Parquet: row group 1"):
            self.fit(files, client)

    def fit(self, files, client):
        return dask.fit(SpectralForestRegressor(**fit_checks.SETTINGS), files, client, target="y")

    def test_say_what_is_missing(self, files, client):
        with pytest.raises(ValueError, match="say which column is the target"):
            dask.fit(SpectralForestRegressor(), files, client)
        with pytest.raises(ValueError, match=r"has no column 'z'"):
            dask.fit(SpectralForestRegressor(), files, client, target="z")
        with pytest.raises(TypeError, match="others need all rows"):
            dask.fit(ExactGPRegressor(), files, client, target="y")  # pyright: ignore[reportArgumentType]
        with pytest.raises(ValueError, match="max_time=None"):
            dask.fit(SpectralForestRegressor(max_time=1.0), files, client, target="y")


@pytest.mark.parametrize("source", [np.zeros((3, 2)), pd.DataFrame({"y": [1.0, 2.0]}), [], [np.zeros((3, 2))]])
def test_a_source_of_this_process_is_refused(source, client):
    with pytest.raises(TypeError, match=r"source must be a pair \(X, y\) of Dask's .* or paths of Parquet files, got"):
        dask.fit(SpectralForestRegressor(), source, client, target="y")


def test_a_pair_must_have_inputs_and_targets(client):
    X, y = da.zeros((30, 2), chunks=10), da.zeros(30, chunks=10)
    for source, found in (((None, y), "NoneType, Array"), ((X, None, y), "Array, NoneType, Array"), ((X,), "Array")):
        with pytest.raises(TypeError, match=rf"source must be \(X, y\) or .*got \({found}\)"):
            dask.fit(SpectralForestRegressor(), source, client)


def test_without_a_cluster_the_error_says_how_to_get_one(monkeypatch):
    def nobody():
        raise ValueError("no clients found")

    monkeypatch.setattr("ssgp.dask.tasks.default_client", nobody)
    monkeypatch.setattr("ssgp.dask.tasks.get_client", nobody)
    with pytest.raises(ValueError, match=r"there is no cluster to work on: make a client first, distributed\.Client"):
        dask.fit(SpectralForestRegressor(), "rows.parquet", target="y")
