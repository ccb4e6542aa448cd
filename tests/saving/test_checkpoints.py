"""Folders of finished parts."""

import errno
import os

import numpy as np
import pytest

from faults_of_the_system import interrupted_at_every_line_of
from ssgp._utils.whole_file import whole_file
from ssgp.saving import folder_lock
from ssgp.saving.checkpoints import Checkpoint, delete_checkpoint
from ssgp.saving.contents import anything
from ssgp.saving.folder_lock import FolderInUseError, FolderLock
from ssgp.saving.kinds import Kinds

# Numbers, texts and arrays need no kinds.
NOTHING = Kinds(())


def test_killed_while_the_first_file_is_written(tmp_path):
    with whole_file(tmp_path / "fit.json") as part:
        part.touch()
    os.rename(tmp_path / "fit.json", part)
    checkpoint = Checkpoint(tmp_path, NOTHING)
    checkpoint.begin(lambda: {"seed": 1, "number of rows": 7, "version of ssgp": "0.1"})
    checkpoint.release()
    again = Checkpoint(tmp_path, NOTHING)
    assert again.same_seed(2) == 1
    again.release()
    delete_checkpoint(tmp_path)
    assert not tmp_path.exists()


def test_only_parts_are_deleted(tmp_path):
    checkpoint = Checkpoint(tmp_path / "parts", NOTHING)
    checkpoint.begin(lambda: {"n_trees": np.int64(3)})
    for name in ("learned", "fold-0-11", "all-3"):
        checkpoint.once(name, lambda: (1.0, np.arange(3)), anything)
    checkpoint.release()
    others = [tmp_path / "parts" / name for name in ("thesis.txt", "model.safetensors", "all-best.safetensors")]
    for path in others:
        path.touch()
    delete_checkpoint(tmp_path / "parts")
    assert set((tmp_path / "parts").iterdir()) == set(others)
    for path in others:
        path.unlink()
    delete_checkpoint(tmp_path / "parts")
    assert not (tmp_path / "parts").exists()


def test_once_something_was_cut_short_nothing_is_read(tmp_path):
    checkpoint = Checkpoint(tmp_path, NOTHING)
    assert checkpoint.once("learned", lambda: 1, anything) == 1
    assert checkpoint.once("learned", lambda: 2, anything) == 1
    checkpoint.close()
    assert checkpoint.once("learned", lambda: 3, anything) == 3
    checkpoint.once("all-0", lambda: 4, anything)
    checkpoint.release()
    assert [path.name for path in tmp_path.iterdir()] == ["learned.safetensors"]


@pytest.mark.parametrize("text", ['{"name": "mine"}', "[1, 2]", "no JSON", ""])
def test_a_file_of_the_same_name_is_not_taken_for_its_own(text, tmp_path):
    (tmp_path / "fit.json").write_text(text)
    with pytest.raises(ValueError, match="has other files in it"):
        Checkpoint(tmp_path, NOTHING)
    assert (tmp_path / "fit.json").read_text() == text


def test_unfinished_files_of_others_are_left_alone(tmp_path):
    for name in (".letter.txt.part", ".all-0.safetensors.0a1b2c3d.part"):
        (tmp_path / name).write_text("")
    delete_checkpoint(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".letter.txt.part"]


def test_one_fit_at_a_time_uses_a_folder(tmp_path):
    first, second = (Checkpoint(tmp_path / "parts", NOTHING) for _ in range(2))
    identity = {"seed": 1, "number of rows": 7, "version of ssgp": "0.1"}
    first.begin(lambda: identity)
    message = rf"another fit \(process {os.getpid()} on .*\) is using the checkpoint '.*parts'; wait for it to end"
    with pytest.raises(OSError, match=message):
        second.begin(lambda: identity)
    with pytest.raises(OSError, match=message):
        Checkpoint(tmp_path / "parts", NOTHING)
    delete_checkpoint(tmp_path / "parts")
    assert (tmp_path / "parts" / "fit.json").exists()
    first.release()
    second.begin(lambda: identity)
    second.release()
    assert [path.name for path in (tmp_path / "parts").iterdir()] == ["fit.json"]


def test_a_lock_that_a_killed_fit_left_behind_is_no_lock(tmp_path):
    (tmp_path / "fit.lock").write_text("process 1 on moon")
    checkpoint = Checkpoint(tmp_path, NOTHING)
    assert (tmp_path / "fit.lock").read_text().startswith(f"process {os.getpid()} on ")
    checkpoint.release()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="locks as POSIX has them")
def test_where_files_cannot_be_locked_everybody_may(tmp_path, monkeypatch):
    import fcntl

    def refuse(*_):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    checkpoints = [Checkpoint(tmp_path, NOTHING) for _ in range(2)]
    for checkpoint in checkpoints:
        checkpoint.release()


class TestFolderLock:
    def test_no_room_to_say_who_has_it(self, tmp_path, monkeypatch):
        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            lock = FolderLock(tmp_path)
        with pytest.raises(FolderInUseError, match=r"another fit \(in another process\)"):
            FolderLock(tmp_path)
        lock.release()
        FolderLock(tmp_path).release()

    @pytest.mark.skipif(os.name != "posix", reason="elsewhere files in use cannot be removed")
    def test_an_interrupt_at_any_line_of_taking_it_leaves_the_folder_free(self, tmp_path):
        taken = []

        def check():
            # Whoever comes next gets it, and takes away what was left.
            FolderLock(tmp_path).release()
            assert os.listdir(tmp_path) == []

        assert interrupted_at_every_line_of(folder_lock, lambda: taken.append(FolderLock(tmp_path)), check) > 10
        taken[0].release()

    def test_a_file_that_is_always_gone_is_given_up(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os.path, "samestat", lambda *_: False)
        with pytest.raises(FolderInUseError):
            FolderLock(tmp_path)

    @pytest.mark.skipif(os.name != "posix", reason="elsewhere files in use cannot be removed")
    def test_a_fit_that_begins_while_a_checkpoint_is_deleted_keeps_its_folder(self, tmp_path, monkeypatch):
        release, begun = FolderLock.release, []

        def release_and_begin(lock):
            release(lock)
            if not begun:
                begun.append(FolderLock(tmp_path))

        monkeypatch.setattr(FolderLock, "release", release_and_begin)
        delete_checkpoint(tmp_path)
        with pytest.raises(FolderInUseError):
            FolderLock(tmp_path)
        release(begun[0])
