"""Calibration: where observations fall in their predicted distributions, and how large errors are."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.wording import quantity, with_unit
from ssgp.distributions.normal import NormalDistribution
from ssgp.plot.display import Display
from ssgp.plot.predictive import PredictedRows, in_central_interval
from ssgp.plot.style import ACCENT, GREY, MUTED, label_axes, log_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CoverageByDeviationDisplay", "CoverageDisplay", "ErrorByDeviationDisplay", "PITDisplay"]


MAX_ROWS = 20_000
# More characters of names of groups run into each other.
MOST_CHARACTERS = 44
NOMINAL = np.round(np.append(np.arange(0.05, 0.96, 0.05), 0.99), 2)


class _FromPIT(Display):
    """A display of the probability integral transform alone."""

    def __init__(self, pit: ArrayLike, rows: str = "") -> None:
        self.pit, self.rows = np.asarray(pit, dtype=float), rows

    @classmethod
    def from_estimator(
        cls,
        model: Any,  # noqa: ANN401  any regressor of the library
        X: Any,  # noqa: ANN401  any table
        y: ArrayLike,
        *,
        max_rows: int = MAX_ROWS,
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
        max_rows : int, default=20_000
            Most rows to use; of larger tables so many are drawn at random.
        random_state : int, default=0
            Seed of the draw.
        """
        predicted = PredictedRows.draw(model, X, y, max_rows, random_state)
        return cls(predicted.pit, predicted.description)

    @classmethod
    def from_predictions(cls, y: ArrayLike, mean: ArrayLike, std: ArrayLike) -> Self:
        """Compare targets with normal predictions, shapes (n,)."""
        pit = NormalDistribution.of(mean, std).cdf(np.asarray(y, dtype=float))
        return cls(pit, f"{len(pit):,} rows")


class PITDisplay(_FromPIT):
    """Histogram of the probability integral transform: where observations fall in their predicted distributions.

    If the distributions are right, every bin holds the same share of the rows but for chance; the band says how much
    chance is to be expected. A hump says that they are too wide, a trough too narrow, a slope too high or too low.

    Parameters
    ----------
    pit : array-like of shape (n,)
        Predictive probabilities of at most the observation.
    rows : str, default=""
        Which rows are shown, in words.

    Examples
    --------
    >>> from ssgp.plot import PITDisplay
    >>> PITDisplay.from_predictions(y=[0.0, 1.0], mean=[0.0, 0.0], std=[1.0, 1.0]).pit.round(2).tolist()
    [0.5, 0.84]
    """

    n_bins = 20

    def shares(self) -> Array:
        """Share of the rows in each bin, shape (n_bins,)."""
        return np.histogram(self.pit, self.n_bins, (0.0, 1.0))[0] / len(self.pit)

    def band(self) -> tuple[float, float]:
        """Lowest and highest share of a bin in 95 % of all samples of so many rows, if the distributions are right."""
        low, high = binom.interval(0.95, len(self.pit), 1 / self.n_bins)
        return low / len(self.pit), high / len(self.pit)

    @property
    def caption(self) -> str:
        """What the picture shows, and how to read it."""
        return (
            "Where observations fell in their predicted distributions. If these are right, 95 % of the bars end inside "
            f"the band. A hump in the middle means too wide, high ends mean too narrow.{self.of_rows()}"
        )

    def draw(self, ax: "Axes") -> None:
        """Draw bars, the band, and the share that each bar should have."""
        edges = np.linspace(0, 1, self.n_bins + 1)
        ax.bar(edges[:-1], 100 * self.shares(), np.diff(edges), align="edge", color=MUTED, edgecolor="white", lw=0.8)
        low, high = self.band()
        ax.axhspan(100 * low, 100 * high, color=ACCENT, alpha=0.15, lw=0)
        ax.axhline(100 / self.n_bins, color=ACCENT, lw=1.2)
        ax.set(xlabel="predicted probability of at most the observation", ylabel="rows (%)", xlim=(0, 1))


