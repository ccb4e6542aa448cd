"""Figures of several pictures, for every regressor."""

import pytest

from plot_rows import REGRESSORS, mixed_rows
from ssgp import plot


@pytest.mark.slow
@pytest.mark.parametrize("name", REGRESSORS)
def test_every_regressor_has_every_picture(data, fitted, name):
    model, (X, y) = fitted(name), (data[0][:60], data[1][:60])
    displays = [
        plot.PITDisplay.from_estimator(model, X, y),
        plot.IntervalDisplay.from_estimator(model, X, y),
        plot.ObservedDisplay.from_estimator(model, X, y),
        plot.EffectDisplay.from_estimator(model, X, 0, n_values=3),
        plot.ImportanceDisplay.from_estimator(model, X, y),
    ]
    for display in displays:
        axes = display.plot().ax_
        assert axes.get_xlabel()
        assert display.caption.endswith(".")
    assert len(plot.plot_calibration(model, X, y).axes) == 4
    assert len(plot.plot_uncertainty(model, X).axes) == 3


def test_effects_of_the_most_important_inputs_come_first(pipeline):
    table, y = mixed_rows()
    names = plot.ImportanceDisplay.from_estimator(pipeline, table, y).names
    figure = plot.plot_effects(pipeline, table, y=y, max_rows=30)
    labels = [axes.get_xlabel() + axes.get_ylabel() for axes in figure.axes]
    assert len(labels) == 5
    assert names[0] in labels[0]
    assert len(plot.plot_effects(pipeline, table, ["size"], max_rows=30).axes) == 1
