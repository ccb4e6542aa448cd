"""Whether rows of results bear out what the paper claims: a function per claim."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal

import numpy as np

from experiments.comparisons import by_method, ended, on_shared_splits, random_splits, traced
from experiments.error_table import PAPER
from experiments.store import Results
from experiments.suites import GAMMAS, SUITES, TRACED_GAMMAS
from experiments.tables import AUTHORS

__all__ = [
    "MARGIN",
    "NOT_RUN",
    "PEERS",
    "Outcome",
    "Verdict",
    "beats_the_others",
    "densities_agree",
    "falls_quickly",
    "few",
    "first",
    "last",
    "local_is_best",
    "mean",
    "outcome_of",
    "rule_falls_quickly",
    "time_is_linear",
]

Outcome = Literal["reproduced", "in part", "a tie", "inconclusive", "not reproduced", "not run"]
PEERS = ("PIC+", "DTC+", "VSSGP")
# Fold by which the paper has errors fall, at least.
LEAST_FOLD = 4.0
# An error is clearly lower where the logarithm of its ratio to another is this share of the paper's, or more of it.
SHARE_OF_GAP = 0.5
# Mean differences over splits below so many of their standard errors are noise.
NOISE = 2.0
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


def outcome_of(parts: list[bool]) -> Outcome:
    """What comes of a claim with these parts: in part where most of them hold."""
    if all(parts):
        return "reproduced"
    return "in part" if 2 * sum(parts) > len(parts) else "not reproduced"


def mean(results: Results, measure: str = "rmse") -> float:
    """Mean of a column."""
    return float(np.mean(results.values(measure)))


def _missing(run: dict[str, Results], wanted: tuple[str, ...] = PEERS) -> str:
    """Names the methods that have no results, as the end of a finding."""
    missing = [name for name in wanted if name not in run]
    return f" {' and '.join(missing)}: not run yet." if missing else ""


def few(suite: str, rows: Results) -> str:
    """Over how many random splits a finding is, as its end, where the suite has more."""
    n_splits, all_splits = len(set(rows.values("split"))), set(SUITES[suite].splits) - {AUTHORS}
    word = "seed" if SUITES[suite].own_split else "split"
    return f" ({n_splits} {word}{'s' if n_splits > 1 else ''})" if n_splits < len(all_splits) else ""


def last(rows: Results) -> Results:
    """Rows of the last iteration."""
    return rows.where(iteration=max(rows.values("iteration")))


def first(rows: Results) -> Results:
    """Rows of the first iteration that was looked at, after those before any step."""
    return rows.where(iteration=min(t for t in rows.values("iteration") if t))


def falls_quickly(results: Results) -> Verdict:
    """Fold by which the error falls over the traced run, from before its first step, for each gamma."""
    by_gamma = {gamma: traced(results, "aimpeak", gamma=gamma) for gamma in TRACED_GAMMAS}
    if not all(rows.rows for rows in by_gamma.values()):
        return NOT_RUN
    begin = min(by_gamma[0.0].values("iteration"))
    folds = {gamma: _fold(rows, begin) for gamma, rows in by_gamma.items()}
    later = {gamma: _fold(rows, min(t for t in rows.values("iteration") if t)) for gamma, rows in by_gamma.items()}
    rows, iterations = by_gamma[0.0], max(by_gamma[0.0].values("iteration"))
    start = mean(rows.where(iteration=begin))
    return Verdict(
        outcome_of([fold >= LEAST_FOLD for fold in folds.values()]),
        f"From {'before the first step' if begin == 0 else f'iteration {begin}'} to iteration {iterations} RMSE falls "
        f"by a factor of {_by_gamma(folds)}: at gamma = 0 from {start:.2f} to {mean(last(rows)):.2f}. From the first "
        f"iteration on it falls by {_by_gamma(later)}.{few('aimpeak', rows)}",
    )


def rule_falls_quickly(results: Results) -> Verdict:
    """Fold by which the error of the authors' updates falls from the fifth iteration on, and without a gradient."""
    by_gamma = {gamma: traced(results, "aimpeak-joint", "update rule", gamma) for gamma in TRACED_GAMMAS}
    if not all(rows.rows for rows in by_gamma.values()):
        return NOT_RUN
    begin = first(by_gamma[0.0]).rows[0]["iteration"]
    folds = {gamma: _fold(rows, begin) for gamma, rows in by_gamma.items()}
    rows = by_gamma[0.0]
    start, end = mean(rows.where(iteration=min(rows.values("iteration")))), max(rows.values("iteration"))
    decay = traced(results, "aimpeak-joint", "update rule, no gradient")
    alone = (
        f" Without any gradient it falls by {_fold(decay, begin):.1f} at gamma = 0, to {mean(last(decay)):.2f}."
        if decay.rows
        else ""
    )
    return Verdict(
        outcome_of([fold >= LEAST_FOLD for fold in folds.values()]),
        f"With the authors' updates RMSE is {start:,.0f} at the start (gamma = 0) and falls from iteration {begin} to "
        f"{end} by a factor of {_by_gamma(folds)}, to {mean(last(rows)):.2f} at gamma = 0.{alone}"
        f"{few('aimpeak-joint', rows)}",
    )


