"""The paper's figures from rows of results."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.comparisons import by_draws, by_method, random_splits, traced
from experiments.drawing import COLOURS, SHADES, Drawing, label, legend_beside, line, one_panel
from experiments.protocol_figures import PROTOCOL_FIGURES
from experiments.store import Results
from experiments.suites import TRACED_GAMMAS
from ssgp.plot.style import GREY, log_ticks, styled

__all__ = ["FIGURES", "draw_all"]


def _gammas(results: Results) -> dict[float, Results]:
    return {gamma: traced(results, "aimpeak", gamma=gamma) for gamma in TRACED_GAMMAS}


def _converged(results: Results) -> dict[str, Results]:
    return {"sVBSSGP": random_splits(results.where(suite="aimpeak", method="sVBSSGP", kind="converged"))}


def _methods(suite: str) -> Callable[[Results], dict[str, Results]]:
    return lambda results: by_method(results, suite, COLOURS)


def _draws(suite: str) -> Callable[[Results], dict[int, Results]]:
    return lambda results: by_draws(results, suite)


def _by_gamma(measure: str) -> Callable[[Results], Figure | None]:
    def draw(results: Results) -> Figure | None:
        if not traced(results, "aimpeak").rows:
            return None
        figure = Figure(figsize=(9.5, 2.5), layout="constrained")
        panels = figure.subplots(1, len(TRACED_GAMMAS), sharey=True)
        for axes, (gamma, rows) in zip(panels, _gammas(results).items(), strict=True):
            line(axes, rows, measure, SHADES[0], None)
            axes.set(title=f"$\\gamma$ = {gamma:g}", xlabel="iterations")
        panels[0].set_ylabel(label(measure, "aimpeak"))
        return figure

    return draw


def _along_gamma(results: Results) -> Figure | None:
    rows = _converged(results)["sVBSSGP"]
    if not rows.rows:
        return None
    figure, axes = one_panel()
    line(axes, rows, "rmse", SHADES[0], None, along="gamma")
    axes.set(xlabel="$\\gamma$", ylabel=label("rmse", "aimpeak"))
    return figure


def _by_method(suite: str, measure: str) -> Callable[[Results], Figure | None]:
    def draw(results: Results) -> Figure | None:
        compared = by_method(results, suite, COLOURS)
        if not compared:
            return None
        figure, axes = one_panel()
        for method, rows in compared.items():
            line(axes, rows, measure, COLOURS[method], method)
        axes.set(xlabel="iterations", ylabel=label(measure, suite))
        legend_beside(axes)
        return figure

    return draw


def _time(suite: str) -> Callable[[Results], Figure | None]:
    """Figure with logarithmic axes that begin at the first prediction of test rows: linear time is a dotted line."""

    def draw(results: Results) -> Figure | None:
        compared = {method: _after_first(rows) for method, rows in by_method(results, suite, COLOURS).items()}
        if not any(rows.rows for rows in compared.values()):
            return None
        figure, axes = one_panel()
        axes.set(xscale="log", yscale="log", xlabel="iterations after the first", ylabel="training time after it (s)")
        for method, rows in compared.items():
            line(axes, rows, "train_s", COLOURS[method], method)
        _draw_proportions(axes)
        legend_beside(axes)
        return figure

    return draw


def _after_first(rows: Results) -> Results:
    """Iterations and seconds after the first prediction of test rows, before which blocks were made as well."""
    first = min(t for t in rows.values("iteration") if t)
    start = {row["split"]: row["train_s"] for row in rows.where(iteration=first).rows}
    return Results(
        [
            {**row, "iteration": row["iteration"] - first, "train_s": row["train_s"] - start[row["split"]]}
            for row in rows.rows
            if row["iteration"] > first
        ]
    )


def _draw_proportions(axes: Axes) -> None:
    """Dotted lines on which time is in proportion to iterations, a factor of ten apart."""
    x, y = np.array(axes.get_xlim()), np.array(axes.get_ylim())
    lowest, highest = np.log10(y[0] / x[1]), np.log10(y[1] / x[0])
    for power in range(int(np.floor(lowest)), int(np.ceil(highest)) + 1):
        label = "in proportion" if power >= highest else None
        axes.plot(x, x * 10.0**power, color=GREY, lw=0.7, ls=":", zorder=0, label=label)
    axes.set(xlim=x, ylim=y)
    log_ticks(axes.xaxis, *x)


def _by_draws(suite: str) -> Callable[[Results], Figure | None]:
    def draw(results: Results) -> Figure | None:
        compared = by_draws(results, suite)
        if not compared:
            return None
        figure, axes = one_panel()
        for (r, rows), colour in zip(compared.items(), SHADES, strict=False):
            line(axes, rows, "rmse", colour, f"r = {r}", band=False)
        axes.set(xlabel="iterations", ylabel=label("rmse", suite))
        legend_beside(axes)
        return figure

    return draw


FIGURES = (
    Drawing("gamma-rmse", "RMSE of sVBSSGP against iterations, AIMPEAK", _by_gamma("rmse"), _gammas),
    Drawing("gamma-mnlp", "MNLP of sVBSSGP against iterations, AIMPEAK", _by_gamma("mnlp"), _gammas),
    Drawing("gamma-converged", "Converged RMSE against gamma, AIMPEAK", _along_gamma, _converged),
    Drawing("aimpeak-rmse", "RMSE against iterations, AIMPEAK", _by_method("aimpeak", "rmse"), _methods("aimpeak")),
    Drawing("aimpeak-mnlp", "MNLP against iterations, AIMPEAK", _by_method("aimpeak", "mnlp"), _methods("aimpeak")),
    Drawing("aimpeak-time", "Training time against iterations, AIMPEAK", _time("aimpeak"), _methods("aimpeak")),
    Drawing("airline-rmse", "RMSE against iterations, AIRLINE", _by_method("airline", "rmse"), _methods("airline")),
    Drawing("airline-mnlp", "MNLP against iterations, AIRLINE", _by_method("airline", "mnlp"), _methods("airline")),
    Drawing("airline-time", "Training time against iterations, AIRLINE", _time("airline"), _methods("airline")),
    Drawing(
        "draws-aimpeak",
        "RMSE for varying numbers of draws, AIMPEAK",
        _by_draws("aimpeak"),
        _draws("aimpeak"),
        banded=False,
    ),
    Drawing("draws-blog", "RMSE for varying numbers of draws, BLOG", _by_draws("blog"), _draws("blog"), banded=False),
    *PROTOCOL_FIGURES,
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
