"""A cluster of processes, one for all tests of a file; a test that hangs ends."""

import os
import signal
from contextlib import contextmanager

import pytest

pytest.importorskip("distributed")

# Of a test, on a machine that is busy with others.
MOST_SECONDS = 900


@contextmanager
def processes(n_workers, **settings):
    """A client of a cluster of so many processes on this machine, whose nannies start those anew that are killed."""
    from dask import config
    from distributed import Client, LocalCluster

    from ssgp.cli.clusters import PROCESS_SETTINGS

    waits = {"distributed.comm.timeouts.connect": "60s", "distributed.scheduler.worker-ttl": None}
    usual = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "memory_limit": "2GB"}
    with (
        config.set(waits | PROCESS_SETTINGS),
        LocalCluster(processes=True, silence_logs=50, **(usual | settings)) as cluster,
        Client(cluster, timeout="300s") as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with processes(2) as client:
        client.run(learn_alone)
        yield client


def learn_alone():
    """One thread of linear algebra in each worker: the machine is busy with others."""
    os.environ["OMP_NUM_THREADS"] = "1"


@pytest.fixture(autouse=True)
def ends(monkeypatch):
    """Whatever waits for a cluster waits no longer than that, and says nothing of it before."""
    monkeypatch.setattr("ssgp.dask.workers.SECONDS_UNTOLD", MOST_SECONDS)
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def end(number, frame):
        raise TimeoutError(f"the test took more than {MOST_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(MOST_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
