"""One cell of a suite: fit, look at the test rows, and write down what was seen."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.methods import METHODS, most_steps
from experiments.suites import AUTHORS, GAMMAS, TRACED_GAMMAS, Cell, Suite, seed_of
from experiments.tables import Table
from ssgp.distributions.regressor import DistributionRegressor
from ssgp.metrics import coverage, mnlp, rmse

__all__ = ["by_distribution", "run_cell", "split"]

Array = NDArray[np.floating]
Row = dict[str, Any]

TEST_SHARE = 0.05


@dataclass(frozen=True)
class Data:
    """Training and test rows."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


def split(table: Table, name: str, n_rows: int | None = None) -> Data:
    """Rows to learn from and to be judged on.

    Parameters
    ----------
    table : Table
        All rows.
    name : str
        ``"authors"`` for the table's own split, otherwise the number s of a random one, drawn from
        ``default_rng([2017, s])``: not the numbers that the estimators draw from seed s.
    n_rows : int, optional
        Only so many rows, drawn at random.
    """
    seed = seed_of(name)
    test = table.test if name == AUTHORS else np.random.default_rng([2017, seed]).random(len(table.y)) < TEST_SHARE
    if test is None:
        raise ValueError(f"the table has no split of its own; name a seed instead of {name!r}")
    some = np.arange(len(table.y))
    if n_rows is not None and n_rows < len(some):
        some = np.sort(np.random.default_rng(seed).choice(some, n_rows, replace=False))
    learn, judge = some[~test[some]], some[test[some]]
    return Data(table.X[learn], table.y[learn], table.X[judge], table.y[judge])


def run_cell(suite: Suite, cell: Cell, folder: Path | None) -> list[Row]:
    """Rows of results: one for each gamma and iteration that was looked at."""
    data = split(suite.load(folder), cell.split, suite.n_rows)
    rows = (_trace if cell.kind == "trace" else _converge)(suite, cell, data, seed_of(cell.split))
    return [{"n_train": len(data.y), "n_test": len(data.y_test), **row} for row in rows]


def _trace(suite: Suite, cell: Cell, data: Data, seed: int) -> list[Row]:
    """Look at the model after some iterations, with the clock stopped."""
    method = METHODS[cell.method]
    if method.rows_a_step is None:
        raise ValueError(f"{cell.method} takes no steps that can be traced")
    n = len(data.y)
    steps_of = (suite.rows_an_iteration or n) / method.rows_a_step(suite, n)
    step_of = {t: max(1, round(t * steps_of)) for t in suite.looked_at}
    rows: list[Row] = []
    clock = _Clock()

    def monitor(n_steps: int, snapshot: Callable[[], Any]) -> None:
        due = [t for t, step in step_of.items() if step == n_steps]
        if due:
            with clock:
                seen = _look(snapshot(), cell, data, TRACED_GAMMAS)
            about = {"steps": n_steps, "converged": False, "train_s": clock.seconds}
            rows.extend({**about, "iteration": t, **row} for t in due for row in seen)

    model = method.make(suite, cell, max(step_of.values()), seed)
    clock.start()
    model.fit(data.X, data.y, monitor=monitor)
    _check_looks(suite.looked_at, rows)
    return rows


def _check_looks(wanted: tuple[int, ...], rows: list[Row]) -> None:
    """Refuse a run that ended early: estimators that are interrupted only warn, and keep the last whole model."""
    missing = sorted(set(wanted) - {row["iteration"] for row in rows})
    if missing:
        listed = ", ".join(map(str, missing))
        raise RuntimeError(f"learning ended early: the model after iteration {listed} was not there to be looked at")


def _converge(suite: Suite, cell: Cell, data: Data, seed: int) -> list[Row]:
    """Look at the model when it has stopped."""
    method = METHODS[cell.method]
    model = method.make(suite, cell, suite.converged[cell.method], seed)
    X, y = data.X, data.y
    if cell.method.startswith("exact GP"):
        some = np.random.default_rng(seed).choice(len(y), min(suite.exact_rows, len(y)), replace=False)
        X, y = X[some], y[some]
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    limit = most_steps(model)
    steps = 0 if limit is None else int(model.n_iter_)
    stopped = limit is None or steps < limit
    if stopped and not method.stops_by_itself:
        raise RuntimeError(f"learning ended early, after {steps} of {limit} steps")
    about = {"iteration": -1, "steps": steps, "converged": stopped, "train_s": seconds}
    gammas = GAMMAS if cell.method == "sVBSSGP" else (0.0,)
    return [{**about, **row} for row in _look(model, cell, data, gammas)]


def _look(model: Any, cell: Cell, data: Data, gammas: tuple[float, ...]) -> list[Row]:  # noqa: ANN401  any regressor
    """Errors on the test rows; sVBSSGP predicts with several test conditionals."""
    if cell.method != "sVBSSGP":
        return [{"gamma": None, **_score(model, data)}]
    return [{"gamma": gamma, **_score(model, data, gamma=gamma)} for gamma in gammas]


def _score(model: Any, data: Data, **how: Any) -> Row:  # noqa: ANN401
    mean, std = model.predict(data.X_test, return_std=True, **how)
    error = {"rmse": rmse(data.y_test, mean)}
    if isinstance(model, DistributionRegressor):
        return {**error, **by_distribution(model, data.X_test, data.y_test)}
    return {**error, "mnlp": mnlp(data.y_test, mean, std), "coverage": coverage(data.y_test, mean, std)}


def by_distribution(model: DistributionRegressor, X: Array, y: Array) -> dict[str, float]:
    """MNLP, and cover of the central 95 % interval, of distributions that need not be normal."""
    low, high = model.predict_interval(X, 0.95).T
    inside = (low <= y) & (y <= high)
    return {"mnlp": float(-np.mean(model.log_prob(X, y))), "coverage": float(np.mean(inside))}


class _Clock:
    """Seconds since the start, without those spent inside ``with clock``."""

    def __init__(self) -> None:
        self._start = self._stopped = self._paused = 0.0

    def start(self) -> None:
        self._start = time.perf_counter()

    def __enter__(self) -> None:
        self._paused = time.perf_counter()

    def __exit__(self, *exception: object) -> None:
        self._stopped += time.perf_counter() - self._paused

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._start - self._stopped
