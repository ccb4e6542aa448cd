"""Predictions beside what was observed, row by row."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ssgp._utils.arrays import Array
from ssgp._utils.wording import with_unit
from ssgp.distributions.base import Distribution
from ssgp.distributions.normal import NormalDistribution
from ssgp.plot.display import Display
from ssgp.plot.predictive import PredictedRows
from ssgp.plot.style import ACCENT, INK, MUTED, label_axes, load_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["IntervalDisplay", "ObservedDisplay"]


# Levels of the quantiles at which the 95 % and the 50 % intervals end.
LEVELS = (0.025, 0.25, 0.75, 0.975)
# More points than these hide each other: their density is drawn.
MOST_POINTS = 1000


class IntervalDisplay(Display):
    """Intervals of some rows and what was observed, the lowest predicted mean first.

    Parameters
    ----------
    y, mean : array-like of shape (n,)
        Targets and predicted means.
    quantiles : array-like of shape (n, 4)
        Predicted quantiles of the levels 0.025, 0.25, 0.75 and 0.975.
    rows : str, default=""
        Which rows are shown, in words.
    target : str, default="target"
        Name and unit of the target.
    """

    size = (5.6, 3.1)
    noted_above = False

    def __init__(
        self, y: ArrayLike, mean: ArrayLike, quantiles: ArrayLike, rows: str = "", target: str = "target"
    ) -> None:
        order = np.argsort(np.asarray(mean), kind="stable")
        self.y, self.mean = np.asarray(y, dtype=float)[order], np.asarray(mean, dtype=float)[order]
        self.quantiles, self.rows, self.target = np.asarray(quantiles, dtype=float)[order], rows, target

    @classmethod
    def from_estimator(
        cls,
        model: Any,  # noqa: ANN401  any regressor of the library
        X: Any,  # noqa: ANN401  any table
        y: ArrayLike,
        *,
        target: str = "target",
        max_rows: int = 60,
        random_state: int = 0,
    ) -> Self:
        """Predict rows whose targets are known.

        Parameters
        ----------
        model : regressor or Pipeline
            The model, fitted.
        X : array-like of shape (n, d)
            Inputs, as the model takes them.
        y : array-like of shape (n,)
            Targets.
        target : str, default="target"
            Name and unit of the target.
        max_rows : int, default=60
            Most rows to use; of larger tables so many are drawn at random.
        random_state : int, default=0
            Seed of the draw.
        """
        return cls.from_predicted_rows(PredictedRows.draw(model, X, y, max_rows, random_state), target)

    @classmethod
    def from_predicted_rows(cls, predicted: PredictedRows, target: str = "target") -> Self:
        """Show rows that have been predicted already."""
        return cls._from_distribution(predicted.y, predicted.distribution, predicted.description, target)

    @classmethod
    def from_predictions(cls, y: ArrayLike, mean: ArrayLike, std: ArrayLike, *, target: str = "target") -> Self:
        """Compare targets with normal predictions, shapes (n,)."""
        y = np.asarray(y, dtype=float)
        return cls._from_distribution(y, NormalDistribution.of(mean, std), f"{len(y):,} rows", target)

    @classmethod
    def _from_distribution(cls, y: Array, distribution: Distribution, rows: str, target: str) -> Self:
        return cls(y, distribution.mean(), distribution.quantile(LEVELS), rows, target)

    def held(self) -> int:
        """Number of 95 % intervals that hold the observation."""
        return int(np.sum((self.quantiles[:, 0] <= self.y) & (self.y <= self.quantiles[:, 3])))

    @property
    def caption(self) -> str:
        """What the picture shows, and how to read it."""
        return (
            "Some predictions, in order of their means: where the model expects an observation, and where it fell. "
            f"{self.held()} of these {len(self.y)} observations are inside their 95 % interval."
        )

    def draw(self, ax: "Axes") -> None:
        """Draw both intervals of every row, and its observation."""
        at, (low, lower, upper, high) = np.arange(len(self.y)), self.quantiles.T
        width = np.clip(200 / max(len(at), 1), 1.0, 4.0)
        ax.vlines(at, low, high, color=MUTED, lw=0.5 * width, label="95 % interval")
        ax.vlines(at, lower, upper, color=INK, lw=width, label="50 % interval")
        ax.plot(at, self.y, "o", color=ACCENT, ms=3.5, label="observed")
        label_axes(ax, f"{self.rows or 'rows'}; lowest predicted mean first", self.target)
        ax.set_xticks([])
        ax.margins(x=0.01)
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderpad=0, handlelength=1.2)


class ObservedDisplay(Display):
    """Observations by predicted mean: points, or the density of many.

    Parameters
    ----------
    y, mean : array-like of shape (n,)
        Targets and predicted means.
    rows : str, default=""
        Which rows are shown, in words.
    target : str, default="target"
        Name and unit of the target.
    """

    size = (3.4, 3.1)

    def __init__(self, y: ArrayLike, mean: ArrayLike, rows: str = "", target: str = "target") -> None:
        self.y, self.mean = np.asarray(y, dtype=float), np.asarray(mean, dtype=float)
        self.rows, self.target = rows, target

    @classmethod
    def from_estimator(
        cls,
        model: Any,  # noqa: ANN401  any regressor of the library
        X: Any,  # noqa: ANN401  any table
        y: ArrayLike,
        *,
        target: str = "target",
        max_rows: int = 20_000,
        random_state: int = 0,
    ) -> Self:
        """Predict rows whose targets are known.

        Parameters
        ----------
        model : regressor or Pipeline
            The model, fitted.
        X : array-like of shape (n, d)
            Inputs, as the model takes them.
        y : array-like of shape (n,)
            Targets.
        target : str, default="target"
            Name and unit of the target.
        max_rows : int, default=20_000
            Most rows to use; of larger tables so many are drawn at random.
        random_state : int, default=0
            Seed of the draw.
        """
        predicted = PredictedRows.draw(model, X, y, max_rows, random_state)
        return cls(predicted.y, predicted.mean, predicted.description, target)

    @classmethod
    def from_predictions(cls, y: ArrayLike, mean: ArrayLike, *, target: str = "target") -> Self:
        """Compare targets with predicted means, shapes (n,)."""
        return cls(y, mean, f"{np.size(y):,} rows", target)

    def limits(self) -> tuple[float, float]:
        """Ends of both axes, between which nearly all rows are: a few far away would hide all others."""
        both = np.concatenate([np.quantile(values, [0.002, 0.998]) for values in (self.y, self.mean)])
        margin = 0.04 * (both.max() - both.min()) or 1.0
        return float(both.min() - margin), float(both.max() + margin)

    def outside(self) -> int:
        """Number of rows that are not in the picture."""
        low, high = self.limits()
        return int(np.sum((self.y < low) | (self.y > high) | (self.mean < low) | (self.mean > high)))

    @property
    def caption(self) -> str:
        """What the picture shows, and how to read it."""
        what = " Darker where there are more rows." if len(self.y) > MOST_POINTS else ""
        hidden = f" Outside the picture: {self.outside():,}." if self.outside() else ""
        return f"Observations by predicted mean; on the line they are equal.{what}{self.of_rows()}{hidden}"

    def draw(self, ax: "Axes") -> None:
        """Draw points or their density, and the line on which predicted and observed are equal."""
        low, high = self.limits()
        if len(self.y) > MOST_POINTS:
            colours, extent = _ink_colours(), (low, high, low, high)
            ax.hexbin(self.mean, self.y, gridsize=40, extent=extent, bins="log", mincnt=1, cmap=colours, linewidths=0.2)
        else:
            ax.plot(self.mean, self.y, "o", color=INK, ms=2.5, alpha=0.5, mew=0)
        ax.plot([low, high], [low, high], color=ACCENT, lw=1.2)
        ax.set(xlim=(low, high), ylim=(low, high), aspect="equal")
        label_axes(ax, with_unit("predicted mean", self.target), f"observed {self.target}")


def _ink_colours() -> Any:  # noqa: ANN401  a matplotlib colour map
    """Colours from nearly white to ink."""
    load_matplotlib()
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("ink", ["#e3eaf1", MUTED, INK])
