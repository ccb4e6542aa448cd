"""Hooks between two training steps: scikit-learn's callbacks, a monitor, printed lines."""

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any

from sklearn.base import BaseEstimator

__all__ = ["CallbackSupportMixin", "Monitor", "Observer", "RowCounter", "StepHooks", "current_observer", "observed"]

try:
    from sklearn.callback import CallbackSupportMixin  # pyright: ignore[reportAssignmentType]
except ImportError:  # scikit-learn before 1.9 has no callbacks; fitting works without them

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""


Monitor = Callable[[int, Callable[[], Any]], bool | None]
Observer = Callable[[str, int, Any], None]
_OBSERVER: ContextVar[Observer | None] = ContextVar("observer", default=None)


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Let fits inside call ``observer(what, done, total)``, where `what` is "row", "step", "fitted row" or "tree".

    It reaches regressors anywhere in a pipeline. Trees report from the threads that fit them.
    """
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


def current_observer() -> Observer | None:
    """Who observes here."""
    return _OBSERVER.get()


class RowCounter:
    """Tells an observer how many rows have been fitted, in trees that take long; threads may call it.

    Parameters
    ----------
    total : int or None
        Rows to fit, counted once per tree; None where their number is unknown.
    what : str
        What is counted.
    """

    def __init__(self, total: int | None, what: str = "fitted row") -> None:
        self._observer, self._total, self._what = _OBSERVER.get(), total, what
        self._done, self._lock = 0, Lock()

    def __call__(self, count: int) -> None:
        """Count so many more rows."""
        with self._lock:
            self._done += count
            if self._observer is not None:
                self._observer(self._what, self._done, self._total)


class StepHooks:
    """Calls everyone who wants to know of a step.

    Parameters
    ----------
    estimator : BaseEstimator
        The estimator being fitted.
    max_iter : int
        Upper limit of the steps.
    attributes : callable
        Returns the fitted attributes that the model would have if training stopped now.
    monitor : callable or None
        ``monitor(n_iter, snapshot)``, see `SVBSSGPRegressor.fit`.
    verbose : int
        Whether to print about ten lines per fit (1) or a hundred (2).
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        max_iter: int,
        attributes: Callable[[], Mapping[str, Any]],
        monitor: Monitor | None,
        verbose: int,
    ) -> None:
        self._estimator, self._max_iter, self._attributes = estimator, max_iter, attributes
        self._monitor, self._observer = monitor, _OBSERVER.get()
        self._print_trees = bool(verbose)
        self._every = max(1, max_iter // (10 if verbose == 1 else 100)) if verbose else 0
        self._started = time.perf_counter()
        self._context = None
        if hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx"):
            self._context = estimator._init_callback_context(max_subtasks=max_iter)  # type: ignore[attr-defined]
            self._context.call_on_fit_task_begin(estimator=estimator)

    def after_step(self, n_iter: int, bound: float) -> bool:
        """A step has ended; True if anybody wants to stop."""
        stop = False
        if self._every and n_iter % self._every == 0:
            seconds = time.perf_counter() - self._started
            print(f"step {n_iter}/{self._max_iter}  bound per row {bound:.4f}  {seconds:.1f} s", flush=True)
        if self._observer is not None:
            self._observer("step", n_iter, self._max_iter)
        if self._context is not None:
            step = self._context.subcontext(task_name="step")
            step.call_on_fit_task_begin(estimator=self._estimator)
            stop |= bool(
                step.call_on_fit_task_end(estimator=self._estimator, reconstruction_attributes=self._attributes)
            )
        if self._monitor is not None:
            stop |= bool(self._monitor(n_iter, self._snapshot))
        return stop

    def asked_to_stop(self) -> bool:
        """Whether the monitor wants to stop before the first step."""
        return self._monitor is not None and bool(self._monitor(0, self._snapshot))

    def after_tree(self, done: int, total: int) -> None:
        """A tree of a forest has been fitted."""
        if self._print_trees:
            print(f"tree {done}/{total}", flush=True)
        if self._observer is not None:
            self._observer("tree", done, total)

    def _snapshot(self) -> BaseEstimator:
        """The estimator as if training had stopped now."""
        model = copy.copy(self._estimator)
        vars(model).update(self._attributes())
        return model

    def close(self, fitted: Mapping[str, Any]) -> None:
        """Training has ended, with these attributes."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator, reconstruction_attributes=fitted)
