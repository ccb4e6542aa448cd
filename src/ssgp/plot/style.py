"""Colours and fonts that every figure shares, and matplotlib, which is imported when something is drawn."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ssgp._utils.wording import literal, may_be_years, quantity, short, tick

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = [
    "ACCENT",
    "GREY",
    "INK",
    "MUTED",
    "PANEL",
    "STYLE",
    "concise_dates",
    "label_axes",
    "load_matplotlib",
    "log_ticks",
    "name_ticks",
    "new_axes",
    "styled",
    "write_numbers_out",
]

INK, ACCENT, MUTED, GREY = "#22313f", "#c8553d", "#9fb3c8", "#5b6b7a"
PANEL = (4.6, 3.1)
FEWEST_TICKS = 3
# Numbers of thousands are wide: more of them below a picture run into each other.
MOST_WIDE_TICKS = 4
STYLE: Any = {
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "axes.titlesize": 9.5,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "ssgp",
}


def load_matplotlib() -> Any:  # noqa: ANN401  a module
    """The module matplotlib, or an error that says how to install it."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'ssgp[plot]'") from error
    return matplotlib


@contextmanager
def styled() -> Iterator[None]:
    """Context in which what is drawn has the library's look; the user's settings come back after it."""
    with load_matplotlib().rc_context(STYLE):
        yield


def new_axes(size: tuple[float, float] = PANEL) -> "Axes":
    """Axes of a new figure, shown by notebooks as every figure is."""
    load_matplotlib()
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(figsize=size, layout="constrained")
    return axes


def label_axes(axes: "Axes", x: str, y: str) -> None:
    """Label the axes by words that may be a user's."""
    axes.set(xlabel=literal(x), ylabel=literal(y))


def name_ticks(axis: "Axis", at: ArrayLike, names: Sequence[str]) -> None:
    """Write names, which may be a user's, in the place of numbers, and draw no ticks."""
    axis.set_ticks(at, [literal(short(name)) for name in names])
    axis.set_tick_params(length=0)


def log_ticks(axis: "Axis", low: float, high: float) -> None:
    """Write a few round numbers on a logarithmic axis."""
    ticks: list[float] = []
    for leading in ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8), range(10, 100)):
        places = [value * 10.0**power for power in range(-13, 13) for value in leading]
        ticks = ticks if len(ticks) >= FEWEST_TICKS else sorted(value for value in places if low <= value <= high)
    few = ticks[:: -(-len(ticks) // 6)] if ticks else [low, high]
    axis.set_ticks(few, [quantity(value) for value in few])
    axis.set_ticks([], minor=True)


def write_numbers_out(axes: "Axes") -> None:
    """Write large numbers with their thousands set apart, where matplotlib would write powers of ten."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, ScalarFormatter

    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        plain = isinstance(axis.get_major_formatter(), ScalarFormatter)
        largest = max(abs(low), abs(high))
        if plain and 1e3 <= largest < 1e8 and not may_be_years(low, high):
            axis.set_major_formatter(FuncFormatter(tick))
            if axis is axes.xaxis and largest >= 1e4:
                axis.set_major_locator(MaxNLocator(MOST_WIDE_TICKS))


def concise_dates(axes: "Axes") -> None:
    """Write dates on the horizontal axis, each part of them once."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    # With these two numbers there is a step for every range; others may find none, and warn.
    locator = AutoDateLocator(minticks=3, maxticks=7)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
