"""What the paper says of its experiments, in our words, and whether the rows bear it out."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from ssgp.experiments.figures import random_splits
from ssgp.experiments.store import Results
from ssgp.experiments.suites import GAMMAS, TRACED_GAMMAS

__all__ = ["CLAIMS", "Claim", "Verdict"]

Outcome = Literal["reproduced", "in part", "not reproduced", "not run"]
PEERS = ("PIC+", "DTC+", "VSSGP")
# Differences below this share of an error are none.
MARGIN = 0.01


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds here, and the numbers that say so."""

    outcome: Outcome
    finding: str


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes
    ----------
    name, statement : str
        What it is about, and the claim itself in our words.
    figures : tuple of str
        Names of the figures that show it.
    check : callable
        Takes results to a verdict.
    why : str
        What differs from the paper, and why.
    """

    name: str
    statement: str
    figures: tuple[str, ...]
    check: Callable[[Results], Verdict]
    why: str


NOT_RUN = Verdict("not run", "There are no results for this yet.")


def _mean(results: Results, measure: str = "rmse") -> float:
    return float(np.mean(results.values(measure)))


def _traced(results: Results, suite: str, method: str = "sVBSSGP", gamma: float | None = 0.0) -> Results:
    """Rows of the traced runs; of sVBSSGP those with the most draws."""
    rows = random_splits(results.where(suite=suite, method=method, kind="trace"))
    if method == "sVBSSGP" and rows.rows:
        rows = rows.where(gamma=gamma, n_draws=max(rows.values("n_draws")))
    return rows


def _on_the_same_splits(results: Results, suite: str) -> dict[str, Results]:
    """Traced runs of the methods that have some, of the splits that all of these have."""
    traced = {name: _traced(results, suite, name) for name in ("sVBSSGP", *PEERS)}
    run = {name: rows for name, rows in traced.items() if rows.rows}
    shared = set.intersection(*(set(rows.values("split")) for rows in run.values())) if run else set()
    common = {name: Results([row for row in rows.rows if row["split"] in shared]) for name, rows in run.items()}
    return {name: rows for name, rows in common.items() if rows.rows}


def _last(rows: Results) -> Results:
    return rows.where(iteration=max(rows.values("iteration")))


def _first(rows: Results) -> Results:
    return rows.where(iteration=min(rows.values("iteration")))


def falls_quickly(results: Results) -> Verdict:
    """Fold by which the error falls over the traced run, for each gamma."""
    by_gamma = {gamma: _traced(results, "aimpeak", gamma=gamma) for gamma in TRACED_GAMMAS}
    if not all(rows.rows for rows in by_gamma.values()):
        return NOT_RUN
    folds = {gamma: _mean(_first(rows)) / _mean(_last(rows)) for gamma, rows in by_gamma.items()}
    listed = ", ".join(f"{fold:.1f} at gamma = {gamma:g}" for gamma, fold in folds.items())
    least = min(folds.values())
    outcome: Outcome = "reproduced" if least >= 4 else "in part" if least > 1.2 else "not reproduced"
    iterations = max(_traced(results, "aimpeak").values("iteration"))
    return Verdict(outcome, f"From the first to iteration {iterations} RMSE falls by a factor of {listed}.")


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
        f"-1; the lowest is {mean[best]:.2f} at {best:g}.",
    )


def beats_the_others(suite: str) -> Callable[[Results], Verdict]:
    """Whether sVBSSGP's error is the lowest at the end of the traced runs."""

    def check(results: Results) -> Verdict:
        compared = _on_the_same_splits(results, suite)
        if "sVBSSGP" not in compared or len(compared) < 2:
            return NOT_RUN
        iterations = max(compared["sVBSSGP"].values("iteration"))
        errors = {name: _mean(_last(rows)) for name, rows in compared.items()}
        mine, missing = errors.pop("sVBSSGP"), [name for name in PEERS if name not in errors]
        lower = [name for name, error in errors.items() if mine < error]
        outcome: Outcome = "reproduced" if len(lower) == len(PEERS) else "in part" if lower else "not reproduced"
        listed = ", ".join(f"{name} {error:.2f}" for name, error in errors.items())
        not_run = f" {' and '.join(missing)}: not run yet." if missing else ""
        return Verdict(outcome, f"RMSE after {iterations} iterations: sVBSSGP {mine:.2f}; {listed}.{not_run}")

    return check


def time_is_linear(results: Results) -> Verdict:
    """Whether seconds grow in proportion to iterations, and how they compare."""
    own = _traced(results, "airline")
    others = {name: rows for name in ("PIC+", "DTC+") if (rows := _traced(results, "airline", name)).rows}
    if not own.rows or not others:
        return NOT_RUN
    found = own.by("iteration", "train_s")
    iterations, seconds = np.array(list(found), float), np.array([np.mean(values) for values in found.values()])
    straight = float(np.corrcoef(iterations, seconds)[0, 1] ** 2)
    last, theirs = seconds[-1], {name: _mean(_last(rows), "train_s") for name, rows in others.items()}
    listed = ", ".join(f"{name} {value:.0f} s" for name, value in theirs.items())
    outcome: Outcome = "reproduced" if straight > 0.98 else "not reproduced"
    if last < min(theirs.values()):
        outcome = "in part" if outcome == "reproduced" else outcome
    return Verdict(
        outcome,
        f"A straight line explains {100 * straight:.1f} % of it. After {iterations[-1]:.0f} iterations sVBSSGP has "
        f"taken {last:.1f} s, {1000 * last / iterations[-1]:.0f} ms an iteration; {listed}.",
    )


