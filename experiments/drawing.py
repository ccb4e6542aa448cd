"""What the figures of the page have in common."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.comparisons import deviation
from experiments.store import Results
from ssgp.plot.style import ACCENT, INK

__all__ = ["COLOURS", "SHADES", "Drawing", "label", "legend_beside", "line", "one_panel"]

COLOURS = {"sVBSSGP": ACCENT, "PIC+": "#2a6f97", "DTC+": "#7a9e7e", "VSSGP": "#8d6a9f"}
SHADES = (ACCENT, "#d98b5f", "#8aa3b5", "#2a6f97", INK)
MEASURES = {"rmse": "RMSE", "mnlp": "MNLP"}
UNITS = {"aimpeak": "km/h", "airline": "minutes", "blog": "comments"}


@dataclass(frozen=True)
class Drawing:
    """A figure of the page.

    Attributes
    ----------
    name : str
        Name of its files.
    title : str
        What it shows.
    draw : callable
        Takes results to a figure, None where there are none for it.
    lines : callable
        Takes results to the rows of each of its lines.
    banded : bool
        Whether deviations are drawn too.
    split : str
        What means are over: random splits, or seeds.
    """

    name: str
    title: str
    draw: Callable[[Results], Figure | None]
    lines: Callable[[Results], Mapping[Any, Results]]
    banded: bool = True
    split: str = "random split"

    def caption(self, results: Results) -> str:
        """What it shows, and over how many splits."""
        numbers = {len(set(rows.values("split"))) for rows in self.lines(results).values() if rows.rows}
        most = max(numbers, default=0)
        if most < 2:
            return f"{self.title}: one {self.split}"
        number = f"{most}" if len(numbers) == 1 else f"{min(numbers)} to {most}"
        return f"{self.title}: mean of {number} {self.split}s{', band: one deviation' if self.banded else ''}"


def one_panel() -> tuple[Figure, Axes]:
    """A small figure and its axes."""
    figure = Figure(figsize=(4.9, 3.0), layout="constrained")
    return figure, figure.subplots()


def legend_beside(axes: Axes) -> None:
    """A legend where no curve passes."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def label(measure: str, suite: str) -> str:
    """What an axis shows, with its unit."""
    return f"{MEASURES[measure]} ({UNITS[suite]})" if measure == "rmse" else MEASURES[measure]


def line(
    axes: Axes, rows: Results, measure: str, colour: str, label: str | None, along: str = "iteration", band: bool = True
) -> None:
    """Mean over splits, with a band of one deviation where there are several."""
    if not rows.rows:
        return
    by_x = rows.by(along, measure)
    x, values = np.array(list(by_x)), list(by_x.values())
    mean, spread = np.array([np.mean(v) for v in values]), np.array([deviation(v) for v in values])
    axes.plot(x, mean, color=colour, label=label, lw=1.6, marker="o", ms=2.5)
    if band and np.isfinite(spread).all():
        axes.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.18, lw=0)
