"""Whether rows of results bear out what the paper claims: a function per claim."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal

import numpy as np

from experiments.comparisons import by_draws, by_method, random_splits, traced
from experiments.error_table import PAPER
from experiments.store import Results
from experiments.suites import GAMMAS, SUITES, TRACED_GAMMAS
from experiments.tables import AUTHORS

__all__ = [
    "PEERS",
    "Verdict",
    "beats_the_others",
    "densities_agree",
    "draws_help",
    "draws_protect",
    "falls_quickly",
    "local_is_best",
    "time_is_linear",
]

Outcome = Literal["reproduced", "in part", "not reproduced", "not run"]
PEERS = ("PIC+", "DTC+", "VSSGP")
# Differences below this share of an error are none, and so are those of as many nats: where errors are normal, MNLP
# moves by the logarithm of RMSE.
MARGIN = 0.01
# Time is linear where later iterations cost what earlier ones did, but for so much: a machine does other things too.
TIME_MARGIN = 0.25


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds here, and the numbers that say so."""

    outcome: Outcome
    finding: str


NOT_RUN = Verdict("not run", "There are no results for this yet.")


def _mean(results: Results, measure: str = "rmse") -> float:
    return float(np.mean(results.values(measure)))


def _missing(run: dict[str, Results], wanted: tuple[str, ...] = PEERS) -> str:
    """Names the methods that have no results, as the end of a finding."""
    missing = [name for name in wanted if name not in run]
    return f" {' and '.join(missing)}: not run yet." if missing else ""


def _few(suite: str, rows: Results) -> str:
    """Over how many random splits a finding is, as its end, where the suite has more."""
    n_splits, all_splits = len(set(rows.values("split"))), set(SUITES[suite].splits) - {AUTHORS}
    return f" ({n_splits} split{'s' if n_splits > 1 else ''})" if n_splits < len(all_splits) else ""


def _last(rows: Results) -> Results:
    return rows.where(iteration=max(rows.values("iteration")))


def _first(rows: Results) -> Results:
    return rows.where(iteration=min(rows.values("iteration")))


def falls_quickly(results: Results) -> Verdict:
    """Fold by which the error falls over the traced run, for each gamma."""
    by_gamma = {gamma: traced(results, "aimpeak", gamma=gamma) for gamma in TRACED_GAMMAS}
    if not all(rows.rows for rows in by_gamma.values()):
        return NOT_RUN
    folds = {gamma: _mean(_first(rows)) / _mean(_last(rows)) for gamma, rows in by_gamma.items()}
    listed = ", ".join(f"{fold:.1f} at gamma = {gamma:g}" for gamma, fold in folds.items())
    least = min(folds.values())
    outcome: Outcome = "reproduced" if least >= 4 else "in part" if least > 1.2 else "not reproduced"
    rows = by_gamma[0.0]
    iterations = max(rows.values("iteration"))
    return Verdict(
        outcome, f"From the first to iteration {iterations} RMSE falls by a factor of {listed}.{_few('aimpeak', rows)}"
    )


def local_is_best(results: Results) -> Verdict:
    """Whether converged error is lowest at gamma = 0, and rises from there."""
    rows = random_splits(results.where(suite="aimpeak", method="sVBSSGP", kind="converged"))
    if not rows.rows:
        return NOT_RUN
    mean = {gamma: _mean(rows.where(gamma=gamma)) for gamma in GAMMAS}
    best = min(mean, key=lambda gamma: mean[gamma])
    to_the_right = [mean[gamma] for gamma in GAMMAS if gamma >= 0]
    rises = all(b >= a * (1 - MARGIN) for a, b in pairwise(to_the_right))
    outcome: Outcome = "reproduced" if mean[0.0] <= mean[best] * (1 + MARGIN) and rises else "not reproduced"
    return Verdict(
        outcome,
        f"RMSE is {mean[0.0]:.2f} at gamma = 0, {mean[0.3]:.2f} at 0.3, {mean[1.0]:.2f} at 1 and {mean[-1.0]:.2f} at "
        f"-1; the lowest is {mean[best]:.2f} at {best:g}.{_few('aimpeak', rows)}",
    )


