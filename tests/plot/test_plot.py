"""Figures: what is drawn, against counts and loops made here."""

import io
import math
import subprocess
import sys
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import binom, norm
from sklearn.inspection import permutation_importance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import quick, small_forest, wavy
from ssgp import (
    DTCRegressor,
    ExactGPRegressor,
    PICRegressor,
    SSGPRegressor,
    TableEncoder,
    VSSGPRegressor,
    plot,
)
from ssgp.plot.calibration import DeviationGroups
from ssgp.plot.variation import Variation

mpl.use("agg")
import matplotlib.pyplot as plt

REGRESSORS = {
    "forest": small_forest(),
    "svbssgp": quick(max_iter=30),
    "ssgp": SSGPRegressor(n_frequencies=5, max_iter=5, random_state=0),
    "vssgp": VSSGPRegressor(n_frequencies=5, max_iter=5, random_state=0),
    "dtc": DTCRegressor(n_inducing=8, max_iter=5, random_state=0),
    "pic": PICRegressor(n_inducing=8, n_blocks=4, max_iter=5, random_state=0),
    "exact": ExactGPRegressor(random_state=0),
}


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    X, y, _ = wavy(400, d=3)
    return X, y


@pytest.fixture(scope="module")
def fitted(data):
    """Each regressor, fitted when it is first asked for."""
    known = {}

    def get(name):
        if name not in known:
            known[name] = REGRESSORS[name].fit(*data)
        return known[name]

    return get


def mixed_rows(n=300, seed=0):
    """A table of a number, a category, a time and a constant, with missing values, and a target of them all."""
    rng = np.random.default_rng(seed)
    size, kind = rng.normal(size=n), rng.choice(["ash", "oak", "yew"], n, p=[0.5, 0.3, 0.2])
    minutes = rng.integers(0, 60 * 24 * 200, n)
    when = pd.Timestamp("2021-03-01") + pd.to_timedelta(minutes, unit="min")
    y = size + 2.0 * (kind == "oak") + np.sin(2 * np.pi * minutes / 1440) + 0.1 * rng.normal(size=n)
    size[::17] = np.nan
    return pd.DataFrame({"size": size, "kind": kind, "when": when, "unit": "m"}), y


@pytest.fixture(scope="module")
def pipeline():
    table, y = mixed_rows()
    return make_pipeline(TableEncoder(), SSGPRegressor(n_frequencies=8, max_iter=10, random_state=0)).fit(table, y)


def central_counts(n, share):
    """The smallest and largest count such that either tail beyond it has at most a fortieth, from binomial sums."""
    chances = [math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)]
    low = min(k for k in range(n + 1) if sum(chances[: k + 1]) >= 0.025)
    high = max(k for k in range(n + 1) if sum(chances[k:]) > 0.025)
    return low, high


def within(shares, band):
    return (band[0] <= shares) & (shares <= band[1])


