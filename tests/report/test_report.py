"""The report: its numbers against counts made here, its page against what browsers and readers need."""

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from helpers import Page, browse, small_forest, wavy
from ssgp import ExactGPRegressor, TableEncoder
from ssgp.report import accuracy, html, write_report
from ssgp.report.target import TargetDisplay
from ssgp.report.web_page import inline_svg

FIGURES = {
    "accuracy": 2,
    "calibration": 4,
    "importances": 1,
    "effects": 5,
    "uncertainty": 3,
    "target": 1,
    "learning": 1,
}


def trips(n=500, seed=0):
    """A table of every kind of column, one with a name that HTML would take for a tag."""
    rng = np.random.default_rng(seed)
    hour, line = rng.integers(0, 24, n), rng.choice(["red", "blue", "<b>green"], n)
    table = pd.DataFrame(
        {
            "left": pd.Timestamp("2020-01-06") + pd.to_timedelta(24 * rng.integers(0, 300, n) + hour, unit="h"),
            "line": line,
            "weight <kg>": rng.normal(70.0, 10.0, n),
            "ticket": [f"t{i}" for i in range(n)],
        }
    )
    y = 20.0 + 5.0 * (line == "red") + 0.2 * hour + rng.normal(size=n)
    return table, pd.Series(y, name="trip (minutes)")


@pytest.fixture(scope="module")
def model():
    return make_pipeline(TableEncoder(), small_forest()).fit(*trips())


