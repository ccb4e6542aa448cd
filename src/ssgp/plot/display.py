"""What the displays have in common."""

from abc import ABC, abstractmethod
from contextlib import nullcontext
from typing import TYPE_CHECKING, ClassVar, Self

from ssgp.plot.style import GREY, PANEL, load_matplotlib, new_axes, styled, write_numbers_out
from ssgp.plot.wording import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

__all__ = ["Display"]


class Display(ABC):
    """One picture: it holds what is drawn, and draws it as often as it is asked to.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Those of the last `plot`.
    figure_ : matplotlib Figure
        Theirs.
    rows : str
        Which rows it is of, in words.
    """

    size: ClassVar[tuple[float, float]] = PANEL
    # Whether the place above the axes is free to say which rows it is of; otherwise the axis says so.
    noted_above: ClassVar[bool] = True
    rows: str
    ax_: "Axes"
    figure_: "FigureBase"

    def plot(self, ax: "Axes | None" = None, *, note: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to; by default in a new figure.
        note : bool, default=True
            Whether to write above the axes which rows it is of.

        Returns
        -------
        self : Display
            With `ax_` and `figure_`.
        """
        load_matplotlib()
        with styled() if ax is None else nullcontext():
            self.ax_ = new_axes(self.size) if ax is None else ax
            self.draw(self.ax_)
            write_numbers_out(self.ax_)
            if note and self.noted_above and self.rows:
                self.ax_.set_title(literal(self.rows), loc="right", fontsize="small", color=GREY)
        self.figure_ = self.ax_.figure
        return self

    @property
    @abstractmethod
    def caption(self) -> str:
        """What is to be seen, in a sentence or two."""

    def of_rows(self) -> str:
        """The end of a caption: which rows it is of."""
        return f" {self.rows}." if self.rows else ""

    @abstractmethod
    def draw(self, ax: "Axes") -> None:
        """Draw everything but the note."""
