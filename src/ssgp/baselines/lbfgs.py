"""The collapsed bound climbed with all rows at once, by L-BFGS."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from ssgp._utils.arrays import Array
from ssgp.baselines.model import Likelihood, Model, collapsed_bound, learning_limits
from ssgp.rows.blocks import Rows

__all__ = ["climb"]


def climb(
    rows: Rows,
    model: Model,
    likelihood: type[Likelihood],
    max_iter: int,
    tol: float,
    n_jobs: int | None,
    after_step: Callable[[Model, float], bool],
) -> int:
    """Maximise the collapsed bound by L-BFGS; return how many models on the way could not be evaluated.

    `after_step` is given the model and its bound a row after each step, and says whether to stop.
    """
    loss = _Loss(lambda vector: collapsed_bound(rows, model.with_vector(vector), likelihood, n_jobs), rows.total)

    def callback(vector: Array) -> None:
        place = loss.begin_step()
        if after_step(model.with_vector(place.vector), -place.value):
            raise StopIteration

    start, bounds = model.to_vector(), list(zip(*learning_limits(model), strict=True))
    options = {"maxiter": max_iter, "maxfun": 2 * max_iter + 20, "ftol": tol, "gtol": 1e-7, "maxcor": 20}
    minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, callback=callback, options=options)
    return loss.n_failed


@dataclass(frozen=True)
class _Place:
    """A point, and the loss and its gradient there."""

    vector: Array
    value: float
    gradient: Array


class _Loss:
    """Minus the bound a row and its gradient, finite everywhere.

    Where the bound cannot be evaluated the loss is flat, and as far above the point where the step began as the slope
    there promised to fall: a search along the line then turns back to about a tenth. At infinity it would end as if it
    had converged, and from a very high wall it would turn back to a step of nothing.

    Parameters
    ----------
    bound : callable
        Bound and gradient at a point.
    total : float
        How many rows they are of.
    """

    def __init__(self, bound: Callable[[Array], tuple[float, Array]], total: float) -> None:
        self._bound, self._total, self.n_failed = bound, total, 0
        self._began: _Place | None = None
        self._last: _Place | None = None

    def __call__(self, vector: Array) -> tuple[float, Array]:
        place = self._evaluate(vector)
        if place is None:
            self.n_failed += 1
            return self._wall(vector), np.zeros_like(vector)
        self._began, self._last = self._began or place, place
        return place.value, place.gradient

    def _evaluate(self, vector: Array) -> _Place | None:
        try:
            bound, gradient = self._bound(vector)
        except np.linalg.LinAlgError:
            return None
        finite = np.isfinite(bound) and np.isfinite(gradient).all()
        return _Place(vector.copy(), -bound / self._total, -gradient / self._total) if finite else None

    def _wall(self, vector: Array) -> float:
        began = self._began
        return 0.0 if began is None else began.value + abs(float(began.gradient @ (vector - began.vector)))

    def begin_step(self) -> _Place:
        """The next step begins at the last point that could be evaluated, which is returned."""
        if self._last is None:
            raise RuntimeError("a step has to begin where the loss was evaluated")
        self._began = self._last
        return self._last
