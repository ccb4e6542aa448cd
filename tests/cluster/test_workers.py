"""Clusters without workers: a fit waits for those that come, and says so; in the end it says why it does not go on."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

import fit_checks
from ssgp import SpectralForestRegressor
from ssgp._utils.progress import observed

dask = pytest.importorskip("ssgp.dask")
da = pytest.importorskip("dask.array")
workers_of = pytest.importorskip("ssgp.dask.workers")

ADDRESS = "tcp://host:8786"


@contextmanager
def threads(n_workers) -> Iterator[Any]:
    """A client of a cluster whose workers are threads of this process."""
    from distributed import Client, LocalCluster

    settings: Any = {"processes": False, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=n_workers, silence_logs=60, **settings) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def soon(monkeypatch):
    """Looks and warnings come at once, by a clock on which 20 ms pass whenever it is read, on any machine."""
    ticks = count()
    monkeypatch.setattr("ssgp.dask.workers.time", SimpleNamespace(monotonic=lambda: 0.02 * next(ticks)))
    monkeypatch.setattr("ssgp.dask.workers.SECONDS_BETWEEN_LOOKS", 0.1)
    monkeypatch.setattr("ssgp.dask.workers.SECONDS_UNTOLD", 0.2)
    fit_checks.learn_from_few_rows(monkeypatch)


def fit(client, **settings):
    X, y = fit_checks.sorted_rows(3000)
    model = SpectralForestRegressor(2, n_frequencies=5, max_iter=5, correct=False, random_state=0, n_jobs=1)
    rows = da.from_array(X, chunks=(1000, 3)), da.from_array(y, chunks=1000)
    return dask.fit(model, rows, client, **settings)


class Observed:
    """Remembers what was counted, and does something when a thing is counted first."""

    def __init__(self, what, work):
        self.what, self.work, self.counts = what, work, []

    def __call__(self, what, done, total):
        if what == self.what and done is not None:
            self.counts.append((done, total))
            if len(self.counts) == 1:
                self.work()


@pytest.mark.slow
class TestFits:
    def test_without_workers_end_after_a_while(self, soon):
        with threads(0) as client:
            with pytest.warns(
                UserWarning, match=r"has no workers now.*: waiting for some, 1 seconds at most \(max_wait"
            ):
                with pytest.raises(
                    dask.ClusterError, match=r"no workers for 1 seconds.*: start some \(dask worker inproc"
                ):
                    fit(client, max_wait=1.0)
            with pytest.raises(ValueError, match="max_wait must be seconds above 0"):
                fit(client, max_wait=0)

    def test_wait_for_workers_that_come(self, soon):
        with threads(0) as client:
            waiting = Observed("second", lambda: client.cluster.scale(1))
            with observed(waiting), pytest.warns(UserWarning, match="waiting for some, until some do"):
                model = fit(client, max_wait=None)
            assert waiting.counts[0] == (0, None)
            assert model.n_rows_ == 3000

    def test_whose_workers_all_leave_end_after_a_while(self, soon):
        with threads(1) as client, observed(Observed("tree", lambda: client.cluster.scale(0))):
            with pytest.warns(UserWarning, match="the 1 that were seen have gone: waiting"):
                with pytest.raises(dask.ClusterError, match="the 1 that were seen have gone: their logs say why"):
                    fit(client, max_wait=1.0)

    def test_whose_scheduler_ends_say_so(self, soon):
        with threads(1) as client, observed(Observed("tree", lambda: client.cluster.close())):
            with pytest.raises(dask.ClusterError, match="the scheduler ended, or the connection to it broke"):
                fit(client)


@pytest.mark.slow
def test_versions_are_those_of_this_process(client, monkeypatch):
    workers = list(client.nthreads())
    workers_of.check_scheduler(client)
    workers_of.check_versions(client, workers)
    client.run(hide, workers=workers[:1])
    try:
        with pytest.raises(dask.ClusterError, match=f"the worker {workers[0]} cannot import ssgp .*: install ssgp 0"):
            workers_of.check_versions(client, workers)
    finally:
        client.run(show, workers=workers[:1])
    monkeypatch.setattr("ssgp.dask.workers.__version__", "9.9")
    with pytest.raises(dask.ClusterError, match=r"the worker .* has ssgp .*, and this process 9\.9: install the same"):
        workers_of.check_versions(client, workers)
    with pytest.raises(dask.ClusterError, match=r"the scheduler has ssgp .*, and this process 9\.9"):
        workers_of.check_scheduler(client)


def hide():
    sys.modules["hidden"], sys.modules["ssgp"] = sys.modules["ssgp"], None  # pyright: ignore[reportArgumentType]


def show():
    sys.modules["ssgp"] = sys.modules.pop("hidden")


class FakeClient:
    """Of a cluster whose running workers, and all workers, are these at each look."""

    def __init__(self, running, there=None):
        self.looks, self.clock = iter(running), 0.0
        self.scheduler = SimpleNamespace(
            address=ADDRESS, ncores_running=lambda: next(self.looks), ncores=lambda: there or {}
        )

    def sync(self, ask, callback_timeout):
        return ask()

    def run(self, function, workers, on_error):
        return dict.fromkeys(workers, function())


@pytest.fixture
def look(monkeypatch):
    """Looks at a cluster, a second from one to the next."""

    def look(client, times, **settings):
        workforce: Any = workers_of.Workforce(client, **settings)
        for second in range(times):
            clock = SimpleNamespace(monotonic=lambda second=second: float(second))
            monkeypatch.setattr("ssgp.dask.workers.time", clock)
            workforce.look()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield look


def test_workers_that_die_as_soon_as_they_have_come_do_not_count(look):
    client = FakeClient({f"tcp://w:{i}": 1} for i in range(100))
    with pytest.raises(dask.ClusterError, match="no workers for 31 seconds; the 32 that were seen have gone"):
        look(client, 100, max_wait=30)


def test_workers_that_are_paused_do_not_count(look):
    client = FakeClient(({} for _ in range(100)), {"tcp://w:1": 1, "tcp://w:2": 1})
    with pytest.raises(dask.ClusterError, match="no worker of the cluster works for 31 seconds, and 2 are paused"):
        look(client, 100, max_wait=30)


def test_one_that_stays_is_enough(look):
    look(FakeClient({f"tcp://w:{i}": 1, "tcp://w:stays": 1} for i in range(100)), 100, max_wait=3)
    look(FakeClient({} for _ in range(100)), 100, max_wait=None)
