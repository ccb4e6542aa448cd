"""Fits that are killed or asked to end, and two that want the same checkpoint."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from faults_of_the_system import all_files, run_command, started, wait_for
from helpers import wavy

pytest.importorskip("typer", reason="the command line is not installed")

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")]

FIT = ["fit", "t.csv", "--target", "y", "--quiet", "--checkpoint", "parts", "--out", "model"]
FIT += ["--jobs", "1", "--memory", "1GB"]
for setting in ("max_iter=20", "n_trees=12", "n_frequencies=20"):
    FIT += ["--set", setting]
# A fit that may wait after its first tree, so that what befalls it never comes too late.
IN_MEMORY = """
import os, time
from ssgp.cli.entry import main
from ssgp.saving.checkpoints import Checkpoint
usual = Checkpoint.once
def once(self, name, *rest):
    part = usual(self, name, *rest)
    if name.startswith("fold-") and "WAIT" in os.environ:
        time.sleep(3600)
    return part
Checkpoint.once = once
"""
# Read in parts: a table of 1e9 bytes for every number does not fit.
STREAMED = IN_MEMORY + "import ssgp.cli.memory as memory; memory.BYTES_PER_VALUE = 1e9; main()"
IN_MEMORY += "main()"


@pytest.fixture(scope="module")
def table():
    X, y, _ = wavy(6000)
    return np.column_stack([X, y])


@pytest.fixture
def folder(table, tmp_path):
    np.savetxt(tmp_path / "t.csv", table, delimiter=",", header="a,b,y", comments="")
    (tmp_path / "temporary").mkdir()
    return tmp_path


def settings(folder):
    environment = {**os.environ, "TMPDIR": str(folder / "temporary"), "WAIT": "yes"}
    return {"env": environment, "stderr": subprocess.PIPE, "text": True}


def wait_for_trees(process, folder):
    wait_for(lambda: list((folder / "parts").glob("fold-*")), process)


@pytest.fixture(scope="module")
def unharmed(table, tmp_path_factory):
    """The model of a fit that nothing befell."""
    folder = tmp_path_factory.mktemp("unharmed")
    np.savetxt(folder / "t.csv", table, delimiter=",", header="a,b,y", comments="")
    run_command(*FIT, folder=folder).check_returncode()
    return (folder / "model").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("streamed", [False, True], ids=["in memory", "streamed"])
def test_a_fit_goes_on_to_the_same_file(number, streamed, folder, unharmed):
    command = ["-c", STREAMED if streamed else IN_MEMORY]
    with started(*FIT, folder=folder, command=command, **settings(folder)) as process:
        wait_for_trees(process, folder)
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
    asked = number == signal.SIGTERM
    assert process.returncode == (143 if asked else -number)
    assert err == ("ssgp: ended by a signal; what was not finished was not written\n" if asked else "")
    files = all_files(folder)
    assert "model" not in files
    # What vanishes with the process leaves nothing behind, even where it was killed.
    assert not [name for name in files if name.startswith("temporary")]
    if asked:
        assert not [name for name in files if name.endswith((".part", ".lock"))]
    again = run_command(folder=folder, args=[sys.executable, *command, *FIT])
    assert (again.returncode, again.stderr) == (0, "")
    assert (folder / "model").read_bytes() == unharmed
    assert all_files(folder) == ["model", "t.csv"]


def test_a_second_fit_on_one_checkpoint_is_told_of_the_first(folder):
    with started(*FIT, folder=folder, command=["-c", IN_MEMORY], **settings(folder)) as first:
        wait_for_trees(first, folder)
        first.send_signal(signal.SIGSTOP)
        before = {name: (folder / name).read_bytes() for name in all_files(folder)}
        second = run_command(*FIT, folder=folder)
        assert {name: (folder / name).read_bytes() for name in all_files(folder)} == before
        first.kill()
        assert second.returncode == 1
        assert second.stderr.startswith(f"ssgp: error: another fit (process {first.pid} on ")
        assert "is using the checkpoint 'parts'; wait for it to end, or choose another folder" in second.stderr