class CoverageDisplay(_FromPIT):
    """Share of observations inside central intervals, by the share that should be there.

    Parameters
    ----------
    pit : array-like of shape (n,)
        Predictive probabilities of at most the observation.
    rows : str, default=""
        Which rows are shown, in words.
    """

    size = (3.4, 3.1)
    levels = NOMINAL

    def observed(self) -> Array:
        """Share inside the interval of each of `levels`, shape (k,)."""
        return np.array([np.mean(in_central_interval(self.pit, level)) for level in self.levels])

    def band(self) -> tuple[Array, Array]:
        """Lowest and highest shares in 95 % of all samples of so many rows, if the intervals are right; shapes (k,)."""
        low, high = binom.interval(0.95, len(self.pit), self.levels)
        return low / len(self.pit), high / len(self.pit)

    @property
    def caption(self) -> str:
        """What the picture shows, and how to read it."""
        return (
            "Share of observations inside central intervals, by the share that should be there. Below the diagonal, "
            f"intervals are too narrow, and above it too wide; the band is what chance allows.{self.of_rows()}"
        )

    def draw(self, ax: "Axes") -> None:
        """Draw the line, the diagonal and its band."""
        low, high = self.band()
        ax.fill_between(100 * self.levels, 100 * low, 100 * high, color=MUTED, alpha=0.5, lw=0)
        ax.plot([0, 100], [0, 100], color=GREY, lw=0.8)
        ax.plot(100 * self.levels, 100 * self.observed(), color=ACCENT, lw=1.8, marker="o", ms=3)
        ticks = [0, 25, 50, 75, 100]
        ax.set(xlabel="nominal coverage (%)", ylabel="observations inside (%)", xticks=ticks, yticks=ticks)
        ax.set(xlim=(0, 100), ylim=(0, 100), aspect="equal")


@dataclass(frozen=True)
class DeviationGroups:
    """Rows in groups of equal size by predicted deviation, the surest first.

    Attributes
    ----------
    size : array of int, shape (k,)
        Number of rows of each group.
    deviation : array of shape (k,)
        Root mean square of the predicted deviations.
    error : array of shape (k,)
        Root mean square of the errors.
    covered : array of shape (k,)
        Share of observations inside their interval.
    """

    size: Indices
    deviation: Array
    error: Array
    covered: Array

    @classmethod
    def of(cls, error: Array, deviation: Array, inside: Mask, n_groups: int) -> Self:
        """Group rows by their errors, deviations and whether intervals hold the observation, shapes (n,)."""
        order = np.argsort(deviation, kind="stable")
        groups = [rows for rows in np.array_split(order, n_groups) if len(rows)]
        return cls(
            np.array([len(rows) for rows in groups]),
            np.array([np.sqrt(np.mean(deviation[rows] ** 2)) for rows in groups]),
            np.array([np.sqrt(np.mean(error[rows] ** 2)) for rows in groups]),
            np.array([np.mean(inside[rows]) for rows in groups]),
        )


