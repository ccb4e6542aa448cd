"""The paper's figures from rows of results."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssgp.experiments.comparing import by_draws, by_method, random_splits, traced
from ssgp.experiments.store import Results
from ssgp.experiments.suites import TRACED_GAMMAS
from ssgp.plot.style import ACCENT, INK, styled

__all__ = ["FIGURES", "Drawing", "draw_all"]

COLOURS = {"sVBSSGP": ACCENT, "PIC+": "#2a6f97", "DTC+": "#7a9e7e", "VSSGP": "#8d6a9f"}
SHADES = (ACCENT, "#d98b5f", "#8aa3b5", "#2a6f97", INK)
MEASURES = {"rmse": "RMSE", "mnlp": "MNLP", "train_s": "training time (s)"}
UNITS = {"aimpeak": "km/h", "airline": "minutes", "blog": "comments"}


@dataclass(frozen=True)
class Drawing:
    """A figure of the page.

    Attributes
    ----------
    name : str
        Of its files.
    title : str
        What it shows.
    draw : callable
        Takes results to a figure, None where there are none for it.
    """

    name: str
    title: str
    draw: Callable[[Results], Figure | None]


def _by_gamma(measure: str) -> Callable[[Results], Figure | None]:
    def draw(results: Results) -> Figure | None:
        if not traced(results, "aimpeak").rows:
            return None
        figure = Figure(figsize=(9.5, 2.5), layout="constrained")
        panels = figure.subplots(1, len(TRACED_GAMMAS), sharey=True)
        for axes, gamma in zip(panels, TRACED_GAMMAS, strict=True):
            _line(axes, traced(results, "aimpeak", gamma=gamma), measure, SHADES[0], None)
            axes.set(title=f"$\\gamma$ = {gamma:g}", xlabel="iterations")
        panels[0].set_ylabel(_label(measure, "aimpeak"))
        return figure

    return draw


def _along_gamma(results: Results) -> Figure | None:
    rows = random_splits(results.where(suite="aimpeak", method="sVBSSGP", kind="converged"))
    if not rows.rows:
        return None
    figure, axes = _one_panel()
    _line(axes, rows, "rmse", SHADES[0], None, along="gamma")
    axes.set(xlabel="$\\gamma$", ylabel=_label("rmse", "aimpeak"))
    return figure


def _by_method(suite: str, measure: str) -> Callable[[Results], Figure | None]:
    def draw(results: Results) -> Figure | None:
        compared = by_method(results, suite, COLOURS)
        if not compared:
            return None
        figure, axes = _one_panel()
        for method, rows in compared.items():
            _line(axes, rows, measure, COLOURS[method], method)
        axes.set(xlabel="iterations", ylabel=_label(measure, suite))
        if measure == "train_s":
            axes.set_yscale("log")
        axes.legend()
        return figure

    return draw


def _by_draws(suite: str) -> Callable[[Results], Figure | None]:
    def draw(results: Results) -> Figure | None:
        compared = by_draws(results, suite)
        if not compared:
            return None
        figure, axes = _one_panel()
        for (r, rows), colour in zip(compared.items(), SHADES, strict=False):
            _line(axes, rows, "rmse", colour, f"r = {r}", band=False)
        axes.set(xlabel="iterations", ylabel=_label("rmse", suite))
        axes.legend()
        return figure

    return draw


FIGURES = (
    Drawing("gamma-rmse", "RMSE of sVBSSGP against iterations, AIMPEAK", _by_gamma("rmse")),
    Drawing("gamma-mnlp", "MNLP of sVBSSGP against iterations, AIMPEAK", _by_gamma("mnlp")),
    Drawing("gamma-converged", "Converged RMSE against gamma, AIMPEAK", _along_gamma),
    Drawing("aimpeak-rmse", "RMSE against iterations, AIMPEAK", _by_method("aimpeak", "rmse")),
    Drawing("aimpeak-mnlp", "MNLP against iterations, AIMPEAK", _by_method("aimpeak", "mnlp")),
    Drawing("aimpeak-time", "Training time against iterations, AIMPEAK", _by_method("aimpeak", "train_s")),
    Drawing("airline-rmse", "RMSE against iterations, AIRLINE", _by_method("airline", "rmse")),
    Drawing("airline-mnlp", "MNLP against iterations, AIRLINE", _by_method("airline", "mnlp")),
    Drawing("airline-time", "Training time against iterations, AIRLINE", _by_method("airline", "train_s")),
    Drawing("draws-aimpeak", "RMSE for varying numbers of draws, AIMPEAK", _by_draws("aimpeak")),
    Drawing("draws-blog", "RMSE for varying numbers of draws, BLOG", _by_draws("blog")),
)


def draw_all(results: Results, folder: Path) -> dict[str, str]:
    """Write every figure that has rows as SVG and PNG; returns their SVG texts by name."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {}
    with styled():
        for drawing in FIGURES:
            figure = drawing.draw(results)
            if figure is None:
                continue
            path = folder / f"{drawing.name}.svg"
            figure.savefig(path, metadata={"Date": None})
            figure.savefig(path.with_suffix(".png"), dpi=150)
            texts[drawing.name] = path.read_text(encoding="utf-8")
    return texts


def _one_panel() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(4.6, 3.1), layout="constrained")
    return figure, figure.subplots()


def _label(measure: str, suite: str) -> str:
    return f"{MEASURES[measure]} ({UNITS[suite]})" if measure == "rmse" else MEASURES[measure]


def _line(
    axes: Axes, rows: Results, measure: str, colour: str, label: str | None, along: str = "iteration", band: bool = True
) -> None:
    """Mean over splits, with a band of one deviation."""
    if not rows.rows:
        return
    found = rows.by(along, measure)
    x, values = np.array(list(found)), list(found.values())
    mean, deviation = np.array([np.mean(v) for v in values]), np.array([np.std(v) for v in values])
    axes.plot(x, mean, color=colour, label=label, lw=1.6, marker="o", ms=2.5)
    if band:
        axes.fill_between(x, mean - deviation, mean + deviation, color=colour, alpha=0.18, lw=0)