def beats_the_others(suite: str) -> Callable[[Results], Verdict]:
    """Whether sVBSSGP's error is clearly the lowest at the end of the traced runs."""

    def check(results: Results) -> Verdict:
        compared = by_method(results, suite, ("sVBSSGP", *PEERS))
        if "sVBSSGP" not in compared or len(compared) < 2:
            return NOT_RUN
        iterations = max(compared["sVBSSGP"].values("iteration"))
        errors = {name: _mean(_last(rows)) for name, rows in compared.items()}
        mine = errors.pop("sVBSSGP")
        lower = [name for name, error in errors.items() if mine < error * (1 - MARGIN)]
        outcome: Outcome = "reproduced" if len(lower) == len(PEERS) else "in part" if lower else "not reproduced"
        listed = ", ".join(f"{name} {error:.2f}" for name, error in errors.items())
        best = min(errors, key=lambda name: errors[name])
        return Verdict(
            outcome,
            f"RMSE after {iterations} iterations: sVBSSGP {mine:.2f}; {listed}. The best of the others, {best}, has "
            f"{errors[best] / mine:.2f} times the error of sVBSSGP; {_ratio_of_the_paper(suite)}.{_missing(compared)}"
            f"{_few(suite, compared['sVBSSGP'])}",
        )

    return check


def _ratio_of_the_paper(suite: str) -> str:
    best = min(PEERS, key=lambda name: PAPER[suite, name])
    return f"in the paper, after convergence, {best} has {PAPER[suite, best] / PAPER[suite, 'sVBSSGP']:.2f} times"


def time_is_linear(results: Results) -> Verdict:
    """Whether seconds grow in proportion to iterations, and are more than those of both methods of inducing inputs."""
    slower_than = ("PIC+", "DTC+")
    compared = by_method(results, "airline", ("sVBSSGP", *slower_than))
    times = compared["sVBSSGP"].by("iteration", "train_s") if "sVBSSGP" in compared else {}
    if len(times) < 3:
        return NOT_RUN
    iterations, seconds = np.array(list(times), float), np.array([np.mean(values) for values in times.values()])
    straight = float(np.corrcoef(iterations, seconds)[0, 1] ** 2)
    growth = _growth(compared["sVBSSGP"])
    # Other work on a machine lengthens single runs, hence the median.
    linear = straight > 0.98 and abs(np.median(growth) - 1) <= TIME_MARGIN
    theirs = {name: _mean(_last(compared[name]), "train_s") for name in slower_than if name in compared}
    longer = len(theirs) == len(slower_than) and seconds[-1] > max(theirs.values())
    outcome: Outcome = "not reproduced" if not linear else "reproduced" if longer else "in part"
    each = (seconds[-1] - seconds[0]) / (iterations[-1] - iterations[0])
    listed = "".join(f", {name} {value:.0f} s" for name, value in theirs.items())
    return Verdict(
        outcome,
        f"A straight line explains {100 * straight:.1f} % of it; an iteration of the last stretch takes "
        f"{np.median(growth):.2f} times as long as earlier ones (median of splits, which range from {min(growth):.2f} "
        f"to {max(growth):.2f}). {iterations[-1]:.0f} iterations take sVBSSGP {seconds[-1]:.1f} s, {seconds[0]:.1f} s "
        f"up to the end of the first and {1000 * each:.0f} ms for each after it{listed}."
        f"{_missing(compared, slower_than)}{_few('airline', compared['sVBSSGP'])}",
    )


def _growth(rows: Results) -> list[float]:
    """Seconds of a late iteration over those of an early one, by split.

    Late is between the last two predictions of test rows, early between the first and the last but one. What comes
    before the first, blocks and starting values included, is no part of it.
    """
    ratios = []
    for split in sorted(set(rows.values("split"))):
        times = rows.where(split=split).by("iteration", "train_s")
        t, seconds = list(times), [values[0] for values in times.values()]
        usual, last = (seconds[-2] - seconds[0]) / (t[-2] - t[0]), (seconds[-1] - seconds[-2]) / (t[-1] - t[-2])
        ratios.append(last / usual if usual > 0 else np.inf)
    return ratios


def draws_help(results: Results) -> Verdict:
    """Whether many draws are better than one, early and at the end."""
    gains = _gains(results, "aimpeak")
    if gains is None:
        return NOT_RUN
    helps = [ratio > 1 + MARGIN for ratio in (gains.early, gains.late)]
    outcome: Outcome = "reproduced" if all(helps) else "in part" if any(helps) else "not reproduced"
    return Verdict(outcome, f"{gains}{gains.few}")