class TestCalibration:
    def test_pit_of_a_normal_model_is_scipys(self, data, fitted):
        mean, deviation = fitted("ssgp").predict(data[0], return_std=True)
        display = plot.PITDisplay.from_estimator(fitted("ssgp"), *data)
        np.testing.assert_allclose(display.pit, norm.cdf(data[1], mean, deviation), atol=1e-12)
        given = plot.PITDisplay.from_predictions(data[1], mean, deviation)
        np.testing.assert_allclose(given.pit, display.pit, atol=1e-12)

    def test_pit_of_a_forest_is_that_of_its_mixture(self, data, fitted):
        display = plot.PITDisplay.from_estimator(fitted("forest"), *data)
        np.testing.assert_array_equal(display.pit, fitted("forest").cdf(*data))

    def test_bars_are_shares_of_rows(self, rng):
        pit = rng.uniform(size=500)
        shares = plot.PITDisplay(pit).shares()
        assert shares.tolist() == [np.mean((pit >= i / 20) & (pit < (i + 1) / 20)) for i in range(20)]

    def test_the_band_is_where_counts_are_95_times_in_a_hundred(self):
        low, high = (round(500 * end) for end in plot.PITDisplay(np.full(500, 0.5)).band())
        assert binom.cdf(high, 500, 1 / 20) - binom.cdf(low - 1, 500, 1 / 20) >= 0.95
        assert binom.cdf(high - 1, 500, 1 / 20) < 0.975 <= binom.cdf(high, 500, 1 / 20)

    @pytest.mark.parametrize("n_rows", [1, 7, 40, 333])
    def test_bands_of_coverage_end_where_a_fortieth_is_left(self, n_rows):
        display = plot.CoverageDisplay(np.full(n_rows, 0.5))
        for level, low, high in zip(display.levels, *display.band(), strict=True):
            assert (n_rows * low, n_rows * high) == pytest.approx(central_counts(n_rows, level))

    @pytest.mark.parametrize("level", [0.5, 0.95])
    def test_bands_of_groups_are_those_of_their_own_sizes(self, level):
        sizes = np.array([3, 25, 26, 120])
        groups = DeviationGroups(sizes, np.ones(4), np.ones(4), np.ones(4))
        low, high = plot.CoverageByDeviationDisplay(groups, level).band()
        expected = np.array([central_counts(int(size), level) for size in sizes])
        np.testing.assert_allclose(np.column_stack([sizes * low, sizes * high]), expected)

    def test_right_predictions_are_in_the_bands_95_times_in_a_hundred(self, rng):
        """Somewhat more often, as counts are whole."""
        inside, grouped = [], []
        for y, mean in zip(*rng.normal(size=(2, 1000, 400)), strict=True):
            std = rng.uniform(0.5, 2.0, size=400)
            given = mean + std * y, mean, std
            display = plot.CoverageDisplay.from_predictions(*given)
            inside.append(within(display.observed(), display.band()))
            by_deviation = plot.CoverageByDeviationDisplay.from_predictions(*given, n_groups=4, level=0.8)
            grouped.append(within(by_deviation.groups.covered, by_deviation.band()))
        for share in (*np.mean(inside, axis=0), *np.mean(grouped, axis=0)):
            assert 0.93 < share < 0.985

    def test_wrong_predictions_are_outside_the_bands(self, rng):
        y = rng.normal(size=2000)
        for factor in (0.8, 1.25):
            given = y, np.zeros(2000), np.full(2000, factor)
            display = plot.CoverageDisplay.from_predictions(*given)
            assert not within(display.observed(), display.band())[2:].any()
            by_deviation = plot.CoverageByDeviationDisplay.from_predictions(*given, n_groups=2)
            assert not within(by_deviation.groups.covered, by_deviation.band()).any()

    @pytest.mark.parametrize("name", ["forest", "ssgp"])
    def test_coverage_is_a_count_of_intervals(self, data, fitted, name):
        display = plot.CoverageDisplay.from_estimator(fitted(name), *data)
        for level, observed in zip(display.levels, display.observed(), strict=True):
            low, high = fitted(name).predict_interval(data[0], coverage=level).T
            assert observed == pytest.approx(np.mean((low <= data[1]) & (data[1] <= high)), abs=1e-9)

    def test_groups_by_deviation_are_a_plain_group_by(self, rng):
        y, mean, deviation = rng.normal(size=(3, 103))
        deviation = np.abs(deviation) + 0.1
        groups = plot.ErrorByDeviationDisplay.from_predictions(y, mean, deviation, n_groups=4, level=0.8).groups
        order = sorted(range(103), key=lambda i: deviation[i])
        parts = [order[:26], order[26:52], order[52:78], order[78:]]
        assert groups.size.tolist() == [26, 26, 26, 25]
        half_width = norm.ppf(0.9)
        for i, part in enumerate(parts):
            errors, own = y[part] - mean[part], deviation[part]
            assert groups.error[i] == pytest.approx(np.sqrt(np.mean(errors**2)))
            assert groups.deviation[i] == pytest.approx(np.sqrt(np.mean(own**2)))
            assert groups.covered[i] == pytest.approx(np.mean(np.abs(errors) <= half_width * own))

    def test_both_pictures_by_deviation_have_the_same_groups(self, data, fitted):
        error = plot.ErrorByDeviationDisplay.from_estimator(fitted("forest"), *data)
        cover = plot.CoverageByDeviationDisplay.from_estimator(fitted("forest"), *data)
        np.testing.assert_array_equal(error.groups.covered, cover.groups.covered)
        assert cover.groups.size.sum() == len(data[1])