@pytest.fixture(scope="module")
def written(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(model, *trips(200, seed=1), path, seen_in_training=False)
    return path


@pytest.fixture(scope="module")
def page(written):
    return Page(written.read_text(encoding="utf-8"))


def judged_at(pit) -> Any:
    """Rows, of which it is known no more than where their targets are in their distributions."""
    return SimpleNamespace(y=pit, pit=pit, description=f"{len(pit)} rows")


class TestNumbers:
    def test_are_those_of_a_direct_count(self, model, page):
        table, y = trips(200, seed=1)
        mean = model.predict(table)
        low, high = model[-1].predict_interval(model[0].transform(table), coverage=0.95).T
        share = np.mean((low <= y) & (y <= high))
        assert f"95 % intervals held {100 * share:.1f} % of 200 rows" in page.text()
        assert f"{100 * share:.1f} % of 200 rows were inside their 95 % interval" in page.text()
        assert f"this model {np.sqrt(np.mean((y - mean) ** 2)):.2f} {np.mean(np.abs(y - mean)):.2f}" in page.text()
        assert f"median width of the 95 % intervals {100 * (1 - np.mean((y - mean) ** 2) / np.var(y)):.1f} %" in (
            page.text()
        )

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
    def test_coverage_is_compared_with_chance(self, held, n_rows, verdict):
        sentence = html.coverage_sentence(judged_at(np.where(np.arange(n_rows) < held, 0.5, 0.999)))
        assert f"{100 * held / n_rows:.1f} % of {n_rows} rows: {verdict} intervals" in sentence

    def test_right_intervals_are_seldom_said_to_hold_too_few_or_too_many(self, rng):
        said = " ".join(html.coverage_sentence(judged_at(rng.uniform(size=523))) for _ in range(2000))
        shares = [said.count(verdict) / 2000 for verdict in ("fewer than", "as many as", "more than")]
        assert shares == pytest.approx([0.023, 0.956, 0.021], abs=0.01)

    def test_baselines_agree_with_scikit_learns(self, rng):
        X = rng.normal(size=(400, 3))
        y = X @ [1.0, -2.0, 0.0] + 3.0 + 0.5 * rng.normal(size=400)
        mean, line = accuracy.baseline_scores(X, y, random_state=0)
        theirs = cross_val_predict(LinearRegression(), X, y, cv=KFold(5, shuffle=True, random_state=0))
        assert mean.rmse == pytest.approx(y.std(), rel=0.02)
        assert line.rmse == pytest.approx(np.sqrt(np.mean((y - theirs) ** 2)), rel=0.02)
        assert line.surprise == pytest.approx(np.log(0.5) + 0.5 * np.log(2 * np.pi) + 0.5, abs=0.1)
        assert line.covered == pytest.approx(0.95, abs=0.04)

    def test_no_line_is_drawn_through_too_few_rows(self, rng):
        X, y = rng.normal(size=(20, 30)), rng.normal(size=20)
        assert [score.name for score in accuracy.baseline_scores(X, y, 0)] == ["the mean alone"]
        assert accuracy.baseline_scores(X[:5], y[:5], 0) == []

    def test_columns_that_are_all_the_same_do_no_harm_to_the_line(self, rng):
        X = np.column_stack([np.ones(50), np.arange(50.0), np.arange(50.0)])
        _, line = accuracy.baseline_scores(X, 2 * np.arange(50.0), 0)
        assert line.rmse < 1e-9


class TestPage:
    def test_has_every_figure_in_its_section(self, page):
        expected = {f"{name}-{i + 1}" for name, count in FIGURES.items() for i in range(count)}
        assert expected <= set(page.ids)
        assert page.tags["figure"] == page.tags["svg"] == sum(FIGURES.values())

    def test_is_one_file_that_asks_for_nothing(self, page, written):
        assert max(page.ids.values()) == 1
        assert all(address.startswith("#") or address == "data:," for address in page.addresses)
        assert {address[1:] for address in page.addresses if address.startswith("#")} <= set(page.ids)
        assert page.tags["script"] == page.tags["img"] == page.tags["iframe"] == 0
        assert "@import" not in written.read_text(encoding="utf-8")

    def test_can_be_read_out(self, written, page):
        text = written.read_text(encoding="utf-8")
        assert text.count('<svg role="img" aria-label="') == page.tags["svg"]
        assert text.count('<th scope="col"') + text.count('<th scope="row"') == page.tags["th"]
        assert '<html lang="en">' in text
        assert page.tags["h1"] == 1

    def test_tells_what_became_of_every_column(self, page):
        for words in (
            "left 2020-01-",
            "3 categories, one feature each",
            "ticket 200 different values dropped: an identifier",
            "weight <kg>",
            "<b>green",
        ):
            assert words in page.text()

    def test_takes_the_targets_name_and_unit_from_it(self, page):
        assert "SpectralForestRegressor: trip" in page.text()
        assert "The target, trip (minutes), has mean" in page.text()

    def test_has_settings_and_versions(self, page):
        assert "max_iter 60" in page.text()
        assert "n_trees 3" in page.text()
        assert f"numpy {np.__version__}" in page.text()

    def test_opens_in_a_browser_without_a_message(self, written, tmp_path):
        shown = browse(written, tmp_path)
        assert Page(shown.stdout).tags["svg"] == sum(FIGURES.values())
        assert "CONSOLE" not in shown.stderr


@pytest.fixture(scope="module")
def exact():
    X, y, _ = wavy(80)
    return ExactGPRegressor(random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (None, "Nobody has said whether the model was fitted to these rows"),
        (True, "The model was fitted to these very rows"),
        (False, "The model has not seen these rows"),
    ],
)
def test_says_what_the_numbers_mean(exact, tmp_path, seen, words):
    X, y, _ = wavy(40, seed=1)
    write_report(exact, X, y, tmp_path / "report.html", title="Waves & more", seen_in_training=seen)
    text = Page((tmp_path / "report.html").read_text(encoding="utf-8")).text()
    assert words in text
    assert "Waves & more" in text
    assert "ExactGPRegressor keeps no trace of learning" in text


