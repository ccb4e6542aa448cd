"""Ways to move an input: columns without any value have none."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline

from plot_rows import mixed_rows
from ssgp import SSGPRegressor, TableEncoder, plot


def with_column(table, name, column):
    """An Arrow table, with another column in the place of one."""
    whole = pa.Table.from_pandas(table, preserve_index=False)
    return whole.set_column(whole.column_names.index(name), name, column)


class TestColumnsWithoutAValue:
    """Nulls, NaN and empty text are all missing to the encoder, and are all missing here."""

    @pytest.mark.slow
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

    @pytest.mark.slow
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
