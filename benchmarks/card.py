"""AIRLINE on a GPU beside all cores of its machine, and beside GPyTorch's SVGP on the same GPU.

The last twentieth of the rows is the test. A method is fitted twice in its process: the first time libraries get ready,
and cards are started. Stages are those of the second fit: what comes before learning, learning, the trees, and the
rest, which chooses, corrects and calibrates.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import parser, print_command, run_benchmark
from benchmarks.stages import Stages
from experiments.measures import score_calibration, score_distribution, timed
from experiments.study import Cell, Row, Study
from experiments.tables import TEST_SHARE, load_airline
from ssgp import SpectralForestRegressor
from ssgp._utils.progress import observed
from ssgp.datasets import Split
from ssgp.metrics import rmse

__all__ = ["FOREST", "SVGP", "Fit", "cells", "measure"]

FOREST, SVGP = "spectral forest", "SVGP"
COLUMNS = ("method", "device", "size", "first_s", "fit_s", "read_s", "learn_s", "trees_s", "rest_s", "means_s", "rmse")
BATCH_SIZE = 4096


@dataclass(frozen=True)
class Fit(Cell):
    """A method on a device, fitted to the first rows of the table.

    Its size is that of a forest in trees, 0 for its own choice, and of an SVGP in inducing inputs.
    """

    rows: int
    predicted: int
    method: str
    device: str
    size: int
    epochs: int


def cells(rows: int, predicted: int, devices: list[str], inducing: list[int], epochs: int) -> list[Fit]:
    """Forests on every device, then SVGPs on the first."""
    forests = [Fit(rows, predicted, FOREST, device, 0, 0) for device in devices]
    return forests + [Fit(rows, predicted, SVGP, devices[0], size, epochs) for size in inducing]


def measure(folder: Path | None, cell: Fit) -> list[Row]:
    """Fit twice, predict and score."""
    table = load_airline(folder, cell.rows)
    data = table.split(np.arange(len(table.y)) >= (1 - TEST_SHARE) * len(table.y))
    to_predict = data.X_train[np.arange(cell.predicted) % len(data.y_train)]
    return [(_forest if cell.method == FOREST else _svgp)(cell, data, to_predict)]


def _forest(cell: Fit, data: Split, to_predict: Any) -> Row:  # noqa: ANN401
    sizes = {"n_trees": cell.size} if cell.size else {}
    model = SpectralForestRegressor(device=cell.device, n_jobs=-1, random_state=0, **sizes)
    _, first_s = timed(lambda: model.fit(data.X_train, data.y_train))
    stages = Stages()
    with observed(stages):
        model.fit(data.X_train, data.y_train)
    row = {"first_s": first_s, **stages.seconds()}
    model.predict(to_predict)
    _, means_s = timed(lambda: model.predict(to_predict))
    predicted = model.predict_distribution(data.X_test)
    scores = {**score_distribution(data.y_test, predicted), **score_calibration(data.y_test, predicted)}
    return {**row, "means_s": means_s, **scores}


def _svgp(cell: Fit, data: Split, to_predict: Any) -> Row:  # noqa: ANN401
    from benchmarks.svgp import fit_svgp, predict_svgp

    settings = {"n_inducing": cell.size, "n_epochs": cell.epochs, "batch_size": BATCH_SIZE, "device": cell.device}
    model, fit_s = timed(lambda: fit_svgp(data.X_train, data.y_train, **settings))
    _, means_s = timed(lambda: predict_svgp(model, to_predict))
    mean, deviation = predict_svgp(model, data.X_test)
    z = (data.y_test - mean) / deviation
    mnlp = float(np.mean(0.5 * np.log(2.0 * np.pi * deviation**2) + 0.5 * z * z))
    return {"fit_s": fit_s, "means_s": means_s, "rmse": rmse(data.y_test, mean), "mnlp": mnlp}


def main() -> None:
    line = parser(__doc__)
    line.add_argument("--rows", type=int, default=2_000_000, help="first rows of the table")
    line.add_argument("--predicted", type=int, default=1_000_000, help="means that are predicted")
    line.add_argument("--devices", nargs="+", default=["cuda", "cpu"], help="of the forest; the first is of the SVGP")
    line.add_argument("--inducing", type=int, nargs="*", default=[512, 1024], help="inducing inputs of SVGPs")
    line.add_argument("--epochs", type=int, default=5, help="of an SVGP")
    line.add_argument("--again", action="store_true", help="run cells that have a row already, too")
    flags = line.parse_args()
    chosen = cells(flags.rows, flags.predicted, flags.devices, flags.inducing, flags.epochs)
    print_command("card")
    run_benchmark("card", Study(chosen, partial(measure, flags.data)), flags.again, (*COLUMNS, "mnlp", "crps"))


if __name__ == "__main__":
    main()
