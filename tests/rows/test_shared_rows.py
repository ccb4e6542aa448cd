"""Rows that processes share."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ssgp.rows.blocks import Rows
from ssgp.rows.shared_rows import shared_rows

SECONDS = 120
KILLED = """
import os, signal
import numpy as np
from ssgp.rows.blocks import Rows
from ssgp.rows.shared_rows import shared_rows
X = np.ones((5, 2), np.float32)
with shared_rows(Rows(X, X[:, 0], None, np.array([0, 5]))) as shared:
    print(shared.folder, len(os.listdir(shared.folder)), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("weighted", [False, True])
def test_are_those_of_the_table_and_gone_at_the_end(weighted, rng):
    X, y = rng.normal(size=(50, 3)).astype(np.float32), rng.normal(size=50).astype(np.float32)
    rows = Rows(X, y, y**2 if weighted else None, np.array([0, 50]))
    with shared_rows(rows) as shared:
        loaded = shared.load()
        np.testing.assert_array_equal(loaded.X, X)
        np.testing.assert_array_equal(loaded.y, y)
        assert (loaded.weight is None) != weighted
        assert loaded.total == pytest.approx(rows.total)
    assert not os.path.exists(shared.folder)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_a_process_that_is_killed_leaves_none_behind():
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    folder, n_files = done.stdout.split()
    assert n_files == "2"
    until = time.monotonic() + SECONDS
    while Path(folder).exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(folder).exists()
