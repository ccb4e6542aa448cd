"""Mean deviations by bins and categories, against loops made here."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline

from plot_rows import mixed_rows
from ssgp import SSGPRegressor, TableEncoder, plot
from ssgp.plot.variation import Variation


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

    @pytest.mark.slow
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
        whole, complete = (
            plot.UncertaintyDisplay.from_estimator(pipeline, rows, "when", part=part)
            for rows in (table, table[table["when"].notna()])
        )
        assert whole.sizes.tolist() == complete.sizes.tolist()
        assert whole.edges.tolist() == complete.edges.tolist()
        np.testing.assert_allclose(whole.means, complete.means)

    def test_an_input_that_few_rows_have_tells_little(self):
        deviation, values = np.array([2.0] + [1.0] * 4 + [0.0] * 5), np.array([7.0] + [np.nan] * 9)
        variation = Variation("n", "n", "number", np.array([7.0]), values, pa.nulls)
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