def _fold(rows: Results, begin: int) -> float:
    return mean(rows.where(iteration=begin)) / mean(last(rows))


def _by_gamma(folds: dict[float, float]) -> str:
    return ", ".join(f"{fold:.1f} at gamma = {gamma:g}" for gamma, fold in folds.items())


def local_is_best(suite: str, method: str = "sVBSSGP") -> Callable[[Results], Verdict]:
    """Whether converged error is lowest at gamma = 0, beyond the noise of splits, and rises from there."""

    def check(results: Results) -> Verdict:
        rows = random_splits(results.where(suite=suite, method=method, kind="converged"))
        if not rows.rows:
            return NOT_RUN
        error = {gamma: mean(rows.where(gamma=gamma)) for gamma in GAMMAS}
        best, noise = min(error, key=lambda gamma: error[gamma]), {gamma: _noise(rows, gamma) for gamma in GAMMAS}
        lower = [gamma for gamma in GAMMAS if error[gamma] - error[0.0] < -noise[gamma]]
        tied = [gamma for gamma in GAMMAS if gamma and abs(error[gamma] - error[0.0]) <= noise[gamma]]
        to_the_right = [error[gamma] for gamma in GAMMAS if gamma >= 0]
        rises = all(b >= a * (1 - MARGIN) for a, b in pairwise(to_the_right))
        outcome: Outcome = "not reproduced" if lower or not rises else "a tie" if tied else "reproduced"
        ties = f" Within the noise of splits gamma = 0 is as good as {_listed(tied)}." if tied else ""
        return Verdict(
            outcome,
            f"RMSE is {error[0.0]:.2f} at gamma = 0, {error[0.3]:.2f} at 0.3, {error[1.0]:.2f} at 1 and "
            f"{error[-1.0]:.2f} at -1; the lowest is {error[best]:.2f} at {best:g}.{ties}{few(suite, rows)}",
        )

    return check


def _noise(rows: Results, gamma: float) -> float:
    """What a mean difference of errors between gamma and 0 has to exceed: it is of the same splits."""
    here, there = ({row["split"]: row["rmse"] for row in rows.where(gamma=value).rows} for value in (gamma, 0.0))
    differences = [here[split] - there[split] for split in here]
    if len(differences) < 2:
        return MARGIN * float(np.mean(list(there.values())))
    return NOISE * float(np.std(differences, ddof=1)) / len(differences) ** 0.5


def _listed(gammas: list[float]) -> str:
    return ", ".join(f"{gamma:g}" for gamma in gammas)


def beats_the_others(suite: str) -> Callable[[Results], Verdict]:
    """Whether sVBSSGP's error at the end is lower than the others' by half of the paper's margin or more."""

    def check(results: Results) -> Verdict:
        compared = _ends(results, suite)
        if "sVBSSGP" not in compared or len(compared) < 2:
            return NOT_RUN
        table = _table_of(suite)
        errors = {name: mean(rows) for name, rows in compared.items()}
        mine = errors.pop("sVBSSGP")
        needed = {name: (PAPER[table, name] / PAPER[table, "sVBSSGP"]) ** SHARE_OF_GAP for name in PEERS}
        lower = [name in errors and errors[name] >= mine * needed[name] for name in PEERS]
        listed = ", ".join(
            f"{name} {error:.2f} ({error / mine:.2f} times as much, in the paper "
            f"{PAPER[table, name] / PAPER[table, 'sVBSSGP']:.2f}, needed {needed[name]:.2f})"
            for name, error in errors.items()
        )
        return Verdict(
            outcome_of(lower),
            f"RMSE{_when(compared)}: sVBSSGP {mine:.2f}; {listed}.{_missing(compared)}"
            f"{few(suite, compared['sVBSSGP'])}",
        )

    return check


def _table_of(suite: str) -> str:
    return suite.split("-")[0]


