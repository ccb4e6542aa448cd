"""Names that a user chose, as a reader of the figure sees them."""

import io
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline

from plot_rows import mixed_rows
from ssgp import ExactGPRegressor, TableEncoder, plot
from ssgp.plot.style import write_numbers_out


def words_of(figure):
    """The texts of a figure, as a reader of it sees them; those of formulas are in pieces."""
    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(text, format="svg")
    found = ElementTree.fromstring(text.getvalue()).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(element.itertext()) for element in found]


def priced_rows():
    """Rows whose columns and categories have dollar signs in their names."""
    table, y = mixed_rows(60)
    names = {"ash": "$10k-$20k", "oak": "a$b$c", "yew": r"\$yew\$"}
    return table.assign(kind=table["kind"].replace(names)).rename(columns={"size": "price_$_old_$", "kind": "k$^$"}), y


@pytest.fixture(scope="module")
def priced():
    return make_pipeline(TableEncoder(), ExactGPRegressor(random_state=0)).fit(*priced_rows())


class TestNamesWithDollarSigns:
    """Between two of them matplotlib sets a formula, or fails where it is none."""

    target = "cost_$_new ($)"

    @pytest.mark.slow
    @pytest.mark.parametrize("display", [plot.EffectDisplay, plot.UncertaintyDisplay])
    def test_are_shown_as_they_are_by_column(self, priced, display):
        table, _ = priced_rows()
        number, kind = (
            words_of(display.from_estimator(priced, table, name, target=self.target).plot().figure_)
            for name in ("price_$_old_$", "k$^$")
        )
        target = self.target if display is plot.EffectDisplay else "predicted deviation ($)"
        assert {"price_$_old_$", target} <= set(number)
        assert {"k$^$", "$10k-$20k", "a$b$c", r"\$yew\$", target} <= set(kind)

    @pytest.mark.slow
    def test_are_shown_as_they_are_among_importances(self, priced):
        table, y = priced_rows()
        display = plot.ImportanceDisplay.from_estimator(priced, table, y, target="cost ($/$)")
        expected = {"price_$_old_$", "k$^$", "rise of the RMSE when shuffled ($/$)"}
        assert expected <= set(words_of(display.plot().figure_))

    def test_are_shown_as_they_are_beside_observations(self, rng):
        given: Any = {"y": rng.normal(size=30), "mean": rng.normal(size=30)}
        observed = plot.ObservedDisplay.from_predictions(**given, target=self.target).plot()
        intervals = plot.IntervalDisplay.from_predictions(**given, std=np.ones(30), target=self.target).plot()
        assert f"observed {self.target}" in words_of(observed.figure_)
        assert self.target in words_of(intervals.figure_)

    @pytest.mark.parametrize("display", [plot.ErrorByDeviationDisplay, plot.CoverageByDeviationDisplay])
    def test_are_shown_as_they_are_as_units(self, rng, display):
        y, mean = rng.normal(size=(2, 30))
        drawn = display.from_predictions(y, mean, rng.uniform(1, 2, size=30), target="cost ($_a/$_b)").plot()
        assert [word for word in words_of(drawn.figure_) if word.endswith(" ($_a/$_b)")]

    def test_are_shown_as_they_are_in_notes(self):
        assert "rows of $10k-$20k" in words_of(plot.PITDisplay([0.5], "rows of $10k-$20k").plot().figure_)

    def test_leave_formulas_to_those_who_write_them(self, rng):
        display = plot.ObservedDisplay.from_predictions(*rng.normal(size=(2, 30)), target=self.target).plot()
        display.ax_.set_xlabel("$x$")
        assert "$x$" not in words_of(display.figure_)


@pytest.mark.parametrize(
    ("range_of_axis", "written"),
    [((80.0, 4983.0), "2,000"), ((1999.0, 2024.0), "2010"), ((0.0, 90_000.0), "25,000"), ((0.0, 900.0), "200")],
)
def test_thousands_are_set_apart_on_axes_but_not_in_years(range_of_axis, written):
    figure = Figure()
    axes = figure.subplots()
    axes.set(xlim=range_of_axis, ylim=(0.0, 1.0))
    write_numbers_out(axes)
    figure.canvas.draw()
    assert written in {label.get_text() for label in axes.get_xticklabels()}
