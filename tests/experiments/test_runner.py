"""Cells in processes of their own, whatever becomes of them."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

import toy_study
from experiments.runner import run
from experiments.store import Store
from toy_study import FullDisk, Toy, study

pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "rows", Toy)


def test_goes_on_where_it_stopped(store, tmp_path, capsys):
    both = study(tmp_path, "first", "second")
    store.write(both.cells[0], [{"value": 7.0}], 1.0)
    before = {path: path.stat().st_mtime_ns for path in store.folder.iterdir()}
    assert run(both, store) == 0
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    assert store.cells() == set(both.cells)
    assert "1 of 2 cells are there already" in capsys.readouterr().out
    assert {path.suffix for path in store.folder.iterdir()} == {".parquet"}


def test_runs_what_is_there_again_if_asked(store, tmp_path):
    one = study(tmp_path, "first")
    store.write(one.cells[0], [{"value": 7.0}], 1.0)
    assert run(one, store, again=True) == 0
    assert store.read().values("value") == [0.0]


def test_a_failure_is_recorded_and_the_rest_goes_on(store, tmp_path, capsys):
    both = study(tmp_path, "broken once", "well")
    assert run(both, store) == 1
    results = store.read()
    assert [row["error"] for row in results.failures()] == ["FloatingPointError: no luck"]
    assert len(results.where(kind="well").rows) == 1
    assert "FAILED: FloatingPointError: no luck" in capsys.readouterr().err
    assert run(both, store) == 0
    assert not store.read().failures()


def test_a_long_message_is_cut(store, tmp_path):
    assert run(study(tmp_path, "wordy"), store) == 1
    (failure,) = store.read().failures()
    assert failure["error"].startswith("ValueError: xxx")
    assert len(failure["error"]) == 2000


def test_after_an_interrupt_nothing_new_begins(store, tmp_path, capsys):
    both = study(tmp_path, "interrupting", "second")
    assert run(both, store) == 130
    assert store.cells() == set(both.cells[:1])
    assert "stopped; finished cells are kept" in capsys.readouterr().out


def test_a_process_that_dies_costs_its_own_cell_alone(store, tmp_path, capsys):
    three = study(tmp_path, "deadly", "second", "third")
    assert run(three, store, n_jobs=2) == 1
    (failure,) = store.read().failures()
    assert (failure["kind"], failure["error"]) == ("deadly", "its process died: out of memory?")
    assert store.cells() == set(three.cells[1:])
    assert "FAILED: its process died" in capsys.readouterr().err


def test_a_result_that_cannot_be_written_costs_its_own_cell_alone(tmp_path, capsys):
    store, both = FullDisk(tmp_path / "rows", Toy), study(tmp_path, "unwritable", "well")
    assert run(both, store) == 1
    assert store.cells() == {both.cells[1]}
    assert "nothing was written: OSError: no space left on device" in capsys.readouterr().err


def test_values_that_cannot_be_stored_are_named(store, tmp_path, capsys):
    assert run(study(tmp_path, "odd", "well"), store) == 1
    assert [cell.kind for cell in store.cells()] == ["well"]
    assert "nothing was written: " in capsys.readouterr().err


def test_each_cell_has_a_process_and_its_peak_memory_for_itself(store, tmp_path):
    assert run(study(tmp_path, "large", "small"), store) == 0
    large, small = (store.read().where(kind=kind).rows[0] for kind in ("large", "small"))
    assert len({large["pid"], small["pid"], os.getpid()}) == 3
    assert large["peak_gb"] > small["peak_gb"] + 0.2


def test_results_say_how_they_came_about(store, tmp_path):
    run(study(tmp_path, "well"), store)
    (row,) = store.read().rows
    assert "ssgp" in row["versions"]
    assert "cores" in row["machine"]
    assert row["finished"] >= "2026"
    assert row["wall_s"] > 0


def test_the_time_left_is_told(store, tmp_path, capsys):
    run(study(tmp_path, "first", "second"), store)
    first, second = capsys.readouterr().out.splitlines()
    line = r"\[{}/2\] kind {}, number {}: done in \d+ s \(\d+ s so far, about {} s left\)"
    assert re.fullmatch(line.format(1, "first", 0, r"\d+"), first)
    assert re.fullmatch(line.format(2, "second", 1, "0"), second)


def wait_for(condition, seconds=120):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)
    assert condition()


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(os.name != "posix", reason="signals to a group of processes, as a terminal sends them")
def test_a_second_interrupt_gives_up_what_is_running(tmp_path):
    same_modules = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, toy_study.__file__, str(tmp_path)],
        env=same_modules,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        wait_for((tmp_path / "asleep").exists)
        worker = int((tmp_path / "asleep").read_text())
        os.killpg(process.pid, signal.SIGINT)
        assert b"press Ctrl-C again" in process.stdout.readline() + process.stdout.readline()
        assert is_running(worker)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=120) == 130
        assert b"given up" in process.stdout.read()
        assert not is_running(worker)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
