"""Files that are written whole or not at all."""

import os
import stat

import pytest

import ssgp._utils.whole_file as whole_file_module
from faults_of_the_system import interrupted_at_every_line_of
from ssgp._utils.whole_file import check_place, whole_file


def test_what_is_written_takes_the_place_of_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with whole_file(path) as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=repr)
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "file"
    path.write_text("old")

    def write():
        with whole_file(path) as part:
            part.write_text("half")
            raise error

    with pytest.raises(type(error)):
        write()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_an_interrupt_at_any_line_leaves_the_old_file_or_the_new_one(tmp_path):
    path = tmp_path / "file"

    def replace():
        with whole_file(path) as part:
            part.write_text("new")

    def is_whole():
        assert os.listdir(tmp_path) in ([], ["file"])
        assert not path.exists() or path.read_text() == "new"
        path.unlink(missing_ok=True)

    assert interrupted_at_every_line_of(whole_file_module, replace, is_whole) > 20


def test_a_failure_before_anything_is_written_leaves_nothing(tmp_path):
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "file"):
        pass
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="symbolic links and modes as POSIX has them")
def test_links_are_followed_and_the_mode_is_that_of_any_new_file(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    target, link, plain = tmp_path / "elsewhere" / "file", tmp_path / "link", tmp_path / "plain"
    link.symlink_to(target)
    with whole_file(link) as part:
        part.write_text("new")
    plain.write_text("")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


@pytest.mark.skipif(os.name != "posix", reason="modes as POSIX has them")
def test_whoever_could_read_the_old_file_can_read_the_new_one(tmp_path):
    path = tmp_path / "file"
    for mode in (None, 0o640):
        if mode is not None:
            path.chmod(mode)
        with whole_file(path) as part:
            part.touch(mode=0o600)
        (tmp_path / "plain").write_text("")
        expected = mode or stat.S_IMODE((tmp_path / "plain").stat().st_mode)
        assert stat.S_IMODE(path.stat().st_mode) == expected


def test_a_place_is_tried_and_left_as_it_was(tmp_path):
    (tmp_path / "file").write_text("old")
    for name in ("file", "new"):
        check_place(tmp_path / name, "the model")
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a folder that takes no files, whoever asks")
def test_a_folder_that_takes_no_files_is_refused_by_the_name_that_was_given():
    with pytest.raises(OSError, match=r"^cannot save the model to '/proc/x.st': no file can be made there [^/]*$"):
        check_place("/proc/x.st", "the model")


@pytest.mark.parametrize("length", [250, 300])
def test_a_name_that_is_too_long_is_refused(tmp_path, length):
    with pytest.raises(OSError, match="cannot save the model to"):
        check_place(tmp_path / ("x" * length), "the model")


@pytest.mark.skipif(os.name != "posix", reason="pipes and links as POSIX has them")
def test_only_regular_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to_pipe").symlink_to(tmp_path / "pipe")
    (tmp_path / "file").touch()
    (tmp_path / "to_file").symlink_to(tmp_path / "file")
    (tmp_path / "to_nowhere").symlink_to(tmp_path / "no" / "file")
    for path in (tmp_path / "pipe", tmp_path / "to_pipe", os.devnull):
        with pytest.raises(FileExistsError, match="it is a device or a pipe"):
            check_place(path, "the model")
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        check_place(tmp_path / "to_nowhere", "the model")
    check_place(tmp_path / "to_file", "the model")


def test_a_file_that_nobody_may_write_is_replaced_by_one(tmp_path, monkeypatch):
    """The superuser may write what nobody may, so what is looked at is when the part becomes such a file."""
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o444)
    modes = []
    usual = whole_file_module._to_disk
    monkeypatch.setattr(
        whole_file_module, "_to_disk", lambda own: (modes.append(own.stat().st_mode & 0o200), usual(own))
    )
    with whole_file(path) as part:
        part.write_text("new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    assert all(modes)
