"""Figures of several pictures that belong together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ssgp.plot.calibration import CoverageByDeviationDisplay, CoverageDisplay, ErrorByDeviationDisplay, PITDisplay
from ssgp.plot.display import Display
from ssgp.plot.effects import EffectDisplay
from ssgp.plot.importance import ImportanceDisplay
from ssgp.plot.inputs import InputTable
from ssgp.plot.predictive import PredictedRows, predict_inputs
from ssgp.plot.style import GREY, load_matplotlib, styled
from ssgp.plot.uncertainty import UncertaintyDisplay
from ssgp.plot.variation import variations

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["calibration_displays", "plot_calibration", "plot_effects", "plot_uncertainty"]

EFFECT_ROWS = 100
IMPORTANCE_ROWS = 2000


def plot_calibration(
    model: Any,  # noqa: ANN401  any regressor of the library
    X: Any,  # noqa: ANN401  any table
    y: ArrayLike,
    *,
    target: str = "target",
    max_rows: int = 20_000,
    random_state: int = 0,
) -> "Figure":
    """Four pictures of whether the predicted distributions are calibrated.

    Where observations fall in them, coverage by nominal level, and errors and coverage by predicted deviation.

    Parameters
    ----------
    model : regressor or Pipeline
        The model, fitted.
    X : array-like of shape (n, d)
        Inputs, as the model takes them.
    y : array-like of shape (n,)
        Targets; the answers are those to new rows only if the model has not seen these.
    target : str, default="target"
        Name and unit of the target.
    max_rows : int, default=20_000
        Most rows to use; of larger tables so many are drawn at random.
    random_state : int, default=0
        Seed of the draw.

    Returns
    -------
    matplotlib Figure
        A figure of four axes.
    """
    predicted = PredictedRows.draw(model, X, y, max_rows, random_state)
    return _grid(calibration_displays(predicted, target), 2, predicted.description)


def plot_effects(
    model: Any,  # noqa: ANN401
    X: Any,  # noqa: ANN401
    columns: Sequence[str] | None = None,
    *,
    y: ArrayLike | None = None,
    n_shown: int = 6,
    coverage: float = 0.5,
    target: str = "target",
    feature_names: Sequence[str] | None = None,
    max_rows: int = EFFECT_ROWS,
    random_state: int = 0,
) -> "Figure":
    """What predictions are when one input after another is moved: see `EffectDisplay`.

    Parameters
    ----------
    model : regressor or Pipeline
        The model, fitted.
    X : array-like of shape (n, d)
        Inputs, as the model takes them.
    columns : sequence of str, optional
        Names of the inputs. By default the most important ones where `y` is given, and the first ones elsewhere.
    y : array-like of shape (n,), optional
        Targets, from which importances are computed.
    n_shown : int, default=6
        Most pictures to draw where `columns` are not given.
    coverage : float, default=0.5
        Share of observations that the intervals should hold.
    target : str, default="target"
        Name and unit of the target.
    feature_names : sequence of str, optional
        Names of the columns of an array.
    max_rows : int, default=100
        Most rows to use; of larger tables so many are drawn at random.
    random_state : int, default=0
        Seed of the draw.

    Returns
    -------
    matplotlib Figure
        A figure with one axes per picture.
    """
    inputs, _ = InputTable.draw(model, X, max_rows, random_state, feature_names)
    names: list[str] = list(columns) if columns is not None else inputs.informative
    if columns is None and y is not None:
        settings: Any = {"feature_names": feature_names, "max_rows": IMPORTANCE_ROWS, "random_state": random_state}
        names = ImportanceDisplay.from_estimator(model, X, y, **settings).names
    moves = [variation for name in names for variation in variations(inputs, name)]
    shown = moves if columns is not None else moves[:n_shown]
    displays = [EffectDisplay.of_variation(model, inputs, move, coverage, target) for move in shown]
    return _grid(displays, 3, inputs.description)


def plot_uncertainty(
    model: Any,  # noqa: ANN401
    X: Any,  # noqa: ANN401
    *,
    n_shown: int = 3,
    target: str = "target",
    feature_names: Sequence[str] | None = None,
    max_rows: int = 20_000,
    random_state: int = 0,
) -> "Figure":
    """Mean predicted deviation by the inputs that tell most of it: see `UncertaintyDisplay`.

    Parameters
    ----------
    model : regressor or Pipeline
        The model, fitted.
    X : array-like of shape (n, d)
        Inputs, as the model takes them.
    n_shown : int, default=3
        Number of inputs to show.
    target : str, default="target"
        Name and unit of the target.
    feature_names : sequence of str, optional
        Names of the columns of an array.
    max_rows : int, default=20_000
        Most rows to use; of larger tables so many are drawn at random.
    random_state : int, default=0
        Seed of the draw.

    Returns
    -------
    matplotlib Figure
        A figure with one axes per input.
    """
    inputs, _ = InputTable.draw(model, X, max_rows, random_state, feature_names)
    deviation = predict_inputs(model, inputs).std()
    return _grid(UncertaintyDisplay.most_informative(inputs, deviation, target, n_shown), 3, inputs.description)


def calibration_displays(predicted: PredictedRows, target: str) -> list[Display]:
    """The four pictures of calibration."""
    return [
        PITDisplay(predicted.pit, predicted.description),
        CoverageDisplay(predicted.pit, predicted.description),
        CoverageByDeviationDisplay.from_predicted_rows(predicted, target=target),
        ErrorByDeviationDisplay.from_predicted_rows(predicted, target=target),
    ]


def _grid(displays: Sequence[Display], n_columns: int, rows: str) -> "Figure":
    """One figure of all displays, with one note for all that describes the rows."""
    if not displays:
        raise ValueError(f"there is nothing to draw: no column has a value in these {rows}")
    load_matplotlib()
    import matplotlib.pyplot as plt

    n_columns = min(n_columns, len(displays))
    n_lines = -(-len(displays) // n_columns)
    with styled():
        size = (3.6 * n_columns, 2.9 * n_lines)
        figure, axes = plt.subplots(n_lines, n_columns, figsize=size, layout="constrained", squeeze=False)
        for display, ax in zip(displays, axes.flat, strict=False):
            display.plot(ax, note=False)
        for ax in axes.flat[len(displays) :]:
            ax.remove()
        figure.suptitle(rows, x=1, ha="right", fontsize="small", color=GREY)
    return figure
