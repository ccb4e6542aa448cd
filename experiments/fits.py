"""The cells of the evaluation: fit, predict the test rows, and write down the errors."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from experiments.measures import Clock, score, timed
from experiments.methods import METHODS, most_steps
from experiments.protocols import BlockLabels, block_means
from experiments.study import Row, Study
from experiments.suites import GAMMAS, TRACED_GAMMAS, Fit, Suite, cells
from experiments.tables import AUTHORS, Table, chosen_rows, seed_of
from experiments.update_rule import RULES, rule_rows
from experiments.widths import unlearned, width_rows
from ssgp.datasets import Split
from ssgp.metrics import rmse

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
    """Rows of results: one for each gamma, after each of the traced iterations or at the end.

    Where the suite makes the blocks, ``block_mean`` is the error of predicting the mean of a test row's block.
    """
    named = AUTHORS if suite.own_split else cell.split
    (table, test), seed = chosen_rows(suite.load(folder), named, suite.n_rows), seed_of(cell.split)
    task = _Task(suite, cell, table.split(test), seed, _blocks(suite, cell, table, test, seed))
    kind = "rule" if cell.method in RULES else cell.kind
    common: Row = {"seed": seed, "n_train": len(task.data.y_train), "n_test": len(task.data.y_test)}
    if task.blocks is not None:
        common["block_mean"] = rmse(task.data.y_test, block_means(task.data.y_train, task.blocks))
    return [{**common, **row} for row in KINDS[kind](task)]


@dataclass(frozen=True)
class _Task:
    """A cell with its rows.

    Attributes
    ----------
    suite, cell
        What is measured.
    data : Split
        Rows to learn from and test rows.
    seed : int
        Of estimators.
    blocks : BlockLabels or None
        Blocks that the protocol of the suite makes.
    """

    suite: Suite
    cell: Fit
    data: Split
    seed: int
    blocks: BlockLabels | None

    def make(self, n_steps: int) -> Any:  # noqa: ANN401  any regressor
        """The estimator, of so many steps."""
        return METHODS[self.cell.method].make(self.suite, self.cell, n_steps, self.seed)

    def fit(self, model: Any, **more: Any) -> Any:  # noqa: ANN401
        """Fit a model to the training rows, in their blocks."""
        blocks = {} if self.blocks is None else {"blocks": self.blocks.train}
        return model.fit(self.data.X_train, self.data.y_train, **blocks, **more)

    def errors(self, model: Any, gammas: tuple[float, ...]) -> list[Row]:  # noqa: ANN401
        """Errors on the test rows; sVBSSGP predicts with several test conditionals."""
        how = {} if self.blocks is None else {"blocks": self.blocks.test}
        X, y = self.data.X_test, self.data.y_test
        if self.cell.method != "sVBSSGP":
            return [{"gamma": None, **score(model, X, y, **how)}]
        return [{"gamma": gamma, **score(model, X, y, gamma=gamma, **how)} for gamma in gammas]


def _blocks(suite: Suite, cell: Fit, table: Table, test: NDArray[np.bool_], seed: int) -> BlockLabels | None:
    """Blocks of the suite's protocol, for a method that has some."""
    n_blocks = _n_blocks(suite, cell.method)
    return None if suite.blocks is None or n_blocks is None else suite.blocks(table, test, n_blocks, seed)


def _n_blocks(suite: Suite, method: str) -> int | None:
    if method in RULES:
        return suite.n_blocks
    number = METHODS[method].n_blocks
    return None if number is None else number(suite)


