"""Files that a path stands for: folders, globs and the standard input."""

import io
import sys

from ssgp.tables.files import open_table
from stored_tables import TABLE, strings, write


def test_a_folder_and_a_glob_are_their_files_in_order_of_name(tmp_path):
    write(tmp_path / "b.csv", TABLE.slice(60))
    write(tmp_path / "a.csv", TABLE.slice(0, 60))
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "notes.md").write_text("not a table")
    for name in (tmp_path, tmp_path / "*.csv", f"file://{tmp_path}"):
        assert strings(open_table(name)).read().equals(TABLE)


def test_standard_input(monkeypatch, tmp_path):
    text = write(tmp_path / "table.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    source = strings(open_table("-"))
    assert source.read().equals(TABLE)
    assert source.read().equals(TABLE)
