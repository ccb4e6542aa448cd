"""Maximisation of the collapsed bound of all rows by L-BFGS."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from ssgp._utils.arrays import Array
from ssgp.baselines.model import Likelihood, Model, collapsed_bound, parameter_limits
from ssgp.rows.blocks import Rows

__all__ = ["maximize_bound"]


def maximize_bound(
    rows: Rows,
    model: Model,
    likelihood: type[Likelihood],
    max_iter: int,
    tol: float,
    n_jobs: int | None,
    after_step: Callable[[Model, float], bool],
) -> int:
    """Maximise the collapsed bound; return the number of models on the way that could not be evaluated.

    `after_step(model, bound)` is called after each step, with the bound per row, and returns whether to stop.
    """
    loss = _Loss(lambda vector: collapsed_bound(rows, model.with_vector(vector), likelihood, n_jobs), rows.total)

    def callback(vector: Array) -> None:
        point = loss.begin_step()
        if after_step(model.with_vector(point.vector), -point.value):
            raise StopIteration

    start, bounds = model.to_vector(), list(zip(*parameter_limits(model), strict=True))
    options = {"maxiter": max_iter, "maxfun": 2 * max_iter + 20, "ftol": tol, "gtol": 1e-7, "maxcor": 20}
    minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, callback=callback, options=options)
    return loss.n_failed


@dataclass(frozen=True)
class _Point:
    """A vector of parameters, and the loss and its gradient there."""

    vector: Array
    value: float
    gradient: Array


class _Loss:
    """Minus the bound per row and its gradient, finite everywhere.

    Where the bound cannot be evaluated the loss is flat, and as far above its value at the start of the step as the
    gradient there predicts it to fall: a line search then goes back to about a tenth of the step. With an infinite loss
    it would end as if it had converged, and with a very large one it would go back to a step of nothing.

    Parameters
    ----------
    bound : callable
        Bound and its gradient, as a function of the parameters.
    total : float
        Number of rows.
    """

    def __init__(self, bound: Callable[[Array], tuple[float, Array]], total: float) -> None:
        self._bound, self._total, self.n_failed = bound, total, 0
        self._start: _Point | None = None
        self._last: _Point | None = None

    def __call__(self, vector: Array) -> tuple[float, Array]:
        point = self._evaluate(vector)
        if point is None:
            self.n_failed += 1
            return self._failure_value(vector), np.zeros_like(vector)
        self._start, self._last = self._start or point, point
        return point.value, point.gradient

    def _evaluate(self, vector: Array) -> _Point | None:
        """Loss and gradient, None where they are not finite."""
        try:
            bound, gradient = self._bound(vector)
        except np.linalg.LinAlgError:
            return None
        finite = np.isfinite(bound) and np.isfinite(gradient).all()
        return _Point(vector.copy(), -bound / self._total, -gradient / self._total) if finite else None

    def _failure_value(self, vector: Array) -> float:
        """Loss where the bound cannot be evaluated."""
        start = self._start
        return 0.0 if start is None else start.value + abs(float(start.gradient @ (vector - start.vector)))

    def begin_step(self) -> _Point:
        """Begin a step at the last point that could be evaluated, and return that point."""
        if self._last is None:
            raise RuntimeError("a step has to begin where the loss was evaluated")
        self._start = self._last
        return self._last
