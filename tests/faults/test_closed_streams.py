"""Standard streams that are closed, full, or whose reader has left."""

import os
import sys

import pytest

from faults_of_the_system import COMMAND, run_command

pytest.importorskip("typer", reason="the command line is not installed")
from command_line import QUICK, fails, fill

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="streams as POSIX shells redirect them"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("streams"))


def in_a_shell(text, folder):
    """A command line in which `ssgp` is the command, and what it and the shell printed."""
    ssgp = " ".join(f"'{word}'" for word in COMMAND)
    script = f'ssgp() {{ {ssgp} "$@"; }}; {text}'
    return run_command(folder=folder, args=["bash", "-c", script])


FIT = " ".join(["fit train.csv --target height", *QUICK])


@pytest.mark.parametrize(
    ("text", "code", "out", "err"),
    [
        ("ssgp predict m - --out p.csv <&-", 1, "", "ssgp: error: the standard input is closed"),
        ("ssgp inspect m >&-", 0, "", ""),
        ("ssgp inspect missing 2>&-", 1, "", ""),
        ("ssgp inspect m | head -1; exit ${PIPESTATUS[0]}", None, "m: SpectralForestRegressor", ""),
        ("ssgp inspect m --json | true; exit ${PIPESTATUS[0]}", 1, "", ""),
        ("ssgp --help | true; exit ${PIPESTATUS[0]}", 1, "", ""),
        ("ssgp --version > /dev/full", 1, "", "ssgp: error: No space left on device"),
        ("ssgp inspect m > /dev/full", 1, "", "ssgp: error: No space left on device"),
        (f"{FIT.replace('fit', 'ssgp fit', 1)} --out left 2>&1 | true; exit ${{PIPESTATUS[0]}}", 0, "", ""),
    ],
)  # fmt: skip
def test_are_borne(text, code, out, err, folder):
    done = in_a_shell(text, folder)
    assert code is None or done.returncode == code, done.stderr
    assert done.stdout.startswith(out)
    assert err in done.stderr
    assert len(done.stderr.splitlines()) <= 1
    if "left" in text:
        assert (folder / "left").read_bytes()


def test_a_model_is_not_written_to_what_is_open(folder, tmp_path):
    (tmp_path / "link").symlink_to("/dev/stdout")
    for out in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", tmp_path / "link"):
        arguments = ("fit", folder / "train.csv", "--target", "height", "--out", out)
        assert "it is a device or a pipe, give the name of a file" in fails(*arguments)
    assert "not written to the standard output" in fails(
        "report", folder / "m", folder / "new.csv", "--out", "-", code=2
    )


def test_a_file_is_not_taken_for_a_stream_that_was_closed(tmp_path):
    """Where the standard error is closed, the next file that is opened would be it."""
    script = (
        "from ssgp.cli.printing import open_streams; open_streams(); import sys; file = open('file', 'w'); "
        "print('message', file=sys.stderr); file.close(); print(open('file').read(), end='')"
    )
    done = run_command(folder=tmp_path, args=["bash", "-c", f"'{sys.executable}' -c \"{script}\" 2>&-"])
    assert (done.returncode, done.stdout) == (0, "")
