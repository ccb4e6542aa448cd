"""The base class of all displays."""

from abc import ABC, abstractmethod
from contextlib import nullcontext
from typing import TYPE_CHECKING, ClassVar, Self

from ssgp._utils.wording import literal
from ssgp.plot.style import GREY, PANEL, load_matplotlib, new_axes, styled, write_numbers_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

__all__ = ["Display"]


class Display(ABC):
    """One picture: it holds what is drawn, and draws it as often as it is asked to.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes that the last `plot` drew on.
    figure_ : matplotlib Figure
        Figure of these axes.
    rows : str
        Which rows are shown, in words.
    """

    size: ClassVar[tuple[float, float]] = PANEL
    # Whether the rows are described above the axes; otherwise the label of an axis describes them.
    noted_above: ClassVar[bool] = True
    rows: str
    ax_: "Axes"
    figure_: "FigureBase"

    def plot(self, ax: "Axes | None" = None, *, note: bool = True) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        note : bool, default=True
            Whether to write above the axes which rows are shown.

        Returns
        -------
        self : Display
            The display, with `ax_` and `figure_`.
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
        """What the picture shows, and how to read it, in a sentence or two."""

    def of_rows(self) -> str:
        """The end of a caption: which rows are shown."""
        return f" {self.rows}." if self.rows else ""

    @abstractmethod
    def draw(self, ax: "Axes") -> None:
        """Draw everything but the note."""
