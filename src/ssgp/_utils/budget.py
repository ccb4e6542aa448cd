"""The budget of a fit: time left, finished parts to keep, hooks to tell, and a way out when it is cut short."""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import wraps
from math import inf
from time import monotonic
from typing import Any, ParamSpec, Protocol, TypeVar

from sklearn.exceptions import ConvergenceWarning

from ssgp._utils.progress import StepHooks
from ssgp._utils.warning import warn_user

__all__ = ["Budget", "FitInterruptedError", "Kept", "NothingKept", "UnsavedBudget", "interruptible", "seconds_of"]

P = ParamSpec("P")
T = TypeVar("T")

# Whether Ctrl-C cut short a part of the fit, one truth value per fit.
_INTERRUPTED: ContextVar[list[bool] | None] = ContextVar("interrupted", default=None)

# What a coarse clock may take for no time at all.
LEAST_SECONDS = 1e-3


class FitInterruptedError(KeyboardInterrupt):
    """Ctrl-C ended a fit early; the estimator is fitted with what was learned until then."""


def interruptible(fit: Callable[P, T]) -> Callable[P, T]:
    """A method that fits, and raises `FitInterruptedError` at its end where Ctrl-C cut short a part of it.

    The estimator is whole then; a search, a loop or a script that fitted it stops, as it was told to.
    """

    @wraps(fit)
    def whole_and_raised(*arguments: P.args, **settings: P.kwargs) -> T:
        interrupted: list[bool] = []
        token = _INTERRUPTED.set(interrupted)
        try:
            result = fit(*arguments, **settings)
        finally:
            _INTERRUPTED.reset(token)
        if interrupted:
            raise FitInterruptedError("the fit was interrupted; the estimator is fitted with what was learned")
        return result

    return whole_and_raised


def seconds_of(work: Callable[[], object]) -> float:
    """Seconds that some work takes, done now to see how much of it there is time for; never zero."""
    began = monotonic()
    work()
    return max(monotonic() - began, LEAST_SECONDS)


class Kept(Protocol):
    """Finished parts of a fit, from which it goes on after it was killed."""

    def same_seed(self, drawn: int) -> int:
        """Seed of the fit whose parts are there, or the one that was drawn."""
        ...

    def begin(self, identity: Callable[[], Mapping[str, Any]]) -> None:
        """Check that the parts that are there belong to the fit of this identity."""
        ...

    def once(self, name: str, compute: Callable[[], T], expected: Callable[..., None]) -> T:
        """A finished part, computed and kept where it is not there."""
        ...

    def close(self) -> None:
        """Keep nothing from now on: a part was cut short, and what follows from it is not the model."""
        ...


class NothingKept:
    """Parts that are computed every time."""

    def same_seed(self, drawn: int) -> int:
        """The seed that was drawn."""
        return drawn

    def begin(self, identity: Callable[[], Mapping[str, Any]]) -> None:
        """Any fit may begin."""

    def once(self, name: str, compute: Callable[[], T], expected: Callable[..., None]) -> T:
        """The part, computed."""
        return compute()

    def close(self) -> None:
        """Nothing is kept anyway."""


@dataclass(frozen=True)
class Budget:
    """Limits of a fit, which its steps ask for.

    Attributes
    ----------
    deadline : float
        Time on the monotonic clock by which everything should be done.
    kept : Kept
        Parts that are finished.
    hooks : StepHooks or None
        Observers of every step and tree.
    left_out : list of str
        What there was no time for, in words.
    """

    deadline: float = inf
    kept: Kept = field(default_factory=NothingKept)
    hooks: StepHooks | None = None
    left_out: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, max_time: float | None, kept: Kept | None = None) -> "Budget":
        """A budget of so many seconds from now, None for any number."""
        deadline = inf if max_time is None else monotonic() + max_time
        return cls(deadline, NothingKept() if kept is None else kept)

    @property
    def limited(self) -> bool:
        """Whether there is a deadline."""
        return self.deadline < inf

    def seconds_left(self) -> float:
        """Seconds until the deadline, negative after it."""
        return self.deadline - monotonic()

    def one_of(self, n_parts: float) -> "Budget":
        """The budget of the first of so many equal parts of the time left."""
        return replace(self, deadline=monotonic() + self.seconds_left() / n_parts)

    def tell_of_tree(self, done: int, total: int) -> None:
        """Tell the hooks that a tree of a forest is done."""
        if self.hooks is not None:
            self.hooks.after_tree(done, total)

    def leave_out(self, number: int, total: int, what: str) -> None:
        """Note that there was no time for so many of so many things, if there is a limit and they are any."""
        if self.limited and number > 0:
            self.left_out.append(f"{number:,} of {total:,} {what}")

    def warn_of_left_out(self) -> None:
        """Warn of all that there was no time for."""
        if self.left_out:
            warn_user(
                f"max_time was too short for everything; left out: {', '.join(self.left_out)}", ConvergenceWarning
            )

    def attempt(self, work: Callable[[], T], otherwise: Callable[[], T], message: str | Callable[[], str]) -> T:
        """What `work` returns or, where Ctrl-C cuts it short, what `otherwise` does, with a warning.

        A second Ctrl-C, during `otherwise`, is obeyed at once, the first at the end of the fit that is `interruptible`.
        """
        try:
            return work()
        except KeyboardInterrupt:
            self.kept.close()
            interrupted = _INTERRUPTED.get()
            if interrupted is not None:
                interrupted.append(True)
            warn_user(message if isinstance(message, str) else message(), ConvergenceWarning)
            return otherwise()


@dataclass(frozen=True)
class UnsavedBudget(Budget):
    """The budget of a trial, of which nothing is of use where Ctrl-C cuts it short: the first one is obeyed at once."""

    def attempt(self, work: Callable[[], T], otherwise: Callable[[], T], message: str | Callable[[], str]) -> T:
        """What `work` returns."""
        return work()
