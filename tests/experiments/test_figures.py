"""Figures of rows that were never measured."""

import os
import subprocess
import sys

import numpy as np
import pytest

from evaluation import made_up
from experiments.figures import FIGURES
from experiments.store import Results

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["aimpeak-rmse", "draws-aimpeak"])
def test_curves_are_means_over_the_splits_that_all_have(name):
    rows = made_up(rmse=1.0) + made_up(rmse=100.0, split="1")
    rows += made_up(n_draws=1, rmse=2.0) if "draws" in name else made_up(method="DTC+", gamma=None, rmse=2.0)
    (drawing,) = (drawing for drawing in FIGURES if drawing.name == name)
    figure = drawing.draw(Results(rows))
    assert figure is not None
    assert sorted(np.asarray(line.get_ydata()).tolist() for line in figure.axes[0].lines) == [[1.0], [2.0]]


@pytest.mark.slow
class TestFiguresOfAnotherProcess:
    """Drawn by a script that asserts something of them."""

    def draw(self, folder, then, **environment):
        rows = made_up(mnlp=-1.0) + made_up(iteration=30, mnlp=-2.0)
        code = f"""
import sys
from pathlib import Path
import matplotlib as mpl
mpl.use("pdf")
from experiments.figures import draw_all
from experiments.store import Results
drawn = draw_all(Results({rows!r}), Path({str(folder)!r}))
assert {then}
"""
        subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, timeout=1200, check=True)

    def test_leave_backend_and_pyplot_alone(self, tmp_path):
        self.draw(tmp_path, "mpl.get_backend() == 'pdf' and 'matplotlib.pyplot' not in sys.modules")
        assert (tmp_path / "gamma-mnlp.png").stat().st_size > 0

    def test_are_read_as_they_were_written_whatever_the_locale(self, tmp_path):
        """Negative numbers have a minus sign, which ASCII has not."""
        plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
        self.draw(tmp_path, "chr(0x2212) in drawn['gamma-mnlp']", **plain)


@pytest.mark.parametrize("n_splits", [1, 2])
def test_bands_are_deviations_over_several_splits_and_captions_say_so(n_splits):
    rows = [row for s in range(n_splits) for t in (1, 2) for row in made_up(split=str(s), iteration=t, rmse=2.0 * s)]
    (drawing,) = (drawing for drawing in FIGURES if drawing.name == "aimpeak-rmse")
    figure = drawing.draw(Results(rows))
    assert figure is not None
    bands = [band.get_paths()[0].get_extents() for band in figure.axes[0].collections]
    if n_splits == 1:
        assert not bands
        assert drawing.caption(Results(rows)).endswith(": one random split")
    else:
        assert [bands[0].y0, bands[0].y1] == pytest.approx([1 - 2**0.5, 1 + 2**0.5])
        assert drawing.caption(Results(rows)).endswith(": mean of 2 random splits, band: one deviation")


def test_linear_time_is_drawn_along_the_dotted_lines():
    looks = ((1, 5.0), (5, 5.4), (15, 6.4), (45, 9.4))
    rows = [row for t, seconds in looks for row in made_up(suite="airline", iteration=t, train_s=seconds)]
    (drawing,) = (drawing for drawing in FIGURES if drawing.name == "airline-time")
    figure = drawing.draw(Results(rows))
    assert figure is not None
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    slopes = [np.diff(np.log(np.asarray(line.get_xydata())), axis=0) for line in axes.lines]
    assert len(slopes) > 1
    assert all(slope[:, 1] == pytest.approx(slope[:, 0]) for slope in slopes)


def test_captions_tell_where_curves_are_means_of_different_numbers_of_seeds():
    rows = made_up(suite="aimpeak-steps")
    rows += [row for s in range(3) for row in made_up(suite="aimpeak-joint", method="update rule", split=str(s))]
    (drawing,) = (drawing for drawing in FIGURES if drawing.name == "rule-methods")
    assert drawing.caption(Results(rows)).endswith("mean of 1 to 3 seeds")
    assert drawing.caption(Results(rows[:2])).endswith("one seed")
