"""``ssgp predict`` on a cluster: what it writes is what the command writes without one."""

import os
import signal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cluster_state import assert_no_task_is_left
from ssgp import SpectralForestRegressor

pytest.importorskip("typer", reason="the command line is not installed")
pytest.importorskip("ssgp.dask")
from command_line import fails, run
from ssgp.cli.cluster_predictions import _write_part
from ssgp.cli.errors import CommandError
from ssgp.cli.progress_display import NoDisplay

EVERYTHING = ("--std", "--quantiles", "0.1,0.5", "--interval", "0.8", "--keep", "id,when,kind")
N_ROWS = 3000


def table(n_rows=N_ROWS, seed=1, towns=8):
    """Numbers, text and gaps; of the towns, fit saw some."""
    rng = np.random.default_rng(seed)
    X, town = rng.normal(size=(n_rows, 2)), rng.integers(0, towns, n_rows)
    return pa.table(
        {
            "id": np.arange(n_rows),
            "a": X[:, 0],
            "b": pa.array(X[:, 1], mask=rng.random(n_rows) < 0.05),
            "town": [f"town {i}" for i in town],
            "when": pa.array(np.datetime64("2024-01-01T00", "s") + rng.integers(10**7, size=n_rows)),
            "kind": pa.array([f"kind {i}" for i in rng.integers(0, 4, n_rows)]).dictionary_encode(),
            "y": X[:, 0] + 0.2 * town + 0.1 * rng.normal(size=n_rows),
        }
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path, rows = tmp_path_factory.mktemp("model") / "m", table(1000, seed=0, towns=6)
    forest = SpectralForestRegressor(2, n_frequencies=10, max_iter=10, random_state=0, n_jobs=1)
    forest.fit(rows.select(["a", "b", "town"]), rows["y"].to_numpy()).save(path)
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files whose row groups are of several sizes, read some at a time."""
    monkeypatch.setattr("ssgp.dask.sources.LEAST_BLOCK_BYTES", 20_000)
    monkeypatch.setattr("ssgp.dask.sources.BLOCKS", 1000)
    (tmp_path / "rows").mkdir()
    pq.write_table(table().slice(0, 1800), tmp_path / "rows" / "0.parquet", row_group_size=250)
    pq.write_table(table().slice(1800), tmp_path / "rows" / "1.parquet", row_group_size=700)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cluster(client):
    return ("--scheduler", client.scheduler.address)


def told(err):
    return [line for line in err.splitlines() if line.startswith("ssgp: warning:")]


@pytest.mark.slow
class TestPredict:
    def test_a_folder_of_files_has_the_bits_of_one_process(self, folder, model, client, cluster):
        assert run("predict", model, "rows", *EVERYTHING, "--out", "alone.parquet", "--jobs", "1")[0] == 0
        code, out, err = run("predict", model, "rows", *EVERYTHING, "--out", "parts", *cluster)
        assert code == 0, err
        assert "3,000 rows in " in out
        assert [line.partition("column")[0] for line in told(err)] == [
            "ssgp: warning: rows have values that fit never saw, or miss some where hardly any were missing in fit: "
        ]
        names = sorted(os.listdir("parts"))
        assert len(names) > 4
        found = pa.concat_tables([pq.read_table(os.path.join("parts", name)) for name in names])
        expected = pq.read_table("alone.parquet")
        assert found.schema.equals(expected.schema)
        assert found.to_pylist() == expected.to_pylist()
        assert found["id"].to_pylist() == list(range(N_ROWS))
        assert_no_task_is_left(client)
        # Nothing hidden among them.
        assert sorted(os.listdir(".")) == ["alone.parquet", "parts", "rows"]

    @pytest.mark.parametrize("suffix", [".parquet", ".csv"])
    def test_a_file_is_that_of_one_process(self, suffix, folder, model, cluster):
        alone = run("predict", model, "rows", *EVERYTHING, "--out", f"alone{suffix}", "--jobs", "1")
        shared = run("predict", model, "rows", *EVERYTHING, "--out", f"shared{suffix}", *cluster)
        assert (alone[0], shared[0]) == (0, 0), shared
        assert told(shared[2]) == told(alone[2])
        assert (folder / f"shared{suffix}").read_bytes() == (folder / f"alone{suffix}").read_bytes()

    @pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
    def test_a_worker_that_is_killed_changes_nothing(self, folder, model, client, cluster, monkeypatch):
        killed = []

        def kill(display, what, done, total):
            if done and not killed:
                killed.extend(client.run(os.getpid).values())
                os.kill(killed[0], signal.SIGKILL)

        monkeypatch.setattr(NoDisplay, "__call__", kill)
        assert run("predict", model, "rows", "--out", "parts", *cluster, "-q") == (0, "", "")
        assert killed
        assert sum(pq.read_table(path).num_rows for path in (folder / "parts").iterdir()) == N_ROWS
        client.wait_for_workers(2, timeout=300)

    def test_ctrl_c_leaves_nothing(self, folder, model, client, cluster, monkeypatch):
        def interrupt(display, what, done, total):
            if done:
                raise KeyboardInterrupt

        monkeypatch.setattr(NoDisplay, "__call__", interrupt)
        for out in ("parts", "predictions.parquet"):
            assert run("predict", model, "rows", "--out", out, *cluster, "-q")[0] == 130
            assert os.listdir(".") == ["rows"]
        assert_no_task_is_left(client)

    def test_an_error_of_a_worker_is_that_of_one_process(self, folder, model, cluster):
        wrong = table().slice(0, 500)
        wrong = wrong.set_column(1, "a", pa.array([np.inf] * 500))
        pq.write_table(wrong, folder / "rows" / "2.parquet")
        alone = fails("predict", model, "rows", "--out", "p.parquet")
        assert fails("predict", model, "rows", "--out", "parts", *cluster) == alone
        assert "column 'a' has infinity" in alone
        assert os.listdir(".") == ["rows"]

    def test_a_worker_that_cannot_see_the_folder_says_so(self, tmp_path):
        block: Any = None
        with pytest.raises(
            CommandError, match=r"a worker finds no folder '.*no': all of them have to see the place of"
        ):
            _write_part(block, block, str(tmp_path / "no" / "part.parquet"))

    def test_no_rows_are_an_error(self, folder, model, cluster):
        pq.write_table(table().slice(0, 0), folder / "none.parquet")
        line = fails("predict", model, "none.parquet", "--out", "parts", *cluster)
        assert line == "ssgp: error: 'none.parquet' has no rows to predict"


class TestErrors:
    @pytest.fixture(autouse=True)
    def no_worker(self, monkeypatch):
        """They come before any worker."""
        monkeypatch.setattr("distributed.LocalCluster", None)

    def test_name_the_folder_that_is_not_empty(self, folder, model):
        line = fails("predict", model, "rows", "--workers", "1", "--out", "rows")
        assert (
            line == "ssgp: error: cannot write a folder 'rows': there is one, which is not empty; choose another name"
        )

    def test_name_the_folder_that_would_be_in_none(self, folder, model):
        line = fails("predict", model, "rows", "--workers", "1", "--out", "no/parts")
        assert line.startswith("ssgp: error: cannot write a folder 'no/parts': there is no folder ")

    def test_name_the_file_that_has_the_folder_s_name(self, folder, model):
        (folder / "parts").write_text("")
        line = fails("predict", model, "rows", "--workers", "1", "--out", "parts")
        assert line == "ssgp: error: cannot write a folder 'parts': there is a file of that name"

    def test_name_the_file_that_is_not_parquet(self, folder, model):
        (folder / "t.csv").write_text("a,b,town\n1,2,town 1\n")
        line = fails("predict", model, "t.csv", "--workers", "2", "--out", "parts")
        assert line.startswith("ssgp: error: 't.csv' is CSV, and the workers of a cluster read Parquet files")

    def test_say_that_workers_have_no_gpu(self, folder, model):
        line = fails("predict", model, "rows", "--workers", "1", "--device", "cuda", "--out", "parts", code=2)
        assert line == "ssgp: error: --device: not on a cluster (--workers); workers use their processors"

    def test_say_that_a_folder_is_only_for_clusters(self, folder, model):
        line = fails("predict", model, "rows", "--out", "parts")
        assert "its name must end in .parquet" in line
