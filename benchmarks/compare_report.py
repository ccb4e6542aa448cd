"""The comparison's Markdown table and figure from the rows of ``benchmarks.compare``, without refitting."""

import argparse
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.common import RESULTS
from benchmarks.compare import COLUMNS, FOLDS, SUITE, Comparison, cells
from experiments.store import Results, Store
from experiments.study import Row
from ssgp.plot.style import ACCENT, INK, MUTED

OURS = "spectral forest"
Means = dict[tuple[str, str], Row]


def means(results: Results) -> Means:
    """Means over folds by table and method, in the order in which they are run."""
    folds: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in results.where().rows:
        folds[row["table"], row["method"]].append(row)
    order = dict.fromkeys((cell.table, cell.method) for cell in cells(list(SUITE), [], FOLDS))
    return {
        key: {name: _mean(folds[key], name) for name in COLUMNS} | {"folds": len(folds[key])}
        for key in (*order, *folds)
        if key in folds
    }


def _mean(rows: list[Row], name: str) -> float | None:
    # Rows of earlier runs lack columns that have come since.
    values = [row[name] for row in rows if row.get(name) is not None]
    return float(np.mean(values)) if len(values) == len(rows) else None


def markdown(compared: Means) -> str:
    lines = [
        "| table | method | folds | " + " | ".join(COLUMNS) + " |",
        "| --- | --- | --- | " + " | ".join("---" for _ in COLUMNS) + " |",
    ]
    for (table, method), row in compared.items():
        texts = ["" if row[name] is None else f"{row[name]:.{digits}f}" for name, digits in COLUMNS.items()]
        lines.append(f"| {table} | {method} | {row['folds']} | " + " | ".join(texts) + " |")
    return "\n".join(lines) + "\n"


def best_boosting(compared: Means, table: str) -> Row | None:
    """The LightGBM of the lowest error on a table."""
    rows = [
        row
        for (other, method), row in compared.items()
        if other == table and method.startswith("LightGBM") and row["mnlp"] is not None
    ]
    return min(rows, key=lambda row: row["rmse"], default=None)


@dataclass(frozen=True)
class Panel:
    """A panel of the figure.

    Attributes
    ----------
    title : str
        What it shows.
    value : callable
        Takes the rows of the forest and of the best boosting to a number.
    neutral : float
        Where both are alike.
    is_good : callable
        Whether a number speaks for the forest.
    """

    title: str
    value: Callable[[Row, Row], float]
    neutral: float
    is_good: Callable[[float], bool]

    def draw(self, axes: Axes, pairs: list[tuple[Row, Row]]) -> None:
        """A line per table, the first on top."""
        values = [self.value(ours, theirs) for ours, theirs in pairs]
        at = np.arange(len(values))[::-1]
        colours = [ACCENT if self.is_good(value) else MUTED for value in values]
        axes.hlines(at, self.neutral, values, color=colours, lw=2)
        axes.scatter(values, at, color=colours, s=28, zorder=3)
        axes.axvline(self.neutral, color=INK, lw=0.8)
        axes.set_title(self.title, fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)


PANELS = (
    Panel("RMSE, ratio to the best LightGBM", lambda a, b: a["rmse"] / b["rmse"], 1.0, lambda v: v <= 1),
    Panel("MNLP, nats better", lambda a, b: b["mnlp"] - a["mnlp"], 0.0, lambda v: v >= 0),
    Panel("fit time, ratio", lambda a, b: a["fit_s"] / b["fit_s"], 1.0, lambda v: v <= 1),
    Panel("95 % intervals cover (%)", lambda a, b: 100 * a["coverage"], 95.0, lambda v: 93 <= v <= 97),
)


def draw(compared: Means) -> Figure:
    """The forest beside the best LightGBM, on the tables that have both."""
    tables = [table for table, method in compared if method == OURS]
    pairs = {t: (compared[t, OURS], theirs) for t in tables if (theirs := best_boosting(compared, t)) is not None}
    figure = Figure(figsize=(13, 0.8 + 0.32 * len(pairs)), layout="constrained")
    axes = figure.subplots(1, len(PANELS), sharey=True)
    for panel, one in zip(PANELS, axes, strict=True):
        panel.draw(one, list(pairs.values()))
    axes[2].set_xscale("log")
    axes[0].set_yticks(np.arange(len(pairs))[::-1], list(pairs))
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS / "compare", help="folder of results")
    parser.add_argument("--table", type=Path, default=Path("figures/compare.md"))
    parser.add_argument("--figure", type=Path, default=Path("figures/compare.png"))
    flags = parser.parse_args()
    compared = means(Store(flags.results, Comparison).read())
    if not compared:
        raise SystemExit(f"{flags.results} has no results: run python -m benchmarks.compare first")
    flags.table.parent.mkdir(parents=True, exist_ok=True)
    flags.table.write_text(markdown(compared))
    flags.figure.parent.mkdir(parents=True, exist_ok=True)
    draw(compared).savefig(flags.figure, dpi=130)
    print(f"{len(compared)} lines: {flags.table}, {flags.figure}")


if __name__ == "__main__":
    main()
