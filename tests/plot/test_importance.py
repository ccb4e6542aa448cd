"""Importances, against scikit-learn's."""

from typing import Any

import numpy as np
import pytest
from sklearn.inspection import permutation_importance

import ssgp
from plot_rows import mixed_rows
from ssgp import plot


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

    def test_of_the_spread_are_in_percent(self, data, fitted):
        X, _ = data
        display = plot.SpreadImportanceDisplay.from_estimator(fitted("ssgp"), X, target="height (m)")
        found = ssgp.importances(fitted("ssgp"), X)
        np.testing.assert_allclose(display.importances, 100 * np.sort(found.spread)[::-1])
        assert "deviation" in display.plot().ax_.get_xlabel()

    @pytest.mark.parametrize("rises", [[-0.2, -0.5], [0.0, -0.5], [0.3, -0.1], [0.3, 0.1], [0.0, 0.0]])
    def test_are_inside_their_axis(self, rises):
        axes = plot.ImportanceDisplay(["a", "b"], rises).plot().ax_
        left, right = axes.get_xlim()
        assert left <= min(0.0, *rises)
        assert max(0.0, *rises) < right
