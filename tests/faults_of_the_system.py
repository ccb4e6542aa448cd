"""What befalls programs: disks that are full, commands that are killed."""

import itertools
import os
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

COMMAND = [sys.executable, "-m", "ssgp"]


@contextmanager
def files_of_at_most(n_bytes):
    """Let this process write no larger files: what a full disk is like, without one."""
    resource = pytest.importorskip("resource", reason="limits of files as POSIX has them")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def tiny_disk(folder, n_kilobytes):
    """A disk of so many kilobytes, where the system lets us have one."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={n_kilobytes}k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a disk takes the superuser of Linux")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def started(*arguments, folder, command=("-m", "ssgp"), **settings):
    """A command that runs in the background, and is killed at the end if it still does."""
    process = subprocess.Popen([sys.executable, *command, *map(str, arguments)], cwd=folder, **settings)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(what, process=None, seconds=120.0):
    """Wait until something is so, or a test of a machine this slow would tell nothing."""
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        assert process is None or process.poll() is None, "the command ended too early"
        time.sleep(0.005)


def interrupted_at_every_line_of(module, act, check):
    """Interrupt an action before each line of a module that it comes to, one after the other, and check what is left.

    The number of times that it was interrupted.
    """
    n_lines = 0
    while _interrupted(module, act, n_lines):
        check()
        n_lines += 1
    return n_lines


def _interrupted(module, act, n_lines):
    """Whether the action comes to so many lines of the module; it is interrupted there."""
    left = itertools.count(n_lines, -1)

    def interrupt(frame, event, _):
        if frame.f_code.co_filename != module.__file__:
            return None
        if event == "line" and next(left) == 0:
            raise KeyboardInterrupt
        return interrupt

    before = sys.gettrace()
    sys.settrace(interrupt)
    try:
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def run_command(*arguments, folder, **settings):
    """A command in a process of its own, and what it printed."""
    settings = {"args": [*COMMAND, *map(str, arguments)], "capture_output": True, "text": True, **settings}
    return subprocess.run(cwd=folder, check=False, timeout=300, **settings)


def all_files(folder):
    """Names of all files of a folder, those in its folders too, hidden ones among them."""
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)
