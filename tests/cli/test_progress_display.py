"""Progress: lines and one bar tell what is done, how far it is and how long it takes; it never goes back."""

import io
import re

import pytest

pytest.importorskip("typer", reason="the command line is not installed")
from command_line import QUICK, run
from ssgp.cli.course import FITTING_A_FOREST, ROWS, Course
from ssgp.cli.progress_display import LineDisplay, TerminalDisplay


class TestProgress:
    @pytest.mark.slow
    def test_lines_tell_how_far_and_how_long(self, folder, monkeypatch):
        monkeypatch.setattr("ssgp.cli.output.LineDisplay", lambda stages: LineDisplay(stages, 0.0))
        _, _, err = run("fit", folder / "train.csv", "--target", "height", *QUICK, "--out", folder / "other")
        assert re.search(r"^learning frequencies: step 20 of 20, 40 % done, about \d+ s left$", err, re.MULTILINE)
        assert re.search(r"^choosing and calibrating: tree 2 of 2, ", err, re.MULTILINE)
        _, _, err = run("predict", folder / "m", folder / "new.parquet", "--out", folder / "out.csv")
        assert re.search(r"^predicting rows: row 300 of 300, [\d,]+ a second, 100 % done", err, re.MULTILINE)

    def test_the_bar_shows_the_same(self, monkeypatch):
        monkeypatch.setattr("sys.stderr", screen := io.StringIO())
        monkeypatch.setenv("FORCE_COLOR", "1")
        with TerminalDisplay() as display:
            display("row", 10, 40)
            display("row", 20, 40)
        for text in ("predicting rows", "20 of 40", " 50 %"):
            assert text in screen.getvalue()

    def test_nothing_is_said_of_the_end_where_the_number_of_rows_is_unknown(self):
        standing = Course(ROWS)("row", 10, None)
        assert standing is not None
        assert (standing.share, standing.seconds_left) == (None, None)
        assert "%" not in standing.text


class TestCourse:
    def shares(self, counts):
        course = Course(FITTING_A_FOREST)
        standings = [course(*count) for count in counts]
        return [(standing.label, standing.share) for standing in standings if standing]

    def test_never_goes_back_though_counts_begin_again(self):
        trees = [("tree", done, 8) for done in range(1, 9)]
        told = self.shares([("step", 300, 1500), *trees, *trees, *trees])
        shares = [share for _, share in told if share is not None]
        assert len(shares) == len(told)
        assert shares == sorted(shares)
        assert 0 < shares[0] < shares[1] < shares[-1] < 1

    def test_waiting_for_workers_is_told_and_changes_nothing(self):
        course = Course(ROWS)
        course("row", 10, 40)
        waiting = course("second", 12, 300)
        assert waiting is not None
        assert waiting.text == "waiting for workers: second 12 of 300, 25 % done"
        after = course("row", 20, 40)
        assert after is not None
        assert (after.label, after.share) == ("predicting rows", 0.5)

    def test_says_what_is_done(self):
        labels = [label for label, _ in self.shares([("step", 1, 9), ("tree", 1, 2), ("tree", 2, 2), ("tree", 1, 2)])]
        assert labels == ["learning frequencies", "fitting trees", "choosing and calibrating", "fitting trees again"]

    def test_a_count_that_comes_late_from_a_thread_is_no_new_beginning(self):
        labels = [label for label, _ in self.shares([("tree", 5, 16), ("tree", 7, 16), ("tree", 6, 16)])]
        assert labels == ["fitting trees"] * 3

    def test_rows_of_trees_say_more_than_trees(self):
        told = self.shares([("step", 9, 9), ("fitted row", 10, 40), ("tree", 1, 4), ("fitted row", 40, 40)])
        assert told == [
            ("learning frequencies", 0.4),
            ("fitting trees", pytest.approx(0.49)),
            ("choosing and calibrating", pytest.approx(0.76)),
        ]

    def test_seconds_left_follow_from_the_share(self, monkeypatch):
        now = [0.0]
        monkeypatch.setattr("ssgp.cli.course.time.monotonic", lambda: now[0])
        course = Course(ROWS)
        now[0] = 10.0
        standing = course("row", 25, 100)
        assert standing is not None
        assert standing.seconds_left == pytest.approx(30.0)
