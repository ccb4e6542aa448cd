"""The paper's Table 1 as a picture: what is printed, and what was measured under each protocol."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.records import open_store, whole_or_quick
from experiments.table_one import COLUMNS, TableRow, table_one

__all__ = ["draw_table_one"]

COLOURS = {"-joint": "#c8553d", "-inputs": "#2a6f97", "": "#588157"}
MARKERS = {"-joint": "s", "-inputs": "D", "": "o"}
UNITS = {"aimpeak": "km/h", "airline": "minutes"}
NAMES = {"update rule": "sVBSSGP, authors' updates"}
INK = "#22313f"


def draw_table_one(results: Path, path: Path) -> None:
    """Draw the table from the rows in a folder."""
    rows = table_one(whole_or_quick(open_store(results).read()))
    tables = [table for table in UNITS if any(row.table == table for row in rows)]
    figure = Figure(figsize=(9.5, 3.2), layout="constrained")
    panels = figure.subplots(1, len(tables), squeeze=False)[0]
    for axes, table in zip(panels, tables, strict=True):
        _panel(axes, table, [row for row in rows if row.table == table])
    handles = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _panel(axes: Axes, table: str, rows: list[TableRow]) -> None:
    names = [NAMES.get(row.method, row.method) for row in rows]
    axes.plot([row.printed for row in rows], names, "o", mfc="none", mec=INK, ms=9, label="printed in the paper")
    for column, words in COLUMNS.items():
        known = [(name, cell) for name, row in zip(names, rows, strict=True) if (cell := row.cells[column]) is not None]
        if known:
            means, places = [cell.rmse[0] for _, cell in known], [name for name, _ in known]
            axes.plot(means, places, MARKERS[column], color=COLOURS[column], ms=6, label=words)
    axes.set(title=table.upper(), xlabel=f"RMSE ({UNITS[table]})", xlim=(0, None))
    axes.margins(y=0.15)
    axes.invert_yaxis()
    axes.grid(axis="y", color="#dde4ea")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
