"""Fits on a cluster whose workers die, leave and join, and fits that fail or are cut short.

Most of it has stopped other libraries: waits without end for a worker that left with its rows, or came back under
another name (dmlc/xgboost 9419, 9420), for workers without rows (LightGBM 3882, cuml 2534), after an error of one
worker (LightGBM 4771), or for another fit (LightGBM 4942); models that depend on who did what (xgboost 7927), and a
scheduler that forgets nothing (xgboost 6388).
"""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fit_checks
from cluster_state import assert_no_task_is_left, wait_until
from ssgp import SpectralForestRegressor
from ssgp._utils.progress import observed

pytestmark = pytest.mark.slow

dask = pytest.importorskip("ssgp.dask")
da = pytest.importorskip("dask.array")

N_ROWS = 4000


@pytest.fixture(scope="module")
def table():
    """Numbers, and text that is encoded by a sample, which a worker keeps."""
    X, y = fit_checks.sorted_rows(N_ROWS)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "town": [f"town {i % 7}" for i in range(N_ROWS)]})
    return frame, y + np.arange(N_ROWS) % 7


@pytest.fixture(scope="module")
def files(table, tmp_path_factory):
    folder, (frame, y) = tmp_path_factory.mktemp("rows"), table
    for i, part in enumerate(np.array_split(np.arange(N_ROWS), 3)):
        rows = pa.Table.from_pandas(frame.iloc[part].assign(y=y[part]), preserve_index=False)
        pq.write_table(rows, folder / f"{i}.parquet", row_group_size=500)
    return folder


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Several blocks, and several parts of each tree."""
    fit_checks.learn_from_few_rows(monkeypatch)
    monkeypatch.setattr("ssgp.dask.sources.LEAST_BLOCK_BYTES", 1 << 14)
    monkeypatch.setattr("ssgp.dask.table.LEAST_PART_BYTES", 1 << 14)


def regressor():
    return SpectralForestRegressor(2, n_frequencies=10, max_iter=10, random_state=0, n_jobs=1)


@pytest.fixture(scope="module")
def whole(table):
    """The fit of one process."""
    with pytest.MonkeyPatch.context() as patch:
        fit_checks.learn_from_few_rows(patch)
        return regressor().fit(*table)


def assert_same(model, whole, table):
    fit_checks.assert_same_model(whole, model, table[0][::10])


class At:
    """Does something once, when the first of some things is done."""

    def __init__(self, what, work):
        self.what, self.work, self.done = what, work, 0

    def __call__(self, what, done, total):
        if what == self.what and done:
            self.done += 1
            if self.done == 1:
                self.work()


def kill_a_worker(client):
    """The one that keeps most, as no one could wish it."""
    kept = client.run(lambda dask_worker: (len(dask_worker.data), os.getpid()))
    os.kill(max(kept.values())[1], signal.SIGKILL)


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_a_worker_that_is_killed_changes_nothing(client, files, table, whole):
    killing = At("fitted row", lambda: kill_a_worker(client))
    with observed(killing):
        model = dask.fit(regressor(), files, client, target="y")
    assert killing.done
    assert_same(model, whole, table)
    client.wait_for_workers(2, timeout=300)
    assert_no_task_is_left(client)


def test_workers_that_join_are_used_and_those_that_leave_are_not_missed(client, files, table, whole):
    def join():
        client.cluster.scale(3)
        client.wait_for_workers(3, timeout=300)

    def leave():
        did.update(client.run(lambda dask_worker: dask_worker.state.executed_count))
        client.cluster.scale(2)
        wait_until(lambda: len(client.scheduler_info()["workers"]) == 2)

    before, did = set(client.nthreads()), {}
    joining, leaving = At("step", join), At("tree", leave)

    def both(*what):
        joining(*what)
        leaving(*what)

    with observed(both):
        model = dask.fit(regressor(), files, client, target="y")
    assert_same(model, whole, table)
    (new,) = set(did) - before
    assert did[new] > 0


def test_one_partition_is_enough_for_two_workers(client):
    X, y = fit_checks.sorted_rows(N_ROWS)
    model = dask.fit(regressor(), (da.from_array(X, chunks=-1), da.from_array(y, chunks=-1)), client)
    fit_checks.assert_same_model(regressor().fit(X, y), model, X[::10])


def test_an_error_of_a_worker_ends_the_fit_and_not_the_cluster(client, files, table, whole):
    def fail(block, block_info):
        if block_info[0]["chunk-location"][0] == 2:
            raise RuntimeError("the disk is gone")
        return block

    X = da.ones((100, 2), chunks=(25, 2)).map_blocks(fail, dtype=float, meta=np.empty((0, 2)))
    with pytest.raises(RuntimeError, match="the disk is gone"):
        dask.fit(regressor(), (X, da.ones(100, chunks=25)), client)
    assert_no_task_is_left(client)
    with ThreadPoolExecutor(2) as threads:
        # Two at once, of which neither waits for the other.
        fits = [threads.submit(dask.fit, regressor(), files, client, target="y") for _ in range(2)]
        for fit in fits:
            assert_same(fit.result(), whole, table)
    assert_no_task_is_left(client)


def test_rows_that_kill_every_worker_are_an_error(client):
    def die(block):
        os._exit(1)

    X = da.ones((100, 2), chunks=(50, 2)).map_blocks(die, dtype=float, meta=np.empty((0, 2)))
    scheduler = client.cluster.scheduler
    allowed, scheduler.allowed_failures = scheduler.allowed_failures, 0
    try:
        with pytest.raises(RuntimeError, match="workers died again and again while they were busy with"):
            dask.fit(regressor(), (X, da.ones(100, chunks=50)), client)
    finally:
        scheduler.allowed_failures = allowed
    client.wait_for_workers(2, timeout=300)
    assert_no_task_is_left(client)


class Ended(BaseException):
    """The end of the process that calls."""


def test_a_fit_that_was_ended_leaves_no_tasks_and_goes_on_from_its_checkpoint(client, files, table, whole, tmp_path):
    def end():
        raise Ended

    with pytest.raises(Ended), observed(At("tree", end)):
        dask.fit(regressor(), files, client, target="y", checkpoint=tmp_path / "parts")
    assert_no_task_is_left(client)
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").glob("fold-*")}
    assert written
    model = dask.fit(regressor(), files, client, target="y", checkpoint=tmp_path / "parts")
    assert_same(model, whole, table)
    assert {path: path.stat().st_mtime_ns for path in written} == written
    assert len(list((tmp_path / "parts").glob("fold-*"))) > len(written)