def test_is_the_same_for_the_same_model_and_rows(exact, tmp_path):
    X, y, _ = wavy(40, seed=1)
    for name in ("one", "two"):
        write_report(exact, X, y, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_large_tables_are_sampled_and_the_page_says_so(exact, tmp_path):
    X, y, _ = wavy(90, seed=1)
    write_report(exact, X, y, tmp_path / "report.html", max_rows=40, feature_names=["east", "north"])
    text = Page((tmp_path / "report.html").read_text(encoding="utf-8")).text()
    assert "judged here on 40 of 90 rows, drawn at random" in text
    assert "north" in text


def test_columns_without_a_value_are_no_obstacle(model, tmp_path):
    table, y = trips(40, seed=1)
    write_report(model, table.assign(line=None, left=pd.NaT), y, tmp_path / "report.html")
    assert "no values" in Page((tmp_path / "report.html").read_text(encoding="utf-8")).text()


def test_names_with_dollar_signs_are_shown_as_they_are(tmp_path):
    table, y = trips(60)
    priced = table.drop(columns="ticket").rename(columns={"weight <kg>": "price_$_old_$"})
    rows = priced.assign(line=priced["line"].replace({"red": "$10k-$20k"}))
    model = make_pipeline(TableEncoder(), ExactGPRegressor(random_state=0)).fit(rows, y)
    write_report(model, rows, y, tmp_path / "report.html", target="cost_$_new ($)")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    for name in ("price_$_old_$", "$10k-$20k", "cost_$_new ($)"):
        assert f">{name}</text>" in text


class TestLettersThatMatplotlibHasNot:
    """Its font is not the page's: there the browser writes."""

    def test_are_on_the_page_without_a_warning(self, tmp_path):
        table, y = trips(60)
        rows = table.assign(line=table["line"].replace({"red": "東京"})).rename(columns={"weight <kg>": "重さ"})
        model = make_pipeline(TableEncoder(), ExactGPRegressor(random_state=0)).fit(rows, y)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", UserWarning)
            write_report(model, rows, y, tmp_path / "report.html", target="所要時間 (分)")
        assert [str(warning.message) for warning in told] == []
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


def test_columns_of_empty_text_and_of_nan_are_no_obstacle_either(tmp_path):
    table, y = trips(200)
    note = pa.array(["late", "late", "full"] + 197 * [""])
    rows = pa.table({"note": note, "weight": table["weight <kg>"], "tip": np.where(np.arange(200) < 3, 1.0, np.nan)})
    model = make_pipeline(TableEncoder(kinds={"note": "category"}), ExactGPRegressor(random_state=0)).fit(rows, y)
    write_report(model, rows.slice(3), y[3:], tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.text().count("no values") == 2
    assert "effects-1" in page.ids
    assert "effects-2" not in page.ids


@pytest.mark.parametrize("n_rows", [1, 3])
def test_few_rows_are_enough(model, tmp_path, n_rows):
    write_report(model, *trips(n_rows, seed=1), tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.tags["svg"] == sum(FIGURES.values())


def test_a_place_where_no_file_can_be_is_refused_at_once(exact, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cannot save the report to '.*nowhere.*': there is no such folder"):
        write_report(exact, "unseen", "unseen", tmp_path / "nowhere" / "report.html")


def test_where_it_fails_the_old_page_stays(exact, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(ValueError, match="y has 1 values that are not finite"):
        write_report(exact, np.zeros((3, 2)), [1.0, 2.0, np.nan], path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_identifiers_of_a_figure_become_its_own():
    svg = '<?xml?><svg><path id="a"/><use xlink:href="#a"/><g clip-path="url(#a)"/></svg>'
    assert inline_svg(svg, "one", "A <figure>") == (
        '<svg role="img" aria-label="A &lt;figure&gt;"><path id="one-a"/><use xlink:href="#one-a"/>'
        '<g clip-path="url(#one-a)"/></svg>'
    )


def test_names_that_look_like_identifiers_stay():
    svg = '<svg><path id="a"/><!-- the id="b" --><text>the id="b" of url(#c)</text></svg>'
    assert inline_svg(svg, "one").endswith('<text>the id="b" of url(#c)</text></svg>')
