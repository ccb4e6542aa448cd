"""The bound that learning maximises."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ssgp._utils.arrays import Array
from ssgp.distributions.pipeline import steps_of
from ssgp.distributions.recalibrated import original
from ssgp.plot.display import Display
from ssgp.plot.style import ACCENT, MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BoundDisplay"]


POINTS = 1000


class BoundDisplay(Display):
    """The bound that learning maximises, step by step.

    Parameters
    ----------
    bounds : array-like of shape (k,)
        Bounds of the steps, in nats per row; those that are not finite, of steps that were skipped, are left out.
    """

    rows = ""

    def __init__(self, bounds: ArrayLike) -> None:
        self.bounds = np.asarray(bounds, dtype=float)
        self.bounds = np.where(np.isfinite(self.bounds), self.bounds, np.nan)

    @classmethod
    def from_estimator(cls, model: Any) -> Self:  # noqa: ANN401  any regressor of the library
        """Take the trace of a fitted regressor, or of a pipeline that ends with one."""
        check_is_fitted(model)
        regressor = original(steps_of(model)[-1])
        if len(getattr(regressor, "bound_trace_", ())) == 0:
            raise ValueError(f"{type(regressor).__name__} has no trace of a bound: it took no learning steps")
        return cls(regressor.bound_trace_)

    def smooth(self) -> Array:
        """Running mean over a twentieth of the steps, shape (k,)."""
        window = max(len(self.bounds) // 20, 1)
        ends = np.arange(1, len(self.bounds) + 1)
        starts = np.maximum(ends - window, 0)

        def over_window(values: Array) -> Array:
            sums = np.cumsum(np.concatenate([[0.0], values]))
            return sums[ends] - sums[starts]

        counts = over_window(np.isfinite(self.bounds).astype(float))
        return over_window(np.nan_to_num(self.bounds)) / np.where(counts > 0, counts, np.nan)

    @property
    def caption(self) -> str:
        """What the picture shows, and how to read it."""
        return (
            f"The bound of the log probability of the training targets over {len(self.bounds):,} learning steps: "
            "estimates from single steps, and their running mean. If it levels off at the end, learning is done."
        )

    def draw(self, ax: "Axes") -> None:
        """Draw single steps and their running mean; the steep first steps may leave the picture."""
        steps, smooth = np.arange(1, len(self.bounds) + 1), self.smooth()
        every = -(-len(steps) // POINTS)
        ax.plot(steps[::every], self.bounds[::every], color=MUTED, lw=0.7)
        ax.plot(steps[::every], smooth[::every], color=ACCENT, lw=1.8)
        ax.set(xlabel="learning step", ylabel="bound (nats per row)")
        late = self.bounds[len(self.bounds) // 20 :]
        lowest, highest = np.nanmin(late), np.nanmax(late)
        margin = 0.05 * (highest - lowest) or 1.0
        ax.set_ylim(lowest - margin, np.nanmax(self.bounds) + margin)
        ax.margins(x=0.01)
