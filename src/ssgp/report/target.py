"""The distribution of the target."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ssgp.plot.display import Display
from ssgp.plot.style import ACCENT, MUTED, label_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TargetDisplay"]


class TargetDisplay(Display):
    """Histogram of the target.

    Parameters
    ----------
    y : array-like of shape (n,)
        Targets.
    rows : str, default=""
        Which rows are shown, in words.
    target : str, default="target"
        Name and unit of the target.
    """

    def __init__(self, y: ArrayLike, rows: str = "", target: str = "target") -> None:
        self.y, self.rows, self.target = np.asarray(y, dtype=float), rows, target

    def inside(self) -> np.ndarray:
        """Targets without the few that are so far away that they would hide all others."""
        low, middle, high = np.quantile(self.y, [0.002, 0.5, 0.998])
        reach = 1.5 * max(high - middle, middle - low)
        return self.y[(self.y >= middle - reach) & (self.y <= middle + reach)]

    @property
    def caption(self) -> str:
        """What the picture shows, and how to read it."""
        hidden = len(self.y) - len(self.inside())
        beyond = f" Outside the picture: {hidden:,}." if hidden else ""
        return f"The targets; the line is at their mean.{self.of_rows()}{beyond}"

    def draw(self, ax: "Axes") -> None:
        """Draw bars, and a line at the mean."""
        ax.hist(self.inside(), bins=40, color=MUTED, edgecolor="white", lw=0.4)
        ax.axvline(float(self.y.mean()), color=ACCENT, lw=1.2)
        label_axes(ax, self.target, "rows")
