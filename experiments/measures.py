"""What is measured of a regressor: seconds, errors, densities, intervals."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssgp.metrics import rmse

__all__ = ["LEVEL", "Clock", "held_out_deviation", "score", "score_predictions", "timed"]

Value = TypeVar("Value")
# Share of the targets that intervals should cover.
LEVEL = 0.95


class Clock:
    """Seconds spent within it, without those within `paused`."""

    def __init__(self) -> None:
        self._spent, self._since = 0.0, None

    def __enter__(self) -> Self:
        self._since = time.perf_counter()
        return self

    def __exit__(self, *exception: object) -> None:
        self._spent, self._since = self.seconds, None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop for what is no part of what is timed."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return self._spent if self._since is None else self._spent + time.perf_counter() - self._since


def timed(call: Callable[[], Value]) -> tuple[Value, float]:
    """What a call returns, and the seconds it takes."""
    with Clock() as clock:
        value = call()
    return value, clock.seconds


def score(model: Any, X: ArrayLike, y: NDArray, **how: Any) -> dict[str, Any]:  # noqa: ANN401  any regressor
    """RMSE, MNLP and cover of a model on test rows, by the distributions it predicts, normal or not.

    Parameters
    ----------
    model : regressor
        Fitted; every regressor of the library has the three methods that are asked.
    X : array-like of shape (n, d)
        Inputs.
    y : array of shape (n,)
        Targets.
    **how
        What the model's methods take besides: `gamma`, `blocks`.
    """
    interval = model.predict_interval(X, LEVEL, **how)
    return score_predictions(y, model.predict(X, **how), model.log_prob(X, y, **how), interval)


def score_predictions(y: NDArray, mean: NDArray, log_density: NDArray | None, interval: NDArray) -> dict[str, Any]:
    """RMSE, MNLP and cover of means (n,), log densities (n,) or None, and 95 % intervals (n, 2)."""
    low, high = interval.T
    return {
        "rmse": rmse(y, mean),
        "mnlp": None if log_density is None else float(-np.mean(log_density)),
        "coverage": float(np.mean((low <= y) & (y <= high))),
    }


def held_out_deviation(make: Callable[[], Any], X: NDArray, y: NDArray) -> float:
    """Deviation of the residuals on a tenth of the rows, by a model that has not seen them."""
    held_out = np.random.default_rng(0).random(len(y)) < 0.1
    blind = make().fit(X[~held_out], y[~held_out])
    return float(np.std(y[held_out] - blind.predict(X[held_out])))