def _trace(task: _Task) -> list[Row]:
    """Errors after the iterations of the suite, with the clock stopped while test rows are predicted."""
    suite, cell, method = task.suite, task.cell, METHODS[task.cell.method]
    if method.rows_per_step is None:
        raise ValueError(f"{cell.method} takes no steps that can be traced")
    n = len(task.data.y_train)
    steps_per_iteration = (suite.rows_per_iteration or n) / method.rows_per_step(suite, n)
    last_step = {t: max(1, round(t * steps_per_iteration)) for t in suite.iterations if t}
    rows, clock = list[Row](), Clock()

    def monitor(n_steps: int, snapshot: Callable[[], Any]) -> None:
        due = [t for t, step in last_step.items() if step == n_steps]
        if due:
            with clock.paused():
                errors = task.errors(snapshot(), TRACED_GAMMAS)
            common = {"steps": n_steps, "converged": False, "train_s": clock.seconds}
            rows.extend({**common, "iteration": t, **row} for t in due for row in errors)

    model = task.make(max(last_step.values()))
    with clock:
        task.fit(model, monitor=monitor)
    _check_complete(last_step, rows)
    return [*_before_learning(task), *rows]


def _before_learning(task: _Task) -> list[Row]:
    """Errors of sVBSSGP before its first step, where the suite has an iteration 0."""
    if task.cell.method != "sVBSSGP" or 0 not in task.suite.iterations:
        return []
    common = {"iteration": 0, "steps": 0, "converged": False, "train_s": 0.0}
    return [{**common, **row} for row in task.errors(unlearned(task.make(1), task.fit), TRACED_GAMMAS)]


def _check_complete(iterations: Iterable[int], rows: list[Row]) -> None:
    """Refuse a run that ended early."""
    missing = sorted(set(iterations) - {row["iteration"] for row in rows})
    if missing:
        listed = ", ".join(map(str, missing))
        raise RuntimeError(f"learning ended early: there was no model after iteration {listed}")


def _converge(task: _Task) -> list[Row]:
    """Errors of the model when it has stopped."""
    suite, cell, method = task.suite, task.cell, METHODS[task.cell.method]
    model = task.make(suite.converged[cell.method])
    if cell.method.startswith("exact GP"):
        task = _with_rows(task, suite.exact_rows)
    _, seconds = timed(lambda: task.fit(model))
    limit = most_steps(model)
    steps = 0 if limit is None else int(model.n_iter_)
    stopped = limit is None or steps < limit
    if stopped and not method.stops_by_itself:
        raise RuntimeError(f"learning ended early, after {steps} of {limit} steps")
    common = {"iteration": -1, "steps": steps, "converged": stopped, "train_s": seconds}
    return [{**common, **row} for row in task.errors(model, GAMMAS)]


def _with_rows(task: _Task, n_rows: int) -> _Task:
    """The task with so many training rows at most."""
    data = task.data
    part = np.random.default_rng(task.seed).choice(len(data.y_train), min(n_rows, len(data.y_train)), replace=False)
    return replace(task, data=replace(data, X_train=data.X_train[part], y_train=data.y_train[part]))


def _follow_rule(task: _Task) -> list[Row]:
    """Errors of the authors' updates: on the way for the traced gammas, or at the end for all of them."""
    suite, cell, on_the_way = task.suite, task.cell, task.cell.kind == "trace"
    if task.blocks is None:
        raise ValueError(f"the updates need the blocks of a protocol, which suite {suite.name} has not")
    # Without gradient, updates do not know gamma, and fewer draws are shown for the local conditional alone.
    all_gammas = TRACED_GAMMAS if RULES[cell.method] and cell.n_draws == suite.n_draws else (0.0,)
    gammas, iterations = (all_gammas, suite.rule_iterations) if on_the_way else (GAMMAS, suite.rule_iterations[-1:])
    rows = rule_rows(
        cell.method, gammas, iterations, (suite.n_frequencies, cell.n_draws), task.data, task.blocks, task.seed
    )
    return rows if on_the_way else [{**row, "iteration": -1} for row in rows]


def _average_draws(task: _Task) -> list[Row]:
    """Errors of averages over draws from posteriors of several widths."""
    if task.blocks is None:
        raise ValueError(f"widths need the blocks of a protocol, which suite {task.suite.name} has not")
    return width_rows(task.data, task.blocks, task.suite.n_draws, task.make, task.fit)


KINDS = {"trace": _trace, "converged": _converge, "rule": _follow_rule, "widths": _average_draws}
