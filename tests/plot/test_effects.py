"""Effects of inputs, against loops that move them."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import norm
from sklearn.pipeline import make_pipeline

from plot_rows import mixed_rows
from ssgp import SSGPRegressor, TableEncoder, plot


def averages(model, tables):
    """Mean and quartiles of the predictions of each table, averaged over its rows."""
    out = []
    for table in tables:
        mean, deviation = model.predict(table, return_std=True)
        reach = norm.ppf(0.75) * deviation
        out.append((mean.mean(), (mean - reach).mean(), (mean + reach).mean()))
    return np.array(out).T


class TestEffects:
    def test_of_a_number_is_a_plain_loop(self, data, fitted):
        X = data[0][:100]
        display = plot.EffectDisplay.from_estimator(fitted("ssgp"), X, 1, n_values=7)
        assert set(display.variation.values) <= set(X[:, 1])
        tables = [np.column_stack([X[:, 0], np.full(100, value), X[:, 2]]) for value in display.variation.values]
        expected = averages(fitted("ssgp"), tables)
        np.testing.assert_allclose([display.mean, display.low, display.high], expected)

    def test_of_a_forest_has_the_mixtures_quantiles(self, data, fitted):
        display = plot.EffectDisplay.from_estimator(fitted("forest"), data[0][:50], 0, n_values=3, coverage=0.8)
        moved = data[0][:50].copy()
        moved[:, 0] = display.variation.values[1]
        low, high = fitted("forest").predict_interval(moved, coverage=0.8).mean(axis=0)
        assert (display.low[1], display.high[1]) == (pytest.approx(low), pytest.approx(high))

    @pytest.mark.parametrize("spread", [0.1, 1.0, 100.0])
    def test_a_line_that_moves_takes_a_third_of_its_axis_at_least(self, data, fitted, spread):
        display = plot.EffectDisplay.from_estimator(fitted("ssgp"), data[0][:20], 1, n_values=7)
        moves = np.ptp(display.mean)
        wide = plot.EffectDisplay(display.variation, display.mean, display.mean - spread, display.mean + spread, 0.5)
        low, high = wide.limits
        assert low < display.mean.min() < display.mean.max() < high
        assert moves / (high - low) > min(0.3, 0.3 * moves / spread)

    @pytest.mark.parametrize("kind", ["pandas", "arrow"])
    def test_of_a_category_moves_the_original_column(self, pipeline, kind):
        table, _ = mixed_rows()
        given = table if kind == "pandas" else pa.Table.from_pandas(table)
        display = plot.EffectDisplay.from_estimator(pipeline, given, "kind", max_rows=300)
        assert display.variation.values.tolist() == table["kind"].value_counts().index.tolist()
        expected = averages(pipeline, [table.assign(kind=kind) for kind in display.variation.values])
        np.testing.assert_allclose([display.mean, display.low, display.high], expected)

    def test_of_an_hour_keeps_the_day(self, pipeline):
        table, _ = mixed_rows(100)
        display = plot.EffectDisplay.from_estimator(pipeline, table, "when", part=0)
        moved = [table.assign(when=[t.replace(hour=h, minute=0) for t in table["when"]]) for h in range(24)]
        np.testing.assert_allclose(display.mean, averages(pipeline, moved)[0])

    def test_of_a_weekday_keeps_week_and_hour(self, pipeline):
        table, _ = mixed_rows(100)
        display = plot.EffectDisplay.from_estimator(pipeline, table, "when", part=1)
        when = table["when"]
        moved = [table.assign(when=when + pd.to_timedelta(day - when.dt.day_of_week, unit="D")) for day in range(7)]
        np.testing.assert_allclose(display.mean, averages(pipeline, moved)[0])

    def test_of_a_date_keeps_weekday_and_hour(self, pipeline):
        table, _ = mixed_rows(100)
        display = plot.EffectDisplay.from_estimator(pipeline, table, "when", part=2, n_values=5)
        monday = table["when"].dt.normalize() - pd.to_timedelta(table["when"].dt.day_of_week, unit="D")
        moved = [table.assign(when=table["when"] - monday + start) for start in display.variation.values]
        np.testing.assert_allclose(display.mean, averages(pipeline, moved)[0])
        assert {pd.Timestamp(value).weekday() for value in display.variation.values} == {0}

    @pytest.mark.parametrize("part", [0, 2])
    def test_rows_without_a_time_have_no_tick(self, pipeline, part):
        table, _ = mixed_rows(90)
        table.loc[::3, "when"] = pd.NaT
        drawn = plot.EffectDisplay.from_estimator(pipeline, table, "when", part=part).plot().ax_
        (rug,) = (line for line in drawn.lines if line.get_marker() == "|")
        when = table["when"].dropna()
        present = when if part == 2 else (when - when.dt.normalize()) / pd.Timedelta(hours=1)
        ticks = np.asarray(rug.get_xdata())
        assert 0 < len(ticks) <= 60
        assert set(ticks) <= set(present.to_numpy())

    def test_rows_without_a_time_make_no_week(self, pipeline):
        """The middle of two times far apart is in a week of no row."""
        table, _ = mixed_rows(5)
        when = np.array(["2021-03-01", "2021-03-08", "2021-06-07", "2021-06-14", "NaT"], dtype="M8[us]")
        display = plot.EffectDisplay.from_estimator(pipeline, table.assign(when=when), "when", part=2)
        assert display.variation.values.tolist() == when[:4].tolist()

    @pytest.mark.slow
    def test_of_times_with_a_zone_and_of_text_that_is_time(self):
        table, y = mixed_rows(100)
        zoned = table.assign(when=table["when"].dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin"))
        text = table.assign(when=table["when"].dt.strftime("%Y-%m-%dT%H:%M"))
        kinds: Any
        for rows, kinds in ((zoned, None), (text, {"when": "time"})):
            regressor = SSGPRegressor(n_frequencies=4, max_iter=3, random_state=0)
            model = make_pipeline(TableEncoder(kinds=kinds), regressor).fit(rows, y)
            display = plot.EffectDisplay.from_estimator(model, rows, "when")
            times = rows["when"] if kinds is None else pd.to_datetime(rows["when"])
            moved = [rows.assign(when=[t.replace(hour=h, minute=0) for t in times]) for h in (2, 20)]
            if kinds is not None:
                moved = [part.assign(when=part["when"].dt.strftime("%Y-%m-%dT%H:%M")) for part in moved]
            np.testing.assert_allclose(display.mean[[2, 20]], averages(model, moved)[0], atol=0.02)

    def test_unknown_columns_are_named(self, pipeline):
        with pytest.raises(ValueError, match=r"no column 'colour'; columns are 'size', 'kind', 'when', 'unit'"):
            plot.EffectDisplay.from_estimator(pipeline, mixed_rows(100)[0], "colour")

    def test_parts_of_times_and_empty_columns_are_named(self, pipeline):
        table, _ = mixed_rows(100)
        with pytest.raises(ValueError, match=r"\{0: when: hour of day, 1: when: day of week, 2: when: date\}, got 3"):
            plot.EffectDisplay.from_estimator(pipeline, table, "when", part=3)
        with pytest.raises(ValueError, match="column 'size' has no values in these rows"):
            plot.EffectDisplay.from_estimator(pipeline, table.assign(size=np.nan), "size")