@dataclass(frozen=True)
class _Gains:
    """Errors of the fewest draws over those of the most, after the first iteration and at the end.

    `few` says over how many splits they are, where that is not all.
    """

    fewest: int
    most: int
    early: float
    late: float
    few: str

    @property
    def greatest(self) -> float:
        """The larger of the two."""
        return max(self.early, self.late)

    def __str__(self) -> str:
        return (
            f"RMSE of r = {self.fewest} over that of r = {self.most}: {self.early:.3f} after the first iteration, "
            f"{self.late:.3f} at the end."
        )


def _gains(results: Results, suite: str) -> _Gains | None:
    """What more draws bring on a table, if several numbers of them were run."""
    compared = by_draws(results, suite)
    if len(compared) < 2:
        return None
    fewest, most = min(compared), max(compared)
    early, late = (_mean(part(compared[fewest])) / _mean(part(compared[most])) for part in (_first, _last))
    return _Gains(fewest, most, early, late, _few(suite, compared[most]))


def draws_protect(results: Results) -> Verdict:
    """Whether one draw stops improving after a third of the run, and many go on, with more effect than on AIMPEAK.

    Without a contrast between one draw that stops and many that go on, or end lower, nothing of it holds.
    """
    gains, there = _gains(results, "blog"), _gains(results, "aimpeak")
    if gains is None:
        return NOT_RUN
    courses = {r: _Course.of(rows) for r, rows in by_draws(results, "blog").items()}
    parts = {
        f"r = {gains.fewest} improves over a third of the run, then stops": courses[gains.fewest].stops_early,
        f"r = {gains.most} goes on improving": courses[gains.most].improves_late,
        f"r = {gains.most} ends lower": gains.late > 1 + MARGIN,
        f"the effect is larger than on AIMPEAK{there.few if there else ''}": there is not None
        and gains.greatest > there.greatest + MARGIN,
    }
    stops, goes_on, ends_lower, _ = parts.values()
    contrast = stops and (goes_on or ends_lower)
    outcome: Outcome = "reproduced" if all(parts.values()) else "in part" if contrast else "not reproduced"
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
        return cls({t: float(np.mean(errors)) for t, errors in rows.by("iteration", "rmse").items()})

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


def densities_agree(results: Results) -> Verdict:
    """Whether MNLP orders the methods as RMSE does: all pairs that differ clearly by both, or most of them."""
    agree, findings, complete = list[bool](), list[str](), True
    for suite in ("aimpeak", "airline"):
        ended = {name: _last(rows) for name, rows in by_method(results, suite, ("sVBSSGP", *PEERS)).items()}
        complete &= len(ended) == 1 + len(PEERS)
        if len(ended) < 2:
            continue
        error, density = ({name: _mean(rows, measure) for name, rows in ended.items()} for measure in ("rmse", "mnlp"))
        logarithm = {name: float(np.log(value)) for name, value in error.items()}
        apart = [(logarithm[a] - logarithm[b], density[a] - density[b]) for a, b in combinations(ended, 2)]
        agree += [one * other > 0 for one, other in apart if min(abs(one), abs(other)) >= MARGIN]
        findings.append(
            f"{suite.upper()} by RMSE {_order(logarithm)}, by MNLP {_order(density)}.{_missing(ended)}"
            f"{_few(suite, next(iter(ended.values())))}",
        )
    if not findings:
        return NOT_RUN
    same, mostly = bool(agree) and all(agree) and complete, 2 * sum(agree) > len(agree)
    outcome: Outcome = "reproduced" if same else "in part" if mostly else "not reproduced"
    return Verdict(
        outcome, f"{sum(agree)} of the {len(agree)} pairs that differ clearly compare alike. {' '.join(findings)}"
    )


def _order(measured: dict[str, float]) -> str:
    """Methods from the lowest to the highest; ≈ stands between near-ties."""
    names = sorted(measured, key=lambda name: measured[name])
    signs = ["≈" if measured[b] - measured[a] < MARGIN else "<" for a, b in pairwise(names)]
    return names[0] + "".join(f" {sign} {name}" for sign, name in zip(signs, names[1:], strict=True))