def _ends(results: Results, suite: str) -> dict[str, Results]:
    """Errors at the end of the traced runs of a suite; under a protocol, where each method ended."""
    methods = ("sVBSSGP", *PEERS)
    if "-" not in suite:
        return {name: last(rows) for name, rows in by_method(results, suite, methods).items()}
    return on_shared_splits({name: random_splits(ended(results, suite, name)) for name in methods})


def _when(compared: dict[str, Results]) -> str:
    iterations = {row["iteration"] for rows in compared.values() for row in rows.rows}
    return f" after {iterations.pop()} iterations" if len(iterations) == 1 else " at the end"


def time_is_linear(results: Results) -> Verdict:
    """Whether seconds grow in proportion to iterations, and are more than those of both methods of inducing inputs."""
    slower_than = ("PIC+", "DTC+")
    compared = by_method(results, "airline", ("sVBSSGP", *slower_than))
    compared = {name: Results([row for row in rows.rows if row["iteration"]]) for name, rows in compared.items()}
    times = compared["sVBSSGP"].by("iteration", "train_s") if "sVBSSGP" in compared else {}
    if len(times) < 3:
        return NOT_RUN
    iterations, seconds = np.array(list(times), float), np.array([np.mean(values) for values in times.values()])
    straight = float(np.corrcoef(iterations, seconds)[0, 1] ** 2)
    growth = _growth(compared["sVBSSGP"])
    # Other work on a machine lengthens single runs, hence the median; but splits on both sides of the limit do not say.
    within = [abs(ratio - 1) <= TIME_MARGIN for ratio in growth]
    linear = bool(straight > 0.98 and abs(np.median(growth) - 1) <= TIME_MARGIN)
    theirs = {name: mean(last(compared[name]), "train_s") for name in slower_than if name in compared}
    longer = len(theirs) == len(slower_than) and bool(seconds[-1] > max(theirs.values()))
    undecided = any(within) and not all(within)
    outcome: Outcome = "inconclusive" if undecided else outcome_of([linear, longer])
    each = (seconds[-1] - seconds[0]) / (iterations[-1] - iterations[0])
    listed = "".join(f", {name} {value:.0f} s" for name, value in theirs.items())
    return Verdict(
        outcome,
        f"A straight line explains {100 * straight:.1f} % of it; an iteration of the last stretch takes "
        f"{np.median(growth):.2f} times as long as earlier ones (median of splits, which range from {min(growth):.2f} "
        f"to {max(growth):.2f}). {iterations[-1]:.0f} iterations take sVBSSGP {seconds[-1]:.1f} s, {seconds[0]:.1f} s "
        f"up to the end of the first and {1000 * each:.0f} ms for each after it{listed}."
        f"{_missing(compared, slower_than)}{few('airline', compared['sVBSSGP'])}",
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


def densities_agree(*suites: str) -> Callable[[Results], Verdict]:
    """Whether MNLP has the methods in the order that RMSE has them in, near-ties aside."""

    def check(results: Results) -> Verdict:
        same, findings = list[bool](), list[str]()
        for suite in suites:
            compared = _ends(results, suite)
            if len(compared) < 2:
                continue
            error, density = (
                {name: mean(rows, value) for name, rows in compared.items()} for value in ("rmse", "mnlp")
            )
            logarithm = {name: float(np.log(value)) for name, value in error.items()}
            same.append(len(compared) == 1 + len(PEERS) and _in_one_order(logarithm, density))
            findings.append(
                f"{_table_of(suite).upper()} by RMSE {_order(logarithm)}, by MNLP {_order(density)}."
                f"{_missing(compared)}{few(suite, next(iter(compared.values())))}",
            )
        return Verdict(outcome_of(same), " ".join(findings)) if findings else NOT_RUN

    return check


def _in_one_order(one: dict[str, float], other: dict[str, float]) -> bool:
    """Whether no two methods that differ clearly by both compare otherwise, and some do differ."""
    pairs = [(one[a] - one[b], other[a] - other[b]) for a, b in combinations(one, 2)]
    clear = [x * y > 0 for x, y in pairs if min(abs(x), abs(y)) >= MARGIN]
    return bool(clear) and all(clear)


def _order(measured: dict[str, float]) -> str:
    """Methods from the lowest to the highest; ≈ stands between near-ties."""
    names = sorted(measured, key=lambda name: measured[name])
    signs = ["≈" if measured[b] - measured[a] < MARGIN else "<" for a, b in pairwise(names)]
    return names[0] + "".join(f" {sign} {name}" for sign, name in zip(signs, names[1:], strict=True))
