"""The page: its numbers against counts made here, and what browsers and readers need."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline

from helpers import Page, browse, small_forest, wavy
from ssgp import ExactGPRegressor, TableEncoder
from ssgp.report import write_report
from table_rows import trips

pytestmark = pytest.mark.slow

FIGURES = {
    "accuracy": 2,
    "calibration": 4,
    "importances": 2,
    "effects": 5,
    "uncertainty": 3,
    "target": 1,
    "learning": 1,
}


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


def test_numbers_are_those_of_a_direct_count(model, page):
    table, y = trips(200, seed=1)
    mean = model.predict(table)
    low, high = model[-1].predict_interval(model[0].transform(table), coverage=0.95).T
    share = np.mean((low <= y) & (y <= high))
    assert f"95 % intervals covered {100 * share:.1f} % of 200 rows" in page.text()
    assert f"{100 * share:.1f} % of 200 rows were inside their 95 % interval" in page.text()
    assert f"this model {np.sqrt(np.mean((y - mean) ** 2)):.3g} {np.mean(np.abs(y - mean)):.3g}" in page.text()
    assert f"median width of the 95 % intervals {100 * (1 - np.mean((y - mean) ** 2) / np.var(y)):.1f} %" in (
        page.text()
    )


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
        assert "How well trip is predicted" in page.text()
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
        (None, "whether the model was fitted to these rows: say so with --seen or --unseen"),
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
    assert "ExactGPRegressor keeps no record of learning" in text


def test_is_the_same_for_the_same_model_and_rows(exact, tmp_path):
    X, y, _ = wavy(40, seed=1)
    for name in ("one", "two"):
        write_report(exact, X, y, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_head_names_files_and_the_day(exact, tmp_path):
    X, y, _ = wavy(40, seed=1)
    write_report(exact, X, y, tmp_path / "page", sources={"model": "a.safetensors"}, day=datetime.date(2024, 2, 29))
    text = Page((tmp_path / "page").read_text(encoding="utf-8")).text()
    assert "How well target is predicted" in text
    assert "model: a.safetensors" in text
    assert "written on: 29 February 2024" in text


def test_large_tables_are_sampled_and_the_page_says_so(exact, tmp_path):
    X, y, _ = wavy(90, seed=1)
    write_report(exact, X, y, tmp_path / "report.html", max_rows=40, feature_names=["east", "north"])
    text = Page((tmp_path / "report.html").read_text(encoding="utf-8")).text()
    assert "judged here on 40 of 90 rows, drawn at random" in text
    assert "north" in text


def test_columns_without_a_value_are_no_obstacle(model, tmp_path):
    table, y = trips(40, seed=1)
    with pytest.warns(UserWarning, match="'left' in 40 of 40 .*'line' in 40 of 40") as told:
        write_report(model, table.assign(line=None, left=pd.NaT), y, tmp_path / "report.html")
    assert len(told) == 1
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
    # With one row there is no other to exchange columns with, and no figure of what the deviation depends on.
    assert page.tags["svg"] == sum(FIGURES.values()) - (n_rows == 1)


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


def test_it_is_told_how_much_is_done_until_all_is(exact, tmp_path):
    told = []
    X, y, _ = wavy(40, seed=1)
    write_report(exact, X, y, tmp_path / "report.html", progress=lambda *call: told.append(call))
    done = [count for _, count, _ in told]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, told[0][2])
    assert {(what, total) for what, _, total in told} == {("part", done[-1])}
