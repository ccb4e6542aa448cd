"""What is measured of a regressor: seconds, errors, densities, intervals."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssgp.metrics import coverage, crps, log_score, pit, pit_uniformity, rmse

__all__ = [
    "LEVEL",
    "LEVELS",
    "Clock",
    "held_out_deviation",
    "score",
    "score_calibration",
    "score_distribution",
    "timed",
]

Value = TypeVar("Value")
# Share of the targets that intervals should cover; all shares by which calibration is judged.
LEVEL = 0.95
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)


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
        Fitted, and of the library.
    X : array-like of shape (n, d)
        Inputs.
    y : array of shape (n,)
        Targets.
    **how
        What `predict_distribution` takes besides: `gamma`, `blocks`.
    """
    return score_distribution(y, model.predict_distribution(X, **how))


def score_distribution(y: NDArray, predicted: Any) -> dict[str, Any]:  # noqa: ANN401  as `ssgp.metrics` takes it
    """RMSE, MNLP and cover of 95 % intervals of predictive distributions; those without a density have no MNLP."""
    return {
        "rmse": rmse(y, predicted.mean()),
        "mnlp": log_score(y, predicted) if hasattr(predicted, "logpdf") else None,
        "coverage": coverage(y, predicted, level=LEVEL),
    }


def score_calibration(y: NDArray, predicted: Any) -> dict[str, float]:  # noqa: ANN401
    """CRPS, cover of intervals of all `LEVELS`, and the distance of the PIT from uniform."""
    shares = np.asarray(coverage(y, predicted, level=LEVELS))
    return {
        "crps": crps(y, predicted),
        **{f"coverage_{100 * level:.0f}": float(share) for level, share in zip(LEVELS, shares, strict=True)},
        "pit_distance": pit_uniformity(pit(y, predicted)).distance,
    }


def held_out_deviation(make: Callable[[], Any], X: NDArray, y: NDArray) -> float:
    """Deviation of the residuals on a tenth of the rows, by a model that has not seen them."""
    held_out = np.random.default_rng(0).random(len(y)) < 0.1
    blind = make().fit(X[~held_out], y[~held_out])
    return float(np.std(y[held_out] - blind.predict(X[held_out])))
