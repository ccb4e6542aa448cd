"""Time that is left, parts that are kept, and fits that Ctrl-C cuts short."""

from math import inf

import pytest
from sklearn.exceptions import ConvergenceWarning

from ssgp._utils.budget import Budget, FitInterruptedError, NothingKept, interruptible, seconds_of


class Kept(NothingKept):
    """Parts of a fit, and whether they may still be added to."""

    closed = False

    def close(self):
        self.closed = True


class Hooks:
    """Remembers the trees it was told of."""

    def __init__(self):
        self.trees = []

    def after_tree(self, done, total):
        self.trees.append((done, total))


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves when it is told to, and not from zero."""
    now = [1000.0]
    monkeypatch.setattr("ssgp._utils.budget.monotonic", lambda: now[0])
    return now


def interrupted():
    raise KeyboardInterrupt


def never():
    raise AssertionError("nobody should ask")


class TestTime:
    def test_runs_out(self, clock):
        budget = Budget.of(10.0)
        assert budget.limited
        clock[0] += 4.0
        assert budget.seconds_left() == 6.0
        clock[0] += 8.0
        assert budget.seconds_left() == -2.0

    def test_of_a_part_is_its_share_of_what_is_left(self, clock):
        kept, hooks = Kept(), Hooks()
        whole = Budget(clock[0] + 10.0, kept, hooks)  # type: ignore[arg-type]
        clock[0] += 4.0
        part = whole.one_of(3)
        assert part.seconds_left() == pytest.approx(2.0)
        assert part.kept is kept
        assert part.hooks is hooks
        assert whole.seconds_left() == 6.0

    def test_without_a_limit_never_runs_out_not_even_for_a_part(self, clock):
        budget = Budget.of(None)
        clock[0] += 1e9
        assert not budget.limited
        assert budget.seconds_left() == inf
        assert not budget.one_of(100).limited


class TestAttempt:
    def test_that_succeeds_asks_for_nothing_else(self):
        kept = Kept()
        assert Budget.of(None, kept).attempt(lambda: 3, never, never) == 3
        assert not kept.closed

    @pytest.mark.parametrize("message", ["cut short", lambda: "cut short"], ids=["text", "function"])
    def test_that_is_interrupted_warns_returns_the_other_and_keeps_nothing_more(self, message):
        kept = Kept()
        with pytest.warns(ConvergenceWarning, match="^cut short$") as told:
            assert Budget.of(None, kept).attempt(interrupted, lambda: 4, message) == 4
        assert len(told) == 1
        assert told[0].filename == __file__
        assert kept.closed

    def test_is_closed_before_the_other_is_computed(self):
        kept, seen = Kept(), []
        with pytest.warns(ConvergenceWarning):
            Budget.of(None, kept).attempt(interrupted, lambda: seen.append(kept.closed), "cut short")
        assert seen == [True]

    def test_obeys_a_second_interrupt(self):
        with pytest.warns(ConvergenceWarning), pytest.raises(KeyboardInterrupt):
            Budget().attempt(interrupted, interrupted, "cut short")

    def test_lets_errors_through(self):
        kept = Kept()
        with pytest.raises(ZeroDivisionError):
            Budget.of(None, kept).attempt(lambda: 1 / 0, never, never)
        assert not kept.closed


def test_parts_are_computed_every_time_where_nothing_is_kept():
    calls = []
    for _ in range(2):
        assert Budget.of(5.0).kept.once("tree", lambda: calls.append("computed") or len(calls), lambda *_: None) == len(
            calls
        )
    assert calls == ["computed", "computed"]


def test_trees_are_told_to_whoever_wants_to_know():
    hooks = Hooks()
    Budget(hooks=hooks).tell_of_tree(2, 5)  # type: ignore[arg-type]
    Budget().tell_of_tree(3, 5)
    assert hooks.trees == [(2, 5)]


def test_work_that_is_timed_is_done_once_and_takes_time():
    done = []
    assert 0 < seconds_of(lambda: done.append("work")) < 5
    assert done == ["work"]


class TestInterruptible:
    def fit(self, *presses):
        """A method that is interrupted in these parts, of three."""

        @interruptible
        def fit(estimator):
            for part in range(3):
                work = interrupted if part in presses else lambda: None
                Budget().attempt(work, lambda: None, f"part {part} was cut short")
            estimator.append("fitted")
            return estimator

        return fit

    def test_nothing_is_raised_where_nothing_was_cut_short(self):
        assert self.fit()([]) == ["fitted"]

    @pytest.mark.parametrize("part", range(3))
    def test_all_is_done_before_it_is_raised(self, part):
        estimator = []
        with pytest.warns(ConvergenceWarning), pytest.raises(FitInterruptedError):
            self.fit(part)(estimator)
        assert estimator == ["fitted"]

    def test_the_next_fit_knows_nothing_of_it(self):
        with pytest.warns(ConvergenceWarning), pytest.raises(KeyboardInterrupt):
            self.fit(0)([])
        assert self.fit()([]) == ["fitted"]

    def test_other_errors_pass(self):
        @interruptible
        def fit():
            Budget().attempt(interrupted, lambda: 1 / 0, "cut short")

        with pytest.warns(ConvergenceWarning), pytest.raises(ZeroDivisionError):
            fit()


class TestLeftOut:
    def test_is_told_once_with_numbers(self):
        budget = Budget.of(3.0)
        budget.leave_out(3, 8, "trees")
        budget.one_of(2).leave_out(1_000, 20_000, "rows")
        budget.leave_out(0, 5, "folds")
        with pytest.warns(ConvergenceWarning, match=r"left out: 3 of 8 trees, 1,000 of 20,000 rows$"):
            budget.warn_of_left_out()

    def test_is_nothing_without_a_limit(self):
        budget = Budget.of(None)
        budget.leave_out(3, 8, "trees")
        budget.warn_of_left_out()
