"""``ssgp report``: the page is the one that Python writes."""

import re

import pyarrow.parquet as pq
import pytest

from helpers import Page
from ssgp.report import write_report

pytest.importorskip("typer", reason="the command line is not installed")
from command_line import run
from ssgp.cli.progress_display import LineDisplay

pytestmark = pytest.mark.slow


class TestReport:
    def test_is_the_page_that_python_writes(self, folder, model):
        code, out, err = run("report", folder / "m", folder / "new.parquet", "--unseen", "--out", folder / "page.html")
        assert code == 0
        assert "297 rows, target height" in out
        assert "3 rows left out, where the target 'height' is missing" in err
        new = pq.read_table(folder / "new.parquet").slice(3)
        inputs = [name for name in model.encoder_.feature_names_in_ if name in new.column_names]
        write_report(
            model,
            new.select(inputs),
            new["height"].to_numpy(),
            folder / "other.html",
            target="height",
            seen_in_training=False,
            sources={"model": "m", "rows": "new.parquet"},
        )
        assert (folder / "page.html").read_text(encoding="utf-8") == (folder / "other.html").read_text(encoding="utf-8")

    def test_is_called_as_the_user_says(self, folder):
        path, words = folder / "called.html", ("--title", "Trees of the park", "--label", "height of a tree (m)")
        code, out, err = run("report", folder / "m", folder / "new.csv", *words, "--out", path)
        assert code == 0, err
        assert "target height" in out
        page = Page(path.read_text(encoding="utf-8")).text()
        assert "Trees of the park" in page
        assert "The target, height of a tree (m), has mean" in page

    def test_large_tables_are_sampled_as_they_are_read(self, folder, monkeypatch):
        monkeypatch.setattr("ssgp.cli.report_command.MOST_ROWS", 100)
        monkeypatch.setattr("ssgp.tables.files.TableSource.batches.__defaults__", (None, 64))
        monkeypatch.delattr("ssgp.tables.files.TableSource.read")
        path = folder / "sampled.html"
        code, out, err = run("report", folder / "m", folder / "new.csv", "--out", path)
        assert code == 0, err
        assert "100 of 297 rows, target height" in out
        assert "3 rows left out, where the target 'height' is missing" in err
        assert "100 of 297 rows, drawn at random" in Page(path.read_text(encoding="utf-8")).text()

    def test_text_files_are_read_as_they_are_said_to_be(self, folder):
        frame = pq.read_table(folder / "new.parquet").to_pandas()
        frame.to_csv(folder / "point.csv", index=False, na_rep="nothing")
        frame.to_csv(folder / "comma.csv", index=False, sep=";", decimal=",", na_rep="nothing")
        pages = []
        for name, options in (("point.csv", []), ("comma.csv", ["--sep", ";", "--decimal", ","])):
            path = folder / f"{name}.html"
            code, _, err = run("report", folder / "m", folder / name, "--na", "nothing", *options, "--out", path)
            assert code == 0, err
            pages.append(path.read_text(encoding="utf-8").replace(name, ""))
        assert pages[0] == pages[1]

    def test_lines_tell_how_far_it_is(self, folder, monkeypatch):
        monkeypatch.setattr("ssgp.cli.output.LineDisplay", lambda stages: LineDisplay(stages, 0.0))
        _, _, err = run("report", folder / "m", folder / "new.csv", "--out", folder / "told.html")
        assert "writing the report: part 0 of 20, 0 % done" in err
        assert re.search(r"^writing the report: part 20 of 20, 100 % done", err, re.MULTILINE)

    def test_quiet_says_nothing(self, folder, monkeypatch):
        monkeypatch.setattr("ssgp.cli.report_command.write_report", lambda *_, **__: None)
        assert run("report", folder / "m", folder / "new.csv", "--out", folder / "r.html", "--quiet") == (0, "", "")

    def test_a_place_that_cannot_be_written_to_is_refused_first(self, folder):
        code, _, err = run("report", folder / "m", folder / "new.parquet", "--out", folder / "nowhere" / "page.html")
        assert code == 1
        assert "there is no such folder" in err
