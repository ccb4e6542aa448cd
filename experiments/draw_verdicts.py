"""Whether more draws from the posterior help, and when."""

from dataclasses import dataclass

import numpy as np

from experiments.comparisons import by_draws, draws_of, on_shared_splits, random_splits
from experiments.store import Results
from experiments.update_rule import RULES
from experiments.verdicts import MARGIN, NOT_RUN, Outcome, Verdict, few, first, last, mean, outcome_of

__all__ = ["draws_help", "draws_protect", "rule_draws_help", "widths_say"]


def draws_help(results: Results) -> Verdict:
    """Whether many draws are better than one, early and at the end."""
    gains = _Gains.of(by_draws(results, "aimpeak"), "aimpeak")
    if gains is None:
        return NOT_RUN
    return Verdict(outcome_of([ratio > 1 + MARGIN for ratio in (gains.early, gains.late)]), f"{gains}{gains.few}")


def rule_draws_help(results: Results) -> Verdict:
    """Whether many draws are better than one early in the authors' updates, and whether that takes a gradient."""
    gains = {
        rule: _Gains.of(on_shared_splits(draws_of(results, "aimpeak-joint", rule)), "aimpeak-joint") for rule in RULES
    }
    with_gradient, without = gains.values()
    if with_gradient is None:
        return NOT_RUN
    outcome = outcome_of([ratio > 1 + MARGIN for ratio in (with_gradient.early, with_gradient.late)])
    again = "" if without is None else f" Without a gradient it is {without.early:.2f} and {without.late:.2f}."
    return Verdict(
        outcome,
        f"With the authors' updates, RMSE of r = {with_gradient.fewest} over that of r = {with_gradient.most} is "
        f"{with_gradient.early:.2f} after {with_gradient.begin} iterations and {with_gradient.late:.2f} at the end."
        f"{again}{with_gradient.few}",
    )


@dataclass(frozen=True)
class _Gains:
    """Errors of the fewest draws over those of the most, after the first iteration and at the end.

    `begin` is the first iteration that was looked at; `few` says over how many splits they are, where that is not all.
    """

    fewest: int
    most: int
    begin: int
    early: float
    late: float
    few: str

    @classmethod
    def of(cls, compared: dict[int, Results], suite: str) -> "_Gains | None":
        """What more draws bring, if several numbers of them were run."""
        if len(compared) < 2:
            return None
        fewest, most = min(compared), max(compared)
        early, late = (mean(part(compared[fewest])) / mean(part(compared[most])) for part in (first, last))
        begin = first(compared[most]).rows[0]["iteration"]
        return cls(fewest, most, begin, early, late, few(suite, compared[most]))

    @property
    def greatest(self) -> float:
        """The larger of the two."""
        return max(self.early, self.late)

    def __str__(self) -> str:
        return (
            f"RMSE of r = {self.fewest} over that of r = {self.most}: {self.early:.3f} after the first iteration, "
            f"{self.late:.3f} at the end."
        )


def draws_protect(results: Results) -> Verdict:
    """Whether one draw stops improving after a third of the run, and many go on, with more effect than on AIMPEAK.

    Without a contrast between one draw that stops and many that go on, or end lower, nothing of it holds.
    """
    gains = _Gains.of(by_draws(results, "blog"), "blog")
    there = _Gains.of(by_draws(results, "aimpeak"), "aimpeak")
    if gains is None:
        return NOT_RUN
    courses = {r: _Course.of(rows) for r, rows in by_draws(results, "blog").items()}
    parts = {
        f"r = {gains.fewest} improves over a third of the run, then stops": courses[gains.fewest].stops_early,
        f"r = {gains.most} goes on improving": courses[gains.most].improves_late,
        f"r = {gains.most} ends lower": gains.late > 1 + MARGIN,
        f"the effect is larger than on AIMPEAK{there.few if there else ''}": there is not None
        and gains.greatest > there.greatest + MARGIN,
        "the gap is wider at first than at the end": gains.early > gains.late + MARGIN,
    }
    stops, goes_on, ends_lower, *_ = parts.values()
    contrast = stops and (goes_on or ends_lower)
    outcome: Outcome = outcome_of(list(parts.values())) if contrast else "not reproduced"
    listed = "; ".join(f"r = {r} {course}" for r, course in courses.items())
    checked = "; ".join(f"{part}: {'yes' if holds else 'no'}" for part, holds in parts.items())
    return Verdict(outcome, f"{gains} RMSE of {listed}. Thus {checked}.{gains.few}")


@dataclass(frozen=True)
class _Course:
    """How an error goes from the first iteration to the last.

    Attributes
    ----------
    errors : dict of int to float
        Mean over splits by iteration, in their order.
    """

    errors: dict[int, float]

    @classmethod
    def of(cls, rows: Results) -> "_Course":
        """The course of the rows of a traced run."""
        return cls({t: float(np.mean(errors)) for t, errors in rows.by("iteration", "rmse").items() if t})

    @property
    def stops_early(self) -> bool:
        """Whether all clear improvement is in the first third."""
        return min(self._early) < self._early[0] * (1 - MARGIN) and not self.improves_late

    @property
    def improves_late(self) -> bool:
        """Whether the end is clearly below everything in the first third."""
        return self.errors[max(self.errors)] < min(self._early) * (1 - MARGIN)

    @property
    def _early(self) -> list[float]:
        first, last = min(self.errors), max(self.errors)
        return [error for t, error in self.errors.items() if t <= max(first, last / 3)]

    def __str__(self) -> str:
        first, last = min(self.errors), max(self.errors)
        best = min(self.errors, key=lambda t: self.errors[t])
        begin, end = (
            f"from {self.errors[first]:.2f} after iteration {first}",
            f"to {self.errors[last]:.2f} after {last}",
        )
        if best in (first, last):
            return f"{'rises' if best == first else 'falls'} {begin} {end}"
        return f"falls {begin} to {self.errors[best]:.2f} after {best} and rises {end}"


def widths_say(results: Results) -> str:
    """What draws are worth by the width of what they are drawn from, in words; empty without results."""
    rows = random_splits(results.where(suite="aimpeak-inputs", kind="widths"))
    if not rows.rows:
        return ""
    texts = [_worth(rows.where(iteration=steps), steps) for steps in widths_in_order(rows)]
    return f"RMSE with one draw and with twenty: {'; '.join(texts)}.{few('aimpeak-inputs', rows)}"


def widths_in_order(rows: Results) -> list[int]:
    """Steps after which draws were averaged, in their order: the end, -1, is last."""
    return sorted(set(rows.values("iteration")), key=lambda steps: np.inf if steps < 0 else steps)


def _worth(rows: Results, steps: int) -> str:
    fewest, most = min(rows.values("averaged")), max(rows.values("averaged"))
    one, many = (mean(rows.where(averaged=r)) for r in (fewest, most))
    where = "from the prior" if steps == 0 else "at the end" if steps < 0 else f"after {steps} steps"
    return f"{where} (width {mean(rows, 'width'):.2g}) {one:.2f} and {many:.2f}"
