"""Regressors of the benchmarks that vary threads and sizes, by name; only what a machine has is measured there."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from threadpoolctl import threadpool_limits

from ssgp import SpectralForestRegressor

__all__ = ["BOOSTING", "FOREST", "LIGHTGBM", "METHODS", "available", "in_threads", "make_regressor"]

FOREST, LIGHTGBM, BOOSTING = "spectral forest", "LightGBM", "histogram boosting"
METHODS = (FOREST, LIGHTGBM, BOOSTING)


def make_regressor(method: str, n_threads: int, **settings: Any) -> Any:  # noqa: ANN401  whose settings, and which
    """A regressor that is not fitted: its own defaults, but for these settings."""
    return MAKERS[method](n_threads, **settings)


def _forest(n_threads: int, **settings: Any) -> SpectralForestRegressor:  # noqa: ANN401
    return SpectralForestRegressor(n_jobs=n_threads, random_state=0, **settings)


def _lightgbm(n_threads: int, **settings: Any) -> Any:  # noqa: ANN401
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_jobs=n_threads, random_state=0, verbose=-1, **settings)


def _boosting(n_threads: int, **settings: Any) -> Any:  # noqa: ANN401
    """It has no setting of its own for threads: `in_threads` limits them."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=0, **settings)


MAKERS: dict[str, Callable[..., Any]] = {FOREST: _forest, LIGHTGBM: _lightgbm, BOOSTING: _boosting}


def available(methods: Sequence[str]) -> list[str]:
    """The methods whose packages are there; of one that is left out a sentence is printed."""
    if LIGHTGBM not in methods or find_spec("lightgbm") is not None:
        return list(methods)
    print("LightGBM is not installed here and is left out (pip install lightgbm)", flush=True)
    return [method for method in methods if method != LIGHTGBM]


@contextmanager
def in_threads(n_threads: int) -> Iterator[None]:
    """Context in which OpenMP and the linear algebra libraries that are loaded use so many threads."""
    import_module("sklearn.utils._openmp_helpers")  # loads OpenMP: libraries that are loaded later are not limited
    with threadpool_limits(n_threads):
        yield
