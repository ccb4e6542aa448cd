"""What a forest learns of flight delays, as pictures and as a page to keep.

Run it with ``python examples/flights_report.py``; the pictures of docs/plots.md come from ``--rows 40000``.
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from ssgp import SpectralForestRegressor, plot
from ssgp.datasets import load_flights
from ssgp.report import write_report

mpl.use("agg")

TARGET = "arrival delay (minutes)"


def draw(model: SpectralForestRegressor, X: Any, y: Any, names: tuple[str, ...], folder: Path) -> None:  # noqa: ANN401
    figures = {
        "intervals": plot.IntervalDisplay.from_estimator(model, X, y, target=TARGET).plot().figure_,
        "calibration": plot.plot_calibration(model, X, y, target=TARGET),
        "effects": plot.plot_effects(model, X, y=y, n_shown=6, target=TARGET, feature_names=names),
    }
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max-iter", type=int, default=None, help="learning steps at most (default: the estimator's)")
    parser.add_argument("--trees", type=int, default=None, help="trees of the forest (default: the estimator's)")
    parser.add_argument("--rows", type=int, default=None, help="training flights at most (default: all)")
    parser.add_argument("--folder", type=Path, default=Path("figures"), help="where pictures and page go")
    options = parser.parse_args()
    data = load_flights()
    some = np.random.default_rng(0).permutation(len(data.y_train))[: options.rows]
    model = SpectralForestRegressor(options.trees or "auto", max_iter=options.max_iter or "auto", random_state=0)
    model.fit(data.X_train[some], data.y_train[some])
    options.folder.mkdir(parents=True, exist_ok=True)
    draw(model, data.X_test, data.y_test, data.feature_names, options.folder)
    page = options.folder / "flights_report.html"
    names = {"target": TARGET, "feature_names": data.feature_names}
    write_report(model, data.X_test, data.y_test, page, seen_in_training=False, **names)
    print(f"Page and pictures: {page}")


if __name__ == "__main__":
    main()
