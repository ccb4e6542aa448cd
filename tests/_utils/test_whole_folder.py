"""Folders are there whole or not at all."""

import threading

import pytest

from ssgp._utils.whole_folder import check_new_folder, names_a_folder, whole_folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_gets_its_name_when_it_is_whole(there, tmp_path):
    if there:
        (tmp_path / "out").mkdir()
    with whole_folder(tmp_path / "out") as part:
        (part / "a").write_text("a")
        assert not there or names(tmp_path / "out") == []
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["a"]


def write(folder, work):
    """Write a file to a new folder, and do something before it is whole."""
    with whole_folder(folder) as part:
        (part / "a").write_text("a")
        work(part)


def fail(part):
    raise KeyboardInterrupt


def test_an_error_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "out", fail)
    assert names(tmp_path) == []


def test_a_folder_that_was_filled_meanwhile_is_kept(tmp_path):
    def fill(part):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "b").write_text("b")

    with pytest.raises(OSError, match="not empty"):
        write(tmp_path / "out", fill)
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["b"]


def test_a_folder_to_which_others_still_write_is_gone_in_the_end(tmp_path):
    """They find that it is gone, and stop."""
    written, writers = threading.Event(), []

    def go_on(part):
        for i in range(10**6):
            try:
                (part / str(i)).write_text("")
            except OSError:
                return
            written.set()

    def start(part):
        writers.append(threading.Thread(target=go_on, args=(part,)))
        writers[0].start()
        written.wait()
        fail(part)

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "out", start)
    writers[0].join()
    assert names(tmp_path) == []


def test_places_where_no_new_folder_can_be_are_refused(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").write_text("a")
    check_new_folder(tmp_path / "new")
    with pytest.raises(FileExistsError, match="there is one, which is not empty; choose another name"):
        check_new_folder(tmp_path / "full")
    with pytest.raises(FileExistsError, match="there is a file of that name"):
        check_new_folder(tmp_path / "full" / "a")
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*no' for it to be in"):
        check_new_folder(tmp_path / "no" / "new")
    assert names(tmp_path) == ["full"]


def test_folders_have_no_suffix_or_end_as_folders(tmp_path):
    assert [names_a_folder(name) for name in ("a", "a.parquet", "a.b/", tmp_path, "a/b.csv")] == [
        True,
        False,
        True,
        True,
        False,
    ]