def draws_help(suite: str) -> Callable[[Results], Verdict]:
    """Whether many draws are better than one, early and at the end."""

    def check(results: Results) -> Verdict:
        rows = random_splits(results.where(suite=suite, method="sVBSSGP", kind="trace", gamma=0.0))
        numbers = sorted(set(rows.values("n_draws")))
        if len(numbers) < 2:
            return NOT_RUN
        one, many = rows.where(n_draws=numbers[0]), rows.where(n_draws=numbers[-1])
        early, late = (_mean(part(one)) / _mean(part(many)) for part in (_first, _last))
        helps = [ratio > 1 + MARGIN for ratio in (early, late)]
        outcome: Outcome = "reproduced" if all(helps) else "in part" if any(helps) else "not reproduced"
        return Verdict(
            outcome,
            f"RMSE of r = {numbers[0]} over that of r = {numbers[-1]}: {early:.3f} after the first iteration, "
            f"{late:.3f} at the end.",
        )

    return check


def densities_agree(results: Results) -> Verdict:
    """Whether the same method is best by MNLP as by RMSE."""
    same, findings = [], []
    for suite in ("aimpeak", "airline"):
        ended = {name: _last(rows) for name, rows in _on_the_same_splits(results, suite).items()}
        if len(ended) < 2:
            continue
        by_error, by_density = (_order(ended, measure) for measure in ("rmse", "mnlp"))
        same.append(by_error[0] == by_density[0])
        findings.append(f"{suite.upper()} by RMSE {' < '.join(by_error)}, by MNLP {' < '.join(by_density)}")
    if not same:
        return NOT_RUN
    outcome: Outcome = "reproduced" if all(same) else "in part" if any(same) else "not reproduced"
    return Verdict(outcome, "; ".join(findings) + ".")


def _order(rows: dict[str, Results], measure: str) -> list[str]:
    """Methods from the lowest to the highest."""
    return sorted(rows, key=lambda name: _mean(rows[name], measure))


CLAIMS = (
    Claim(
        "Quick descent",
        "RMSE falls four- to five-fold within 30 iterations on AIMPEAK, for gamma = 0, 0.1, 0.2 and 0.3.",
        ("gamma-rmse", "gamma-mnlp"),
        falls_quickly,
        "Inputs and target are standardised here and predictions are made from each block's own rows from the first "
        "iteration on, so the first error is already low: there is less to fall from. Four to five times the paper's "
        "converged 4.73 is the deviation of the speeds themselves.",
    ),
    Claim(
        "The local test conditional is the best",
        "Converged RMSE is lowest at gamma = 0 and grows with gamma: given the frequencies, the shared weights are "
        "a nuisance.",
        ("gamma-converged",),
        local_is_best,
        "Negative gamma is as the paper defines it, and has no model of its own behind it.",
    ),
    Claim(
        "More accurate than PIC+, DTC+ and VSSGP on AIMPEAK",
        "After 30 iterations sVBSSGP (gamma = 0, r = 20) has a clearly lower RMSE than VSSGP, DTC+ and PIC+ with 250 "
        "inducing inputs; after convergence 4.73 against 9.46, 12.46 and 6.15.",
        ("aimpeak-rmse", "aimpeak-mnlp", "aimpeak-time"),
        beats_the_others("aimpeak"),
        "Our DTC+ and PIC+ learn inducing inputs and all hyperparameters along with q(u), which makes them stronger "
        "than the paper's. We do not reach the paper's 4.73 with 20 frequencies: an exact Gaussian process with the "
        "same kernel is at 7.1 on the authors' split.",
    ),
    Claim(
        "More accurate than PIC+, DTC+ and VSSGP on AIRLINE",
        "After 45 iterations sVBSSGP (gamma = 0, r = 5) has a clearly lower RMSE than VSSGP, DTC+ and PIC+ with 512 "
        "inducing inputs; after convergence 22.18 against 39.49, 39.60 and 33.40.",
        ("airline-rmse", "airline-mnlp"),
        beats_the_others("airline"),
        "Other flights than the paper's, unless the table was downloaded: ratios count, not minutes. An iteration is "
        "50,000 rows here, as inducing inputs would not see two million rows 45 times within the hour.",
    ),
    Claim(
        "Time is linear in iterations",
        "Training time on AIRLINE grows linearly with iterations; an iteration takes 43 s, longer than DTC+ and PIC+.",
        ("airline-time",),
        time_is_linear,
        "Steps cost the same whatever the table, so the line is straight. Here sVBSSGP is the fastest of the three: a "
        "step works with 40 features and a mixing matrix that moves every eighth step, theirs with 512 inducing "
        "inputs. Each fit used one core.",
    ),
    Claim(
        "More draws converge faster and lower (AIMPEAK)",
        "The more draws from q(alpha) a prediction averages, the faster and the lower RMSE converges.",
        ("draws-aimpeak",),
        draws_help("aimpeak"),
        "The learned posterior is narrow: once it has settled, one draw is nearly as good as twenty. Early, when it is "
        "wide, averaging helps.",
    ),
    Claim(
        "More draws protect against overfitting (BLOG)",
        "With 60 inputs the effect of more draws is larger, and a single draw stops improving after 10 iterations.",
        ("draws-blog",),
        draws_help("blog"),
        "As on AIMPEAK; the target is heavy-tailed (its largest values dominate RMSE), so splits differ a lot.",
    ),
    Claim(
        "Densities tell the same story",
        "By MNLP the methods compare as they do by RMSE.",
        ("aimpeak-mnlp", "airline-mnlp"),
        densities_agree,
        "All of these methods have one noise variance for all rows, so MNLP is little more than RMSE again.",
    ),
)
