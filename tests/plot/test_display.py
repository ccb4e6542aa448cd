"""What all displays have in common: axes, notes, and matplotlib only when something is drawn."""

import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from ssgp import plot


class TestDisplays:
    def test_draws_where_it_is_told_and_leaves_the_users_settings_alone(self, data, fitted):
        before = dict(mpl.rcParams)
        figure, axes = plt.subplots()
        display = plot.PITDisplay.from_estimator(fitted("ssgp"), *data)
        assert display.plot(axes) is display
        assert display.ax_ is axes
        assert display.figure_ is figure
        assert display.plot().ax_ is not axes
        assert dict(mpl.rcParams) == before

    @pytest.mark.slow
    def test_rows_drawn_from_large_tables_are_said_and_seeded(self, data, fitted):
        draws = [
            plot.PITDisplay.from_estimator(fitted("ssgp"), *data, max_rows=50, random_state=seed) for seed in (0, 0, 1)
        ]
        assert draws[0].plot().ax_.get_title(loc="right") == "50 of 400 rows, drawn at random"
        assert draws[0].plot(note=False).ax_.get_title(loc="right") == ""
        np.testing.assert_array_equal(draws[0].pit, draws[1].pit)
        assert not np.array_equal(draws[0].pit, draws[2].pit)

    @pytest.mark.slow
    def test_matplotlib_is_not_needed_to_import(self):
        code = "import sys, ssgp.plot, ssgp.report; assert 'matplotlib' not in sys.modules"
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_without_matplotlib_the_error_says_how_to_install_it(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match=r"pip install 'ssgp\[plot\]'"):
            plot.PITDisplay([0.5]).plot()