class TestObservations:
    @pytest.mark.parametrize("name", ["forest", "svbssgp"])
    def test_intervals_are_the_models_and_in_order(self, data, fitted, name):
        X, y = data[0][:30], data[1][:30]
        display = plot.IntervalDisplay.from_estimator(fitted(name), X, y)
        mean, deviation = fitted(name).predict(X, return_std=True)
        order = np.argsort(mean)
        ends = norm.ppf([0.025, 0.25, 0.75, 0.975]) * deviation[:, None] + mean[:, None]
        if name == "forest":
            ends = fitted(name).predict_quantiles(X, [0.025, 0.25, 0.75, 0.975])
        np.testing.assert_allclose(display.quantiles, ends[order])
        np.testing.assert_array_equal(display.y, y[order])
        assert display.held() == sum(low <= seen <= high for (low, _, _, high), seen in zip(ends, y, strict=True))

    def test_rows_outside_the_picture_are_counted(self):
        y = np.append(np.linspace(0, 1, 999), 1e6)
        display = plot.ObservedDisplay.from_predictions(y, np.zeros(1000), target="height (m)")
        assert display.outside() == 1
        assert display.caption.endswith("1,000 rows. Outside the picture: 1.")

    @pytest.mark.parametrize("n_rows", [100, 1500])
    def test_few_rows_are_points_and_many_a_density(self, rng, n_rows):
        y, mean = rng.normal(size=(2, n_rows))
        axes = plot.ObservedDisplay.from_predictions(y, mean).plot().ax_
        assert bool(axes.collections) == (n_rows > 1000)


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
        known = when if part == 2 else (when - when.dt.normalize()) / pd.Timedelta(hours=1)
        ticks = np.asarray(rug.get_xdata())
        assert 0 < len(ticks) <= 60
        assert set(ticks) <= set(known.to_numpy())

    def test_rows_without_a_time_make_no_week(self, pipeline):
        """The middle of two times far apart is in a week of no row."""
        table, _ = mixed_rows(5)
        when = np.array(["2021-03-01", "2021-03-08", "2021-06-07", "2021-06-14", "NaT"], dtype="M8[us]")
        display = plot.EffectDisplay.from_estimator(pipeline, table.assign(when=when), "when", part=2)
        assert display.variation.values.tolist() == when[:4].tolist()

    def test_of_times_with_a_zone_and_of_text_that_is_time(self):
        table, y = mixed_rows(100)
        zoned = table.assign(when=table["when"].dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin"))
        text = table.assign(when=table["when"].dt.strftime("%Y-%m-%dT%H:%M"))
        kinds: Any
        for rows, kinds in ((zoned, None), (text, {"when": "time"})):
            regressor = SSGPRegressor(n_frequencies=4, max_iter=3, random_state=0)
            model = make_pipeline(TableEncoder(kinds=kinds), regressor).fit(rows, y)
            display = plot.EffectDisplay.from_estimator(model, rows, "when")
            own = rows["when"] if kinds is None else pd.to_datetime(rows["when"])
            moved = [rows.assign(when=[t.replace(hour=h, minute=0) for t in own]) for h in (2, 20)]
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


def with_column(table, name, column):
    """An Arrow table, with another column in the place of one."""
    whole = pa.Table.from_pandas(table, preserve_index=False)
    return whole.set_column(whole.column_names.index(name), name, column)


class TestColumnsWithoutAValue:
    """Nulls, NaN and empty text are all missing to the encoder, and are all missing here."""

    @pytest.mark.parametrize(
        ("name", "missing"),
        [
            pytest.param("size", pa.array([np.nan] * 60), id="nan"),
            pytest.param("size", pa.nulls(60, pa.float64()), id="null numbers"),
            pytest.param("kind", pa.array([""] * 60), id="empty text"),
            pytest.param("kind", pa.array([""] * 60).dictionary_encode(), id="empty category"),
            pytest.param("kind", pa.nulls(60), id="nulls"),
            pytest.param("when", pa.nulls(60, pa.timestamp("us")), id="null times"),
            pytest.param("when", pa.nulls(60, pa.float64()), id="nulls of another type"),
        ],
    )
    def test_have_no_picture(self, pipeline, name, missing):
        rows = with_column(mixed_rows(60)[0], name, missing)
        labels = " ".join(
            axes.get_xlabel() + axes.get_ylabel()
            for figure in (plot.plot_effects(pipeline, rows), plot.plot_uncertainty(pipeline, rows, n_shown=9))
            for axes in figure.axes
        )
        assert name not in labels
        for display in (plot.EffectDisplay, plot.UncertaintyDisplay):
            with pytest.raises(ValueError, match=f"column '{name}' has no values in these rows"):
                display.from_estimator(pipeline, rows, name)

    def test_of_text_that_is_time_have_none_either(self):
        table, y = mixed_rows(100)
        text = table.assign(when=table["when"].dt.strftime("%Y-%m-%dT%H:%M"))
        regressor = SSGPRegressor(n_frequencies=4, max_iter=3, random_state=0)
        model = make_pipeline(TableEncoder(kinds={"when": "time"}), regressor).fit(text, y)
        with pytest.raises(ValueError, match="column 'when' has no values in these rows"):
            plot.EffectDisplay.from_estimator(model, text.assign(when=""), "when")

    def test_alone_are_an_error_that_says_so(self, pipeline):
        table, _ = mixed_rows(60)
        with pytest.raises(ValueError, match="nothing to draw: no column has a value in these 60 rows"):
            plot.plot_effects(pipeline, table.assign(size=np.nan), ["size"])


class TestImportances:
    def test_agree_with_scikit_learns(self, data, fitted):
        display = plot.ImportanceDisplay.from_estimator(fitted("ssgp"), *data, n_repeats=20)
        theirs: Any = permutation_importance(
            fitted("ssgp"), *data, scoring="neg_root_mean_squared_error", n_repeats=20, random_state=1
        )
        ours = [display.importances[display.names.index(f"x{i}")] for i in range(3)]
        np.testing.assert_allclose(ours, theirs["importances_mean"], rtol=0.1, atol=0.02)

    def test_are_of_the_original_columns_that_are_used(self, pipeline):
        table, y = mixed_rows()
        display = plot.ImportanceDisplay.from_estimator(pipeline, table, y)
        assert sorted(display.names) == ["kind", "size", "when"]
        assert display.importances[0] == display.importances.max() > 0.1

    @pytest.mark.parametrize("rises", [[-0.2, -0.5], [0.0, -0.5], [0.3, -0.1], [0.3, 0.1], [0.0, 0.0]])
    def test_are_inside_their_axis(self, rises):
        axes = plot.ImportanceDisplay(["a", "b"], rises).plot().ax_
        left, right = axes.get_xlim()
        assert left <= min(0.0, *rises)
        assert max(0.0, *rises) < right


class TestUncertainty:
    def test_means_by_category_are_a_plain_loop(self, pipeline):
        table, _ = mixed_rows()
        display = plot.UncertaintyDisplay.from_estimator(pipeline, table, "kind")
        _, deviation = pipeline.predict(table, return_std=True)
        expected = [deviation[table["kind"] == kind].mean() for kind in display.variation.values]
        np.testing.assert_allclose(display.means, expected)

    def test_means_by_bin_are_a_plain_loop(self, data, fitted):
        display = plot.UncertaintyDisplay.from_estimator(fitted("forest"), data[0], 0, n_bins=4)
        _, deviation = fitted("forest").predict(data[0], return_std=True)
        x, edges = data[0][:, 0], display.edges
        groups = [deviation[(x >= a) & (x < b)] for a, b in pairwise(edges)]
        groups[-1] = deviation[x >= edges[-2]]
        np.testing.assert_allclose(display.means, [group.mean() for group in groups])
        assert display.sizes.sum() == 400
        assert display.sizes.min() > 90

    def test_few_values_have_a_bin_each_and_missing_ones_none(self):
        table = pd.DataFrame({"n": [1.0, 2.0, 4.0, np.nan] * 30, "z": np.linspace(0, 1, 120)})
        model = make_pipeline(TableEncoder(), SSGPRegressor(n_frequencies=3, max_iter=3)).fit(table, table["z"])
        display = plot.UncertaintyDisplay.from_estimator(model, table, "n")
        assert display.sizes.tolist() == [30, 30, 30]
        assert display.edges.tolist() == [0.5, 1.5, 3.0, 5.0]

    @pytest.mark.parametrize("part", [0, 1, 2])
    def test_rows_without_a_time_have_no_bin(self, pipeline, part):
        table, _ = mixed_rows(100)
        table.loc[::3, "when"] = pd.NaT
        whole, known = (
            plot.UncertaintyDisplay.from_estimator(pipeline, rows, "when", part=part)
            for rows in (table, table[table["when"].notna()])
        )
        assert whole.sizes.tolist() == known.sizes.tolist()
        assert whole.edges.tolist() == known.edges.tolist()
        np.testing.assert_allclose(whole.means, known.means)

    def test_an_input_that_few_rows_have_tells_little(self):
        deviation, own = np.array([2.0] + [1.0] * 4 + [0.0] * 5), np.array([7.0] + [np.nan] * 9)
        variation = Variation("n", "n", "number", np.array([7.0]), own, pa.nulls)
        display = plot.UncertaintyDisplay(variation, deviation)
        assert display.sizes.tolist() == [1]
        assert display.explained() == pytest.approx((2.0 - 0.6) ** 2 / 10 / np.var(deviation))

    def test_inputs_that_tell_most_come_first(self, data, fitted):
        figure = plot.plot_uncertainty(fitted("forest"), data[0], feature_names=["a", "b", "c"])
        _, deviation = fitted("forest").predict(data[0], return_std=True)
        displays = [plot.UncertaintyDisplay.from_estimator(fitted("forest"), data[0], i) for i in range(3)]
        shares = []
        for display in displays:
            bins = np.clip(np.searchsorted(display.edges, display.variation.where_rows_are, "right") - 1, 0, 9)
            between = deviation.var() - np.mean([(deviation[i] - display.means[b]) ** 2 for i, b in enumerate(bins)])
            shares.append(between / deviation.var())
            assert display.explained() == pytest.approx(shares[-1])
        expected = [name for _, name in sorted(zip(shares, "abc", strict=True), reverse=True)]
        assert [axes.get_xlabel() for axes in figure.axes] == expected


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


class TestBound:
    def test_is_in_nats_a_row_and_smoothed_by_a_running_mean(self, fitted):
        model = fitted("forest")
        display = plot.BoundDisplay.from_estimator(model)
        np.testing.assert_array_equal(display.bounds, model.bound_trace_)
        window = len(display.bounds) // 20
        expected = [display.bounds[max(i - window + 1, 0) : i + 1].mean() for i in range(len(display.bounds))]
        np.testing.assert_allclose(display.smooth(), expected)

    def test_steps_that_were_skipped_are_left_out(self):
        display = plot.BoundDisplay([-np.inf, 1.0, 3.0]).plot()
        np.testing.assert_array_equal(display.smooth(), [np.nan, 1.0, 3.0])
        assert display.ax_.get_ylim() == pytest.approx((0.9, 3.1))

    def test_where_there_is_none_the_message_says_so(self, fitted):
        with pytest.raises(ValueError, match="ExactGPRegressor has no trace of a bound"):
            plot.BoundDisplay.from_estimator(fitted("exact"))


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


class TestFace:
    def test_draws_where_it_is_told_and_leaves_the_users_settings_alone(self, data, fitted):
        before = dict(mpl.rcParams)
        figure, axes = plt.subplots()
        display = plot.PITDisplay.from_estimator(fitted("ssgp"), *data)
        assert display.plot(axes) is display
        assert display.ax_ is axes
        assert display.figure_ is figure
        assert display.plot().ax_ is not axes
        assert dict(mpl.rcParams) == before

    def test_rows_drawn_from_large_tables_are_said_and_seeded(self, data, fitted):
        draws = [
            plot.PITDisplay.from_estimator(fitted("ssgp"), *data, max_rows=50, random_state=seed) for seed in (0, 0, 1)
        ]
        assert draws[0].plot().ax_.get_title(loc="right") == "50 of 400 rows, drawn at random"
        assert draws[0].plot(note=False).ax_.get_title(loc="right") == ""
        np.testing.assert_array_equal(draws[0].pit, draws[1].pit)
        assert not np.array_equal(draws[0].pit, draws[2].pit)

    def test_names_of_columns_come_from_the_table_the_model_or_the_caller(self, data):
        X, y = data
        table: Any = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
        named, unnamed = (SSGPRegressor(n_frequencies=3, max_iter=3).fit(rows, y) for rows in (table, X))
        assert sorted(plot.ImportanceDisplay.from_estimator(named, table, y).names) == ["a", "b", "c"]
        numbered = pd.DataFrame(X)
        assert sorted(plot.ImportanceDisplay.from_estimator(unnamed, numbered, y).names) == ["0", "1", "2"]
        given = plot.ImportanceDisplay.from_estimator(unnamed, X, y, feature_names=["p", "q", "r"])
        assert sorted(given.names) == ["p", "q", "r"]
        with pytest.raises(ValueError, match="feature_names has 2 names, and X has 3 columns"):
            plot.ImportanceDisplay.from_estimator(unnamed, X, y, feature_names=["p", "q"])
        with pytest.raises(ValueError, match="feature_names are for arrays"):
            plot.ImportanceDisplay.from_estimator(named, table, y, feature_names=["p", "q", "r"])

    def test_other_steps_before_the_regressor_are_fine(self, data):
        X, y = data
        scaler, forest = StandardScaler(), small_forest()
        display = plot.PITDisplay.from_estimator(make_pipeline(scaler, forest).fit(X, y), X, y)
        np.testing.assert_array_equal(display.pit, forest.cdf(scaler.transform(X), y))

    def test_matplotlib_is_not_needed_to_import(self):
        code = "import sys, ssgp.plot, ssgp.report; assert 'matplotlib' not in sys.modules"
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_without_matplotlib_the_error_says_how_to_install_it(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match=r"pip install 'ssgp\[plot\]'"):
            plot.PITDisplay([0.5]).plot()
