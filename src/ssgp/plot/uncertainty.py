"""Uncertainty: for which inputs the predicted deviations are large."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.wording import with_unit
from ssgp.plot.display import Display
from ssgp.plot.inputs import InputTable
from ssgp.plot.predictive import predict_inputs
from ssgp.plot.style import ACCENT, GREY, MUTED, concise_dates, label_axes, name_ticks
from ssgp.plot.variation import Variation, variation_of, variations

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["UncertaintyDisplay"]


MAX_ROWS = 20_000


class UncertaintyDisplay(Display):
    """Mean predicted deviation by the values of one input: bins of equally many rows, or categories.

    Parameters
    ----------
    variation : Variation
        The input, or the part of a time.
    deviation : array of shape (n,)
        Predicted deviations of its rows.
    rows : str, default=""
        Which rows are shown, in words.
    target : str, default="target"
        Name and unit of the target.
    n_bins : int, default=10
        Most bins of numbers and dates.

    Attributes
    ----------
    edges : array of shape (k + 1,)
        Edges of the bins; empty for categories.
    means, sizes : arrays of shape (k,)
        Mean deviation and number of rows of each bin.
    overall : float
        Mean deviation of all rows.
    highest : float
        Where the axis of deviations ends.
    """

    def __init__(
        self, variation: Variation, deviation: Array, rows: str = "", target: str = "target", n_bins: int = 10
    ) -> None:
        self.variation, self.rows, self.target = variation, rows, target
        category = variation.scale == "category"
        self.edges = np.empty(0) if category else _edges(variation.where_rows_are, n_bins)
        labels = _labels(variation, self.edges)
        groups = [deviation[labels == i] for i in range(len(variation.values) if category else len(self.edges) - 1)]
        self.overall = float(deviation.mean())
        self.sizes = np.array([len(group) for group in groups])
        self.means = np.array([group.mean() if len(group) else np.nan for group in groups])
        self.highest = float(np.nanmax(self.means))
        self._n_rows, self._variance = len(deviation), float(deviation.var())

    @classmethod
    def from_estimator(
        cls,
        model: Any,  # noqa: ANN401  any regressor of the library
        X: Any,  # noqa: ANN401  any table
        column: str | int,
        *,
        part: int = 0,
        n_bins: int = 10,
        target: str = "target",
        feature_names: Sequence[str] | None = None,
        max_rows: int = MAX_ROWS,
        random_state: int = 0,
    ) -> Self:
        """Predict the deviations of rows.

        Parameters
        ----------
        model : regressor or Pipeline
            The model, fitted. With a `TableEncoder` the bins are those of the original column.
        X : array-like of shape (n, d)
            Inputs, as the model takes them.
        column : str or int
            Name or number of the input.
        part : int, default=0
            Which part of a time, where there are several: the hour of day, the day of week, the date.
        n_bins : int, default=10
            Most bins of numbers and dates.
        target : str, default="target"
            Name and unit of the target.
        feature_names : sequence of str, optional
            Names of the columns of an array.
        max_rows : int, default=20_000
            Most rows to use; of larger tables so many are drawn at random.
        random_state : int, default=0
            Seed of the draw.
        """
        inputs, _ = InputTable.draw(model, X, max_rows, random_state, feature_names)
        deviation = predict_inputs(model, inputs).std()
        return cls(variation_of(inputs, column, part), deviation, inputs.description, target, n_bins)

    @classmethod
    def most_informative(
        cls, inputs: InputTable, deviation: Array, target: str = "target", n_shown: int | None = None
    ) -> list[Self]:
        """Displays of all inputs, on one scale, those first that explain most of the predicted deviations."""
        every = [
            cls(variation, deviation, inputs.description, target)
            for name in inputs.informative
            for variation in variations(inputs, name)
        ]
        shown = sorted(every, key=lambda display: -display.explained())[:n_shown]
        highest = max((display.highest for display in shown), default=0.0)
        for display in shown:
            display.highest = highest
        return shown

    def explained(self) -> float:
        """Share of the variance of the deviations that lies between the bins; rows without a bin add nothing."""
        filled = self.sizes > 0
        between = np.sum(self.sizes[filled] * (self.means[filled] - self.overall) ** 2) / self._n_rows
        return float(between / self._variance) if self._variance > 0 else 0.0

    @property
    def caption(self) -> str:
        """What the picture shows, and how to read it."""
        what = "by category" if self.variation.scale == "category" else f"in {len(self.means)} bins of rows"
        return f"Mean predicted deviation {what}; the thin line is that of all rows.{self.of_rows()}"

    def draw(self, ax: "Axes") -> None:
        """Draw steps, or a point for each category, and the mean of all rows."""
        label = with_unit("predicted deviation", self.target)
        if self.variation.scale == "category":
            at = np.arange(len(self.means))[::-1]
            ax.axvline(self.overall, color=GREY, lw=0.8)
            ax.hlines(at, 0, self.means, color=MUTED, lw=1.5)
            ax.plot(self.means, at, "o", color=ACCENT, ms=5)
            name_ticks(ax.yaxis, at, [str(value) for value in self.variation.values])
            label_axes(ax, label, self.variation.label)
            ax.set(xlim=(0, 1.08 * self.highest), ylim=(-0.6, len(at) - 0.4))
            return
        ax.axhline(self.overall, color=GREY, lw=0.8)
        ax.stairs(self.means, self.edges, color=MUTED, alpha=0.35, fill=True)
        ax.stairs(self.means, self.edges, color=ACCENT, lw=1.8, baseline=None)
        label_axes(ax, self.variation.label, label)
        ax.set_ylim(0, 1.08 * self.highest)
        if self.variation.scale == "date":
            concise_dates(ax)


def _edges(values: NDArray, n_bins: int) -> NDArray:
    """Edges of bins of about equally many rows; fewer bins where many rows have the same value."""
    present = values[~_missing(values)]
    distinct = np.unique(present)
    half = np.timedelta64(12, "h") if values.dtype.kind == "M" else 0.5
    if len(distinct) == 1:
        return np.array([distinct[0] - half, distinct[0] + half])
    if len(distinct) > n_bins:
        return np.unique(np.quantile(present, np.linspace(0, 1, n_bins + 1), method="inverted_cdf"))
    steps = np.diff(distinct) / 2
    return np.concatenate([distinct[:1] - steps[:1], distinct[:-1] + steps, distinct[-1:] + steps[-1:]])


def _labels(variation: Variation, edges: NDArray) -> Indices:
    """Number of each row's bin, -1 for rows without one; shape (n,)."""
    values = variation.where_rows_are
    if variation.scale == "category":
        numbers = {category: i for i, category in enumerate(variation.values)}
        return np.array([numbers.get(category, -1) for category in values])
    bins = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    return np.where(_missing(values), -1, bins)


def _missing(values: NDArray) -> Mask:
    return np.isnat(values) if values.dtype.kind == "M" else np.isnan(values)
