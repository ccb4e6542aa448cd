"""Effects: what the prediction is when one input is moved and all others stay."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.plot.display import Display
from ssgp.plot.inputs import InputTable
from ssgp.plot.predictive import predict_inputs
from ssgp.plot.style import ACCENT, INK, MUTED, concise_dates, label_axes, name_ticks
from ssgp.plot.variation import Variation, variation_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EffectDisplay"]


MAX_ROWS = 100
MOST_TICKS = 100


class EffectDisplay(Display):
    """Partial dependence: predicted mean and interval as one input is moved, averaged over rows.

    All rows are given the same value of the input, then the next one, while their other inputs stay as they are. Line
    and band are means over the rows of the predicted mean and of the ends of the interval of an observation.

    Parameters
    ----------
    variation : Variation
        How the input is moved, to k values.
    mean, low, high : arrays of shape (k,)
        Predicted means and ends of their intervals, averaged over the rows.
    coverage : float
        Share of observations that the interval should hold.
    rows : str, default=""
        Which rows are shown, in words.
    target : str, default="target"
        Name and unit of the target.

    Attributes
    ----------
    limits : tuple of float
        Ends of the target's axis, near enough for the line to be seen to move; the band may leave them.
    """

    def __init__(
        self,
        variation: Variation,
        mean: Array,
        low: Array,
        high: Array,
        coverage: float,
        rows: str = "",
        target: str = "target",
    ) -> None:
        self.variation, self.mean, self.low, self.high = variation, mean, low, high
        self.coverage, self.rows, self.target = coverage, rows, target
        self.limits = _limits(mean, low, high)

    @classmethod
    def from_estimator(
        cls,
        model: Any,  # noqa: ANN401  any regressor of the library
        X: Any,  # noqa: ANN401  any table
        column: str | int,
        *,
        part: int = 0,
        coverage: float = 0.5,
        n_values: int = 20,
        target: str = "target",
        feature_names: Sequence[str] | None = None,
        max_rows: int = MAX_ROWS,
        random_state: int = 0,
    ) -> Self:
        """Move one input of some rows.

        Parameters
        ----------
        model : regressor or Pipeline
            The model, fitted. With a `TableEncoder` the original column is moved, not its encodings.
        X : array-like of shape (n, d)
            Inputs, as the model takes them.
        column : str or int
            Name or number of the input.
        part : int, default=0
            Which part of a time is moved, where there are several: the hour of day, the day of week, the date.
        coverage : float, default=0.5
            Share of observations that the interval should hold.
        n_values : int, default=20
            Most values to which numbers and dates are moved.
        target : str, default="target"
            Name and unit of the target.
        feature_names : sequence of str, optional
            Names of the columns of an array.
        max_rows : int, default=100
            Most rows to use; of larger tables so many are drawn at random.
        random_state : int, default=0
            Seed of the draw.
        """
        inputs, _ = InputTable.draw(model, X, max_rows, random_state, feature_names)
        return cls.of_variation(model, inputs, variation_of(inputs, column, part, n_values), coverage, target)

    @classmethod
    def of_variation(
        cls,
        model: Any,  # noqa: ANN401
        inputs: InputTable,
        variation: Variation,
        coverage: float = 0.5,
        target: str = "target",
    ) -> Self:
        """Move one input of rows that have been drawn already."""
        columns = [variation.moved(i) for i in range(len(variation.values))]
        distribution = predict_inputs(model, inputs.repeated(variation.column, columns))
        low, high = distribution.interval(coverage).T
        mean, low, high = (values.reshape(len(columns), -1).mean(axis=1) for values in (distribution.mean(), low, high))
        return cls(variation, mean, low, high, coverage, inputs.description, target)

    @property
    def caption(self) -> str:
        """What the picture shows, and how to read it."""
        ticks = "" if self.variation.scale == "category" else " Ticks at the bottom are rows."
        return (
            f"Predicted mean, and ends of the {100 * self.coverage:g} % interval, as {self.variation.label} varies "
            f"and all else stays the same; averages over {self.rows}.{ticks}"
        )

    def draw(self, ax: "Axes") -> None:
        """Draw a line with its band, or a point with its interval for each category."""
        if self.variation.scale == "category":
            self._draw_categories(ax)
            ax.set_xlim(self.limits)
            return
        values = self.variation.values
        ax.fill_between(values, self.low, self.high, color=MUTED, alpha=0.45, lw=0)
        ax.plot(values, self.mean, color=ACCENT, lw=1.8)
        rows = self.variation.where_rows_are
        ticks = rows[:: -(-len(rows) // MOST_TICKS)]
        ticks = ticks[(ticks >= values[0]) & (ticks <= values[-1])]
        ax.plot(ticks, np.full(len(ticks), 0.02), "|", color=INK, alpha=0.4, ms=5, transform=ax.get_xaxis_transform())
        label_axes(ax, self.variation.label, self.target)
        ax.margins(x=0.02)
        ax.set_ylim(self.limits)
        if self.variation.scale == "date":
            concise_dates(ax)

    def _draw_categories(self, ax: "Axes") -> None:
        at = np.arange(len(self.mean))[::-1]
        ax.hlines(at, self.low, self.high, color=MUTED, lw=5, alpha=0.6)
        ax.plot(self.mean, at, "o", color=ACCENT, ms=5)
        name_ticks(ax.yaxis, at, [str(value) for value in self.variation.values])
        label_axes(ax, self.target, self.variation.label)
        ax.set_ylim(-0.6, len(at) - 0.4)


def _limits(mean: Array, low: Array, high: Array) -> tuple[float, float]:
    """Ends of an axis on which the mean's movement takes a third at least, or a tenth of it where it hardly moves."""
    least, most, whole = float(mean.min()), float(mean.max()), float(high.max() - low.min())
    reach = max(3.0 * (most - least), 0.3 * whole) / 2
    centre, margin = (least + most) / 2, 0.06 * min(2 * reach, whole) or 1.0
    return max(float(low.min()), centre - reach) - margin, min(float(high.max()), centre + reach) + margin