class _ByDeviation(Display):
    """A display of rows in groups by predicted deviation."""

    def __init__(self, groups: DeviationGroups, level: float = 0.95, rows: str = "", target: str = "target") -> None:
        self.groups, self.level, self.rows, self.target = groups, level, rows, target

    @classmethod
    def from_estimator(
        cls,
        model: Any,  # noqa: ANN401  any regressor of the library
        X: Any,  # noqa: ANN401  any table
        y: ArrayLike,
        *,
        n_groups: int = 10,
        level: float = 0.95,
        target: str = "target",
        max_rows: int = MAX_ROWS,
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
        n_groups : int, default=10
            Number of groups, which have equally many rows.
        level : float, default=0.95
            Nominal coverage of the intervals.
        target : str, default="target"
            Name and unit of the target.
        max_rows : int, default=20_000
            Most rows to use; of larger tables so many are drawn at random.
        random_state : int, default=0
            Seed of the draw.
        """
        predicted = PredictedRows.draw(model, X, y, max_rows, random_state)
        return cls.from_predicted_rows(predicted, n_groups, level, target)

    @classmethod
    def from_predicted_rows(
        cls, predicted: PredictedRows, n_groups: int = 10, level: float = 0.95, target: str = "target"
    ) -> Self:
        """Group rows that have been predicted already."""
        inside = in_central_interval(predicted.pit, level)
        groups = DeviationGroups.of(predicted.y - predicted.mean, predicted.std, inside, n_groups)
        return cls(groups, level, predicted.description, target)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        mean: ArrayLike,
        std: ArrayLike,
        *,
        n_groups: int = 10,
        level: float = 0.95,
        target: str = "target",
    ) -> Self:
        """Compare targets with normal predictions, shapes (n,)."""
        distribution, y = NormalDistribution.of(mean, std), np.asarray(y, dtype=float)
        inside = in_central_interval(distribution.cdf(y), level)
        groups = DeviationGroups.of(y - distribution.mean(), distribution.std(), inside, n_groups)
        return cls(groups, level, f"{len(y):,} rows", target)

    @property
    def n_rows(self) -> int:
        """Number of rows of all groups together."""
        return int(self.groups.size.sum())


class ErrorByDeviationDisplay(_ByDeviation):
    """Root mean squared error of rows in groups by predicted deviation, beside what the model says it is.

    Parameters
    ----------
    groups : DeviationGroups
        Rows in groups, as `from_estimator` and `from_predictions` make them.
    level : float, default=0.95
        Nominal coverage of the intervals.
    rows : str, default=""
        Which rows are shown, in words.
    target : str, default="target"
        Name and unit of the target.
    """

    size = (3.4, 3.1)

    @property
    def caption(self) -> str:
        """What the picture shows, and how to read it."""
        return (
            f"Errors where the model is confident, and where it is not: {len(self.groups.size)} groups of rows, by "
            f"predicted deviation. On the line, errors are as large as predicted.{self.of_rows()}"
        )

    def draw(self, ax: "Axes") -> None:
        """Draw the groups, and the line on which errors are as predicted."""
        deviation, error = self.groups.deviation, self.groups.error
        low = 0.8 * min(deviation.min(), error[error > 0].min(initial=deviation.min()))
        high = 1.25 * max(deviation.max(), error.max())
        ax.plot([low, high], [low, high], color=GREY, lw=0.8)
        ax.plot(deviation, error, color=ACCENT, lw=1.2, marker="o", ms=4)
        ax.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
        log_ticks(ax.xaxis, low, high)
        log_ticks(ax.yaxis, low, high)
        error_label = with_unit("root mean squared error", self.target)
        label_axes(ax, with_unit("predicted deviation", self.target), error_label)


class CoverageByDeviationDisplay(_ByDeviation):
    """Coverage of rows in groups by predicted deviation, from the narrowest intervals to the widest.

    Parameters
    ----------
    groups : DeviationGroups
        Rows in groups, as `from_estimator` and `from_predictions` make them.
    level : float, default=0.95
        Nominal coverage of the intervals.
    rows : str, default=""
        Which rows are shown, in words.
    target : str, default="target"
        Name and unit of the target.
    """

    def band(self) -> tuple[Array, Array]:
        """Lowest and highest shares in 95 % of all samples, if the intervals are right; shapes (k,)."""
        low, high = binom.interval(0.95, self.groups.size, self.level)
        return low / self.groups.size, high / self.groups.size

    @property
    def caption(self) -> str:
        """What the picture shows, and how to read it."""
        return (
            f"Share of observations inside their {100 * self.level:g} % intervals, in {len(self.groups.size)} groups "
            f"of rows, from the most to the least certain; the band is what chance allows.{self.of_rows()}"
        )

    def draw(self, ax: "Axes") -> None:
        """Draw the groups, with what chance allows."""
        at, (low, high) = np.arange(len(self.groups.size)), self.band()
        ax.bar(at, 100 * (high - low), 0.7, 100 * low, color=MUTED, alpha=0.5, lw=0)
        ax.axhline(100 * self.level, color=GREY, lw=0.8)
        ax.plot(at, 100 * self.groups.covered, "o", color=ACCENT, ms=4.5)
        label = with_unit("predicted deviation of the group", self.target)
        label_axes(ax, label, f"inside {100 * self.level:g} % intervals (%)")
        ax.set_xlim(-0.6, len(at) - 0.4)
        names = [quantity(value) for value in self.groups.deviation]
        every = 1 if len("".join(names)) <= MOST_CHARACTERS else 2
        ax.set_xticks(at[::every], names[::every])
