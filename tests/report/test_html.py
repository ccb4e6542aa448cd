"""Sentences and figures of the page."""

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline

from ssgp import ExactGPRegressor, TableEncoder
from ssgp.report import html, write_report
from ssgp.report.accuracy import Score
from ssgp.report.target import TargetDisplay
from table_rows import trips


def predicted_rows_at(pit) -> Any:
    """Rows, of which it is known no more than where their targets are in their distributions."""
    return SimpleNamespace(y=pit, pit=pit, description=f"{len(pit)} rows")


# Of 138 rows 126 to 136 are within chance, and of 2,130 rows 2,003 to 2,043; 126 / 138 * 138 is less than 126.
@pytest.mark.parametrize(
    ("held", "n_rows", "verdict"),
    [
        (125, 138, "fewer than"),
        (126, 138, "as many as"),
        (136, 138, "as many as"),
        (137, 138, "more than"),
        (2002, 2130, "fewer than"),
        (2003, 2130, "as many as"),
        (2043, 2130, "as many as"),
        (2044, 2130, "more than"),
        (0, 1, "as many as"),
        (1, 1, "as many as"),
    ],
)
def test_coverage_is_compared_with_chance(held, n_rows, verdict):
    sentence = html.coverage_sentence(predicted_rows_at(np.where(np.arange(n_rows) < held, 0.5, 0.999)))
    assert f"{100 * held / n_rows:.1f} % of {n_rows} rows: {verdict} intervals" in sentence


@pytest.mark.slow
def test_right_intervals_are_seldom_said_to_hold_too_few_or_too_many(rng):
    sentences = " ".join(html.coverage_sentence(predicted_rows_at(rng.uniform(size=523))) for _ in range(2000))
    shares = [sentences.count(verdict) / 2000 for verdict in ("fewer than", "as many as", "more than")]
    assert shares == pytest.approx([0.023, 0.956, 0.021], abs=0.01)


@pytest.mark.parametrize(
    ("held", "seen", "advice"),
    [
        (190, False, None),
        (150, False, "fit(..., groups=)"),
        (200, False, "wider than they need to be"),
        (150, None, "rows that it was not fitted to"),
        (200, True, "rows that it was not fitted to"),
    ],
)
def test_says_what_to_do_where_coverage_fails(held, seen, advice):
    sentence = html.coverage_sentence(predicted_rows_at(np.where(np.arange(200) < held, 0.5, 0.999)), seen)
    assert ("What to do" in sentence) == (advice is not None)
    assert (advice or "") in sentence


@pytest.mark.parametrize(("share", "matters"), [(0.936, True), (0.945, False), (0.955, False), (0.964, True)])
def test_a_miss_of_less_than_a_point_of_many_rows_is_no_alarm(share, matters):
    n_rows = 20_000
    sentence = html.coverage_sentence(predicted_rows_at(np.where(np.arange(n_rows) < share * n_rows, 0.5, 0.999)))
    assert ("What to do" in sentence) == matters
    assert ("less than a point" in sentence) != matters
    model = Score("model", rmse=1.0, absolute=1.0, surprise=1.0, crps=1.0, covered=share)
    shown = html.headline(np.arange(float(n_rows)), [model], 1.0, "y")
    assert ('class="poor"' in shown) == (matters and share < 0.95)
    # The error, which nothing is beside, is good too.
    assert shown.count('class="good"') == (1 if matters else 2)


def test_good_figures_are_not_in_the_colour_of_bad_ones():
    y = np.arange(100.0)
    good = Score("model", rmse=1.0, absolute=1.0, surprise=1.0, crps=1.0, covered=0.95)
    poor = Score("model", rmse=9.0, absolute=1.0, surprise=1.0, crps=1.0, covered=0.5)
    mean = Score("mean", rmse=5.0, absolute=1.0, surprise=1.0, crps=1.0, covered=0.95)
    assert html.headline(y, [good, mean], 1.0, "y").count('class="good"') == 2
    assert html.headline(y, [poor, mean], 1.0, "y").count('class="poor"') == 2


def test_errors_in_the_headline_have_the_same_decimals():
    scores = [Score(name, rmse, 1.0, 1.0, 1.0, 0.95) for name, rmse in (("model", 14.64), ("a line (straight)", 15.0))]
    assert "14.6 <small>" in html.headline(np.arange(100.0), scores, 1.0, "y")
    assert "typical error (RMSE); a line 15.0" in html.headline(np.arange(100.0), scores, 1.0, "y")


def test_counts_of_a_fit_have_commas():
    table = html.settings_table({"settings": {}, "training": {"n_rows_": 3482}, "sklearn_version": "1"})
    assert '<th scope="row">n_rows</th><td>3,482</td>' in table


class TestLettersThatMatplotlibHasNot:
    """Its font is not the page's: there the browser writes."""

    @pytest.mark.slow
    def test_are_on_the_page_without_a_warning(self, tmp_path):
        table, y = trips(60)
        rows = table.assign(line=table["line"].replace({"red": "東京"})).rename(columns={"weight <kg>": "重さ"})
        model = make_pipeline(TableEncoder(), ExactGPRegressor(random_state=0)).fit(rows, y)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            write_report(model, rows, y, tmp_path / "report.html", target="所要時間 (分)")
        assert [str(warning.message) for warning in caught] == []
        text = (tmp_path / "report.html").read_text(encoding="utf-8")
        for name in ("東京", "重さ", "所要時間 (分)"):
            assert f">{name}</text>" in text

    def test_are_told_of_in_figures_of_a_users_own(self, tmp_path):
        display = TargetDisplay(np.arange(9.0), target="東")
        html.section("target", "", "", [display])
        figure = Figure()
        display.plot(figure.subplots())
        with pytest.warns(UserWarning, match=r"Glyph 26481 .*missing from"):
            figure.savefig(tmp_path / "own.png")

    def test_silence_no_other_warning(self):
        class Doubtful(TargetDisplay):
            def draw(self, ax):
                warnings.warn("Glyphs are fine, but not this", UserWarning, stacklevel=1)

        with pytest.warns(UserWarning, match="but not this"):
            html.section("target", "", "", [Doubtful([1.0])])
