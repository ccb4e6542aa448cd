"""Progress: lines and bars tell how far and how fast."""

import io
import re

import pytest

pytest.importorskip("typer", reason="the command line is not installed")
from command_line import QUICK, run
from ssgp.cli.progress_display import LineDisplay, RateMeter, TerminalDisplay


class TestProgress:
    @pytest.mark.slow
    def test_lines_tell_how_far_and_how_fast(self, folder, monkeypatch):
        monkeypatch.setattr("ssgp.cli.output.LineDisplay", lambda: LineDisplay(0.0))
        _, _, err = run("fit", folder / "train.csv", "--target", "height", *QUICK, "--out", folder / "other")
        assert re.search(r"^step 20 of 20, [\d,.]+ a second, at most 0 s left$", err, re.MULTILINE)
        assert re.search(r"^tree 2 of 2, ", err, re.MULTILINE)
        _, _, err = run("predict", folder / "m", folder / "new.parquet", "--out", folder / "out.csv")
        assert re.search(r"^row 300 of 300, [\d,]+ a second", err, re.MULTILINE)

    def test_bars_show_the_same(self, monkeypatch):
        monkeypatch.setattr("sys.stderr", screen := io.StringIO())
        monkeypatch.setenv("FORCE_COLOR", "1")
        with TerminalDisplay() as display:
            display("row", 10, 40)
            display("row", 20, 40)
        assert "20 of 40" in screen.getvalue()

    def test_a_count_that_begins_anew_has_a_pace_of_its_own(self, monkeypatch):
        clock = iter([0.0, 1.0, 10.0, 12.0])
        monkeypatch.setattr("ssgp.cli.progress_display.time.monotonic", lambda: next(clock))
        pace = RateMeter()
        assert [pace("tree", done) for done in (1, 4, 1, 2)] == [None, 3.0, None, 0.5]
