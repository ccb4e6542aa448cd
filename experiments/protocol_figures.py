"""Figures of the authors' protocol: the paper's again, on the axis of their program, and what draws are worth."""

from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure

from experiments.comparisons import draws_of, random_splits, traced
from experiments.draw_verdicts import widths_in_order
from experiments.drawing import COLOURS, SHADES, Drawing, label, legend_beside, line, one_panel
from experiments.store import Results
from experiments.suites import TRACED_GAMMAS
from experiments.update_rule import RULES
from ssgp.plot.style import GREY, INK

__all__ = ["PROTOCOL_FIGURES"]

JOINT, INPUTS = "aimpeak-joint", "aimpeak-inputs"
WITH, WITHOUT = RULES
# Suite and method, name and colour of the curves of a figure.
RULE_LINES = (
    (JOINT, WITH, "joint blocks", SHADES[0]),
    (JOINT, WITHOUT, "joint, no gradient", SHADES[1]),
    (INPUTS, WITH, "blocks of inputs", SHADES[3]),
)


def _rule_rows(results: Results) -> dict[str, Results]:
    return {name: traced(results, suite, method) for suite, method, name, _ in RULE_LINES}


def _by_gamma(results: Results) -> Figure | None:
    if not _rule_rows(results)["joint blocks"].rows:
        return None
    figure = Figure(figsize=(9.5, 2.7), layout="constrained")
    panels = figure.subplots(1, len(TRACED_GAMMAS), sharey=True)
    for axes, gamma in zip(panels, TRACED_GAMMAS, strict=True):
        for suite, method, name, colour in RULE_LINES:
            line(axes, traced(results, suite, method, gamma), "rmse", colour, name, band=False)
        axes.set(title=f"$\\gamma$ = {gamma:g}", xlabel="iterations", yscale="log")
    panels[0].set_ylabel(label("rmse", "aimpeak"))
    panels[0].legend(loc="upper right")
    return figure


def _converged(results: Results) -> dict[str, Results]:
    """Errors at the end by gamma, under both protocols."""
    lines = {
        "their updates, joint blocks": (JOINT, WITH),
        "ours, joint blocks": (JOINT, "sVBSSGP"),
        "ours, blocks of inputs": (INPUTS, "sVBSSGP"),
    }
    return {
        name: random_splits(results.where(suite=suite, method=method, kind="converged"))
        for name, (suite, method) in lines.items()
    }


def _along_gamma(results: Results) -> Figure | None:
    curves = _converged(results)
    if not any(rows.rows for rows in curves.values()):
        return None
    figure, axes = one_panel()
    for (name, rows), colour in zip(curves.items(), (GREY, SHADES[0], SHADES[3]), strict=True):
        line(axes, rows, "rmse", colour, name, along="gamma")
    axes.set(xlabel="$\\gamma$", ylabel=label("rmse", "aimpeak"), ylim=(0.0, 25.0))
    legend_beside(axes)
    return figure


def _stepwise(results: Results) -> dict[str, Results]:
    """Methods step by step on joint blocks, and the authors' updates."""
    steps = {method: traced(results, "aimpeak-steps", method) for method in COLOURS}
    return {**steps, "their updates": traced(results, JOINT, WITH)}


def _by_method(results: Results) -> Figure | None:
    curves = _stepwise(results)
    if not any(rows.rows for method, rows in curves.items() if method in COLOURS):
        return None
    figure, axes = one_panel()
    for method, rows in curves.items():
        later = Results([row for row in rows.rows if row["iteration"]])
        line(axes, later, "rmse", COLOURS.get(method, GREY), method, band=False)
    axes.set(xlabel="iterations of one step", ylabel=label("rmse", "aimpeak"))
    legend_beside(axes)
    return figure


def _rule_draws(results: Results) -> dict[str, Results]:
    return {f"{r} draws": rows for r, rows in draws_of(results, JOINT, WITH).items()}


def _by_draws(results: Results) -> Figure | None:
    if not _rule_draws(results):
        return None
    figure = Figure(figsize=(7.6, 3.0), layout="constrained")
    for axes, method in zip(figure.subplots(1, 2, sharey=True), RULES, strict=True):
        for (r, rows), colour in zip(draws_of(results, JOINT, method).items(), SHADES, strict=False):
            later = Results([row for row in rows.rows if row["iteration"]])
            line(axes, later, "rmse", colour, f"r = {r}", band=False)
        axes.set(title="with their gradient" if method == WITH else "without", xlabel="iterations")
    legend_beside(figure.axes[-1])
    figure.axes[0].set_ylabel(label("rmse", "aimpeak"))
    return figure


def _widths(results: Results) -> dict[int, Results]:
    """Rows by the steps after which draws were averaged, the prior's first and the end's last."""
    rows = random_splits(results.where(suite=INPUTS, kind="widths"))
    return {steps: rows.where(iteration=steps) for steps in widths_in_order(rows)}


def _by_width(results: Results) -> Figure | None:
    curves = _widths(results)
    if not curves:
        return None
    figure, axes = one_panel()
    for (steps, rows), colour in zip(curves.items(), (INK, *SHADES[3:0:-1], GREY, SHADES[0]), strict=False):
        name = "prior" if steps == 0 else "end" if steps < 0 else f"{steps} steps"
        width = float(np.mean(rows.values("width")))
        line(axes, rows, "rmse", colour, f"{name}, width {width:.2g}", along="averaged", band=False)
    axes.set(xscale="log", xlabel="draws averaged", ylabel=label("rmse", "aimpeak"))
    axes.set_xticks([1, 2, 5, 10, 20], labels=["1", "2", "5", "10", "20"])
    axes.minorticks_off()
    legend_beside(axes)
    return figure


def _drawing(name: str, title: str, draw: Callable[[Results], Figure | None], lines: Callable) -> Drawing:
    return Drawing(name, title, draw, lines, banded=False, split="seed")


PROTOCOL_FIGURES = (
    _drawing("rule-gamma", "RMSE of the authors' updates against iterations, AIMPEAK", _by_gamma, _rule_rows),
    _drawing("rule-converged", "RMSE at the end against gamma, AIMPEAK", _along_gamma, _converged),
    _drawing("rule-methods", "RMSE against single steps on joint blocks, AIMPEAK", _by_method, _stepwise),
    _drawing(
        "rule-draws", "RMSE of the authors' updates for varying numbers of draws, AIMPEAK", _by_draws, _rule_draws
    ),
    _drawing("draws-width", "RMSE against the number of draws, by the width of q, AIMPEAK", _by_width, _widths),
)
