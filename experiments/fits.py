"""The cells of the evaluation: fit, predict the test rows, and write down the errors."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.measures import Clock, score, timed
from experiments.methods import METHODS, most_steps
from experiments.study import Row, Study
from experiments.suites import GAMMAS, TRACED_GAMMAS, Fit, Suite, cells
from experiments.tables import seed_of, split_rows
from ssgp.datasets import Split

__all__ = ["evaluation", "run_cell"]


def evaluation(suites: Iterable[Suite], folder: Path | None) -> Study[Fit]:
    """The fits of suites, on the tables of a folder."""
    by_name = {suite.name: suite for suite in suites}
    return Study([cell for suite in by_name.values() for cell in cells(suite)], partial(_measure, by_name, folder))


def _measure(suites: dict[str, Suite], folder: Path | None, cell: Fit) -> list[Row]:
    """Rows of a cell, taken on one core so that times can be compared."""
    with threadpool_limits(1, user_api="blas"):
        return run_cell(suites[cell.suite], cell, folder)


def run_cell(suite: Suite, cell: Fit, folder: Path | None) -> list[Row]:
    """Rows of results: one for each gamma, after each of the traced iterations or at the end."""
    data, seed = split_rows(suite.load(folder), cell.split, suite.n_rows), seed_of(cell.split)
    rows = (_trace if cell.kind == "trace" else _converge)(suite, cell, data, seed)
    return [{"seed": seed, "n_train": len(data.y_train), "n_test": len(data.y_test), **row} for row in rows]


def _trace(suite: Suite, cell: Fit, data: Split, seed: int) -> list[Row]:
    """Errors after the iterations of the suite, with the clock stopped while test rows are predicted."""
    method = METHODS[cell.method]
    if method.rows_per_step is None:
        raise ValueError(f"{cell.method} takes no steps that can be traced")
    n = len(data.y_train)
    steps_per_iteration = (suite.rows_per_iteration or n) / method.rows_per_step(suite, n)
    last_step = {t: max(1, round(t * steps_per_iteration)) for t in suite.iterations}
    rows, clock = list[Row](), Clock()

    def monitor(n_steps: int, snapshot: Callable[[], Any]) -> None:
        due = [t for t, step in last_step.items() if step == n_steps]
        if due:
            with clock.paused():
                errors = _errors(snapshot(), cell, data, TRACED_GAMMAS)
            common = {"steps": n_steps, "converged": False, "train_s": clock.seconds}
            rows.extend({**common, "iteration": t, **row} for t in due for row in errors)

    model = method.make(suite, cell, max(last_step.values()), seed)
    with clock:
        model.fit(data.X_train, data.y_train, monitor=monitor)
    _check_complete(suite.iterations, rows)
    return rows


def _check_complete(iterations: tuple[int, ...], rows: list[Row]) -> None:
    """Refuse a run that ended early."""
    missing = sorted(set(iterations) - {row["iteration"] for row in rows})
    if missing:
        listed = ", ".join(map(str, missing))
        raise RuntimeError(f"learning ended early: there was no model after iteration {listed}")


def _converge(suite: Suite, cell: Fit, data: Split, seed: int) -> list[Row]:
    """Errors of the model when it has stopped."""
    method = METHODS[cell.method]
    model = method.make(suite, cell, suite.converged[cell.method], seed)
    X, y = data.X_train, data.y_train
    if cell.method.startswith("exact GP"):
        part = np.random.default_rng(seed).choice(len(y), min(suite.exact_rows, len(y)), replace=False)
        X, y = X[part], y[part]
    _, seconds = timed(lambda: model.fit(X, y))
    limit = most_steps(model)
    steps = 0 if limit is None else int(model.n_iter_)
    stopped = limit is None or steps < limit
    if stopped and not method.stops_by_itself:
        raise RuntimeError(f"learning ended early, after {steps} of {limit} steps")
    common = {"iteration": -1, "steps": steps, "converged": stopped, "train_s": seconds}
    return [{**common, **row} for row in _errors(model, cell, data, GAMMAS)]


def _errors(model: Any, cell: Fit, data: Split, gammas: tuple[float, ...]) -> list[Row]:  # noqa: ANN401  any regressor
    """Errors on the test rows; sVBSSGP predicts with several test conditionals."""
    if cell.method != "sVBSSGP":
        return [{"gamma": None, **score(model, data.X_test, data.y_test)}]
    return [{"gamma": gamma, **score(model, data.X_test, data.y_test, gamma=gamma)} for gamma in gammas]
