"""Redraws the comparison from the rows that ``compare.py`` left: a Markdown table and a figure, without refitting."""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("agg")
import matplotlib.pyplot as plt

from compare import ROWS

INK, ACCENT, MUTED = "#22313f", "#c8553d", "#9fb3c8"
OURS = "spectral forest"
COLUMNS = {"rmse": 4, "mnlp": 3, "crps": 4, "coverage": 3, "fit_s": 1, "predict_s": 2, "peak_gb": 2}


def load(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Means over folds by table and method; of a cell that ran twice the last row counts."""
    last: dict[tuple[str, str, int], dict[str, Any]] = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if "error" not in row:
            last[row["table"], row["method"], row["fold"]] = row
    by_cell = defaultdict(list)
    for (table, method, _), row in last.items():
        by_cell[table, method].append(row)
    return {
        cell: {name: _mean(rows, name) for name in rows[0]} | {"folds": len(rows)} for cell, rows in by_cell.items()
    }


def _mean(rows: list[dict[str, Any]], name: str) -> float | None:
    values = [row.get(name) for row in rows]
    numbers = [value for value in values if isinstance(value, int | float)]
    return float(np.mean(numbers)) if len(numbers) == len(values) else None


def markdown(cells: dict[tuple[str, str], dict[str, Any]]) -> str:
    lines = [
        "| table | method | folds | " + " | ".join(COLUMNS) + " |",
        "| --- | --- | --- | " + " | ".join("---" for _ in COLUMNS) + " |",
    ]
    for (table, method), row in cells.items():
        texts = ["" if row.get(c) is None else f"{row[c]:.{digits}f}" for c, digits in COLUMNS.items()]
        lines.append(f"| {table} | {method} | {row['folds']} | " + " | ".join(texts) + " |")
    return "\n".join(lines) + "\n"


def best_boosting(cells: dict[tuple[str, str], dict[str, Any]], table: str) -> dict[str, Any] | None:
    """The LightGBM of the lowest error on a table."""
    rows = [row for (t, m), row in cells.items() if t == table and m.startswith("LightGBM") and row["mnlp"] is not None]
    return min(rows, key=lambda row: row["rmse"], default=None)


def draw(cells: dict[tuple[str, str], dict[str, Any]], path: Path) -> None:
    tables = [t for t in dict.fromkeys(t for t, _ in cells) if (t, OURS) in cells and best_boosting(cells, t)]
    ours = [cells[t, OURS] for t in tables]
    theirs = [row for t in tables if (row := best_boosting(cells, t)) is not None]
    figure, panels = plt.subplots(1, 4, figsize=(13, 0.8 + 0.32 * len(tables)), sharey=True)
    at = np.arange(len(tables))[::-1]
    ratios = [a["rmse"] / b["rmse"] for a, b in zip(ours, theirs, strict=True)]
    gains = [b["mnlp"] - a["mnlp"] for a, b in zip(ours, theirs, strict=True)]
    times = [a["fit_s"] / b["fit_s"] for a, b in zip(ours, theirs, strict=True)]
    covered = [100 * a["coverage"] for a in ours]
    for axes, values, title, neutral, better in zip(
        panels,
        [ratios, gains, times, covered],
        ["RMSE, ratio to the best LightGBM", "MNLP, nats better", "fit time, ratio", "95 % intervals cover (%)"],
        [1.0, 0.0, 1.0, 95.0],
        [lambda v: v <= 1, lambda v: v >= 0, lambda v: v <= 1, lambda v: 93 <= v <= 97],
        strict=True,
    ):
        colours = [ACCENT if better(value) else MUTED for value in values]
        axes.hlines(at, neutral, values, color=colours, lw=2)
        axes.scatter(values, at, color=colours, s=28, zorder=3)
        axes.axvline(neutral, color=INK, lw=0.8)
        axes.set_title(title, fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
    panels[2].set_xscale("log")
    panels[0].set_yticks(at, tables)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument("--table", type=Path, default=Path("figures/compare.md"))
    parser.add_argument("--figure", type=Path, default=Path("figures/compare.png"))
    options = parser.parse_args()
    if not options.rows.exists():
        raise SystemExit(f"{options.rows} is not there: run compare.py first")
    cells = load(options.rows)
    options.table.parent.mkdir(parents=True, exist_ok=True)
    options.table.write_text(markdown(cells))
    draw(cells, options.figure)
    print(f"{len(cells)} cells: {options.table}, {options.figure}")


if __name__ == "__main__":
    main()
