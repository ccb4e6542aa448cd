"""``ssgp fit`` on a cluster: the model of the fit in parts, what it says, and what it refuses."""

import os
import re
import signal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fit_checks
import ssgp
from cluster_state import assert_no_task_is_left, wait_until
from ssgp.saved_models import read_summary

pytest.importorskip("typer", reason="the command line is not installed")
pytest.importorskip("ssgp.dask")
from command_line import fails, run
from ssgp.cli.cluster_tables import SharedTable
from ssgp.cli.clusters import ClusterChoice
from ssgp.cli.output import Output
from ssgp.cli.progress_display import LineDisplay

QUICK = ["--jobs", "1", "--memory", "100MB", "--set", "max_iter=10", "--set", "n_trees=2", "--target", "y"]
N_ROWS = 4000


def table():
    """Numbers, text and gaps; the first targets are missing, and the weights of the next rows are zero."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 2))
    town = rng.integers(0, 5, N_ROWS)
    y = X[:, 0] + 0.2 * town + 0.1 * rng.normal(size=N_ROWS)
    return pa.table(
        {
            "id": np.arange(N_ROWS),
            "a": X[:, 0],
            "b": pa.array(X[:, 1], mask=rng.random(N_ROWS) < 0.05),
            "town": [f"town {i}" for i in town],
            "w": (np.arange(N_ROWS) >= 10).astype(float),
            "y": pa.array(y, mask=np.arange(N_ROWS) < 3),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    fit_checks.learn_from_few_rows(monkeypatch)
    (tmp_path / "rows").mkdir()
    for i in range(2):
        part = table().slice(i * N_ROWS // 2, N_ROWS // 2)
        pq.write_table(part, tmp_path / "rows" / f"{i}.parquet", row_group_size=700)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_a_process_that_dies_comes_back_however_long_that_takes():
    """Dask would look for it after that time, in which no process starts, and give it up."""
    from dask import config

    with (
        config.set({"distributed.deploy.lost-worker-timeout": "1ms"}),
        ClusterChoice(None, 1).opened(None, Output(quiet=True)) as client,
    ):
        ((address, number),) = client.run(os.getpid).items()
        os.kill(number, signal.SIGKILL)
        wait_until(lambda: address not in client.nthreads())
        client.wait_for_workers(1, timeout=60)


@pytest.mark.slow
def test_is_the_fit_in_parts(folder, client, monkeypatch):
    monkeypatch.setattr("ssgp.dask.sources.LEAST_BLOCK_BYTES", 1 << 14)
    arguments = ("rows", "--key", "id", "--weight", "w", *QUICK)
    cluster = ("--scheduler", client.scheduler.address, "--checkpoint", "parts")
    code, out, err = run("fit", *arguments, *cluster, "--out", "shared")
    assert code == 0, err
    assert re.search(r"^Cluster of 2 workers; dashboard: http://.*/status", out)
    assert "rows: 3,990 rows, 3 columns to learn from, read by the workers" in out
    assert "3 rows left out, where the target 'y' is missing" in err
    assert "7 rows left out, where the weight 'w' is zero" in err
    assert_no_task_is_left(client)
    assert not (folder / "parts").exists()

    monkeypatch.setattr("ssgp.cli.fit_command.memory_needed", lambda *_: np.inf)
    code, out, err = run("fit", *arguments, "--out", "alone")
    assert code == 0, err
    shared, alone, rows = ssgp.load("shared"), ssgp.load("alone"), table()
    np.testing.assert_array_equal(shared.predict_interval(rows), alone.predict_interval(rows))
    notes, expected = read_summary("shared")["notes"], read_summary("alone")["notes"]
    means = ("target_mean", "target_deviation")
    assert [notes.pop(name) for name in means] == pytest.approx([expected.pop(name) for name in means], rel=1e-12)
    assert notes == expected


@pytest.mark.slow
def test_workers_of_this_machine_end_with_the_command(folder, monkeypatch):
    monkeypatch.setattr("ssgp.cli.output.LineDisplay", partial(LineDisplay, seconds_between=0.0))
    usual, obeyed = SharedTable.fit, {}

    def fit(table, *arguments):
        obeyed.update(table._client.run(signal.getsignal, signal.SIGINT))
        usual(table, *arguments)

    monkeypatch.setattr(SharedTable, "fit", fit)
    code, out, err = run("fit", "rows", "--features", "a,b", "--workers", "1", *QUICK, "--out", "m")
    assert code == 0, err
    assert out.startswith("Cluster of 1 worker; dashboard: http://127.0.0.1:")
    stages = list(dict.fromkeys(line.partition(":")[0] for line in err.splitlines()))
    expected = ["counting rows", "reading rows", "learning frequencies", "fitting trees"]
    assert [stage for stage in stages if stage in expected] == expected
    assert ssgp.load("m").n_rows_ == N_ROWS - 3
    # Ctrl-C reaches them too, and is for the command.
    assert list(obeyed.values()) == [signal.SIG_IGN]


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--scheduler", "tcp://x:1"], "--workers: the workers are those of --scheduler; give one of them"),
            (["--hold-out", "0.1"], "--hold-out: not on a cluster (--workers); judge the model by other rows"),
            (["--max-time", "3"], "--max-time: not on a cluster (--workers); give the cluster more workers"),
            (["--time", "a"], "--time: not on a cluster (--workers); such fits are those of one machine"),
            (["--model", "dtc"], "--workers: dtc needs all rows in one process"),
        ],
    )
    def test_of_options_come_before_any_worker(self, folder, options, message, monkeypatch):
        monkeypatch.setattr("distributed.LocalCluster", None)
        arguments = ("fit", "rows", "--target", "y", "--workers", "2", *options, "--out", "m")
        assert fails(*arguments, code=2).startswith(f"ssgp: error: {message}")

    def test_say_that_nobody_is_waited_for_without_a_cluster(self, folder):
        line = fails("fit", "rows", "--target", "y", "--max-wait", "3", "--out", "m", code=2)
        assert line.startswith("ssgp: error: --max-wait: there are no workers to wait for without --scheduler or")

    def test_say_that_no_workers_came(self, folder):
        from distributed import LocalCluster

        settings: Any = {"n_workers": 0, "processes": False, "dashboard_address": "127.0.0.1:0", "protocol": "tcp"}
        cluster: Any
        with LocalCluster(**settings) as cluster:
            arguments = ("--scheduler", cluster.scheduler_address, "--max-wait", "0.1")
            line = fails("fit", "rows", "--target", "y", *arguments, "--out", "m")
        assert re.search(
            r"error: the cluster has no workers .*: start some .*, or wait for longer \(--max-wait\)", line
        )

    def test_say_that_processes_did_not_start(self, folder, monkeypatch):
        def start(**settings):
            raise RuntimeError("Nanny failed to start.")

        monkeypatch.setattr("distributed.LocalCluster", start)
        line = fails("fit", "rows", "--target", "y", "--workers", "2", "--out", "m")
        assert line.startswith("ssgp: error: --workers: the processes did not start (Nanny failed to start.); mostly ")

    def test_name_the_file_that_is_not_parquet(self, folder):
        (folder / "t.csv").write_text("a,y\n1,2\n")
        line = fails("fit", "t.csv", "--target", "y", "--workers", "2", "--out", "m")
        assert line.startswith("ssgp: error: 't.csv' is CSV, and the workers of a cluster read Parquet files")

    def test_say_that_nobody_answers(self, folder, monkeypatch):
        monkeypatch.setattr("ssgp.cli.clusters.CONNECT_SECONDS", 0.2)
        line = fails("fit", "rows", "--target", "y", "--scheduler", "tcp://127.0.0.1:1", "--out", "m")
        assert line.startswith("ssgp: error: --scheduler: 'tcp://127.0.0.1:1' does not answer: ")
