"""Verdicts on the paper's claims, of rows that were never measured."""

from itertools import product

import pytest

from evaluation import made_up
from experiments import draw_verdicts, verdicts
from experiments.claims import CLAIMS
from experiments.figures import FIGURES
from experiments.store import Results
from experiments.suites import EVALUATION, GAMMAS


def traces(errors, suite="aimpeak", method="sVBSSGP", gammas=(0.0, 0.1, 0.2, 0.3), **more):
    """Rows of traced runs with these errors by iteration."""
    return [
        row
        for gamma in gammas
        for t, error in errors.items()
        for row in made_up(suite=suite, method=method, gamma=gamma, iteration=t, rmse=error, **more)
    ]


def peers(errors, suite="aimpeak", **more):
    """Rows of the methods that sVBSSGP is compared with, None for one that was not run."""
    run = [(method, error) for method, error in zip(verdicts.PEERS, errors, strict=True) if error is not None]
    return [
        row
        for method, error in run
        for row in made_up(suite=suite, method=method, gamma=None, n_draws=1, rmse=error, **more)
    ]


class TestVerdicts:
    @pytest.mark.parametrize(
        ("last", "outcome"), [(2.0, "reproduced"), (2.6, "not reproduced"), (9.9, "not reproduced")]
    )
    def test_descent(self, last, outcome):
        assert verdicts.falls_quickly(Results(traces({1: 10.0, 30: last}))).outcome == outcome

    def test_descent_is_in_part_where_most_gammas_fall(self):
        rows = traces({1: 10.0, 30: 2.0}, gammas=(0.0, 0.1, 0.2)) + traces({1: 10.0, 30: 5.0}, gammas=(0.3,))
        assert verdicts.falls_quickly(Results(rows)).outcome == "in part"
        rows = traces({1: 10.0, 30: 2.0}, gammas=(0.0, 0.1)) + traces({1: 10.0, 30: 5.0}, gammas=(0.2, 0.3))
        assert verdicts.falls_quickly(Results(rows)).outcome == "not reproduced"

    def test_descent_begins_before_the_first_step(self):
        verdict = verdicts.falls_quickly(Results(traces({0: 20.0, 1: 5.0, 30: 4.0})))
        assert verdict.outcome == "reproduced"
        assert "From before the first step to iteration 30 RMSE falls by a factor of 5.0" in verdict.finding
        assert "From the first iteration on it falls by 1.2" in verdict.finding

    def test_descent_of_the_updates_says_what_their_gradient_does(self):
        rows = traces({0: 1000.0, 5: 20.0, 30: 4.0}, "aimpeak-joint", "update rule")
        rows += traces({0: 1000.0, 5: 20.0, 30: 5.0}, "aimpeak-joint", "update rule, no gradient", gammas=(0.0,))
        verdict = verdicts.rule_falls_quickly(Results(rows))
        assert verdict.outcome == "reproduced"
        assert "is 1,000 at the start" in verdict.finding
        assert "Without any gradient it falls by 4.0" in verdict.finding

    @pytest.mark.parametrize(("slope", "outcome"), [(1.0, "reproduced"), (-1.0, "not reproduced"), (0.0, "a tie")])
    def test_gamma(self, slope, outcome):
        rows = [
            row
            for s, noise in enumerate((-0.01, 0.02, -0.01))
            for g in GAMMAS
            for row in made_up(
                kind="converged", split=str(s), gamma=g, rmse=10 + s + slope * abs(g) + noise * (g == 0.1)
            )
        ]
        assert verdicts.local_is_best("aimpeak")(Results(rows)).outcome == outcome

    def test_gammas_within_the_noise_of_splits_tie(self):
        rows = [
            row
            for s, bump in enumerate((-0.3, 0.2, -0.2, 0.3))
            for g in GAMMAS
            for row in made_up(kind="converged", split=str(s), gamma=g, rmse=10 + s + g * g + bump * (g == -0.1))
        ]
        verdict = verdicts.local_is_best("aimpeak")(Results(rows))
        assert verdict.outcome == "a tie"
        assert "gamma = 0 is as good as -0.1." in verdict.finding

    @pytest.mark.parametrize(
        ("others", "outcome"),
        [
            # Half of the paper's margins, in logarithms, are factors of 1.14, 1.62 and 1.41.
            ((1.15, 1.63, 1.42), "reproduced"),
            ((1.13, 1.63, 1.42), "in part"),
            ((1.13, 1.61, 1.42), "not reproduced"),
            ((0.8, 1.12, 1.2), "not reproduced"),
            ((1.15, None, 1.42), "in part"),
            ((None, 1.63, None), "not reproduced"),
        ],
    )
    def test_methods(self, others, outcome):
        verdict = verdicts.beats_the_others("aimpeak")(Results(made_up(rmse=1.0) + peers(others)))
        assert verdict.outcome == outcome
        assert ("PIC+ and VSSGP: not run yet." in verdict.finding) is (others == (None, 1.63, None))

    def test_methods_under_a_protocol_are_compared_where_they_end(self):
        rows = made_up(suite="airline-joint", kind="converged", iteration=-1, rmse=20.0, n_draws=5)
        rows += made_up(suite="airline-joint", method="PIC+", gamma=None, n_draws=1, rmse=25.0, iteration=15)
        rows += made_up(suite="airline", method="PIC+", gamma=None, n_draws=1, rmse=99.0, iteration=45)
        for method, error in (("DTC+", 30.0), ("VSSGP", 31.0)):
            rows += made_up(suite="airline", method=method, gamma=None, n_draws=1, rmse=error, iteration=45)
            rows += made_up(suite="airline", method=method, gamma=None, n_draws=1, rmse=1.0, iteration=45, split="1")
        verdict = verdicts.beats_the_others("airline-joint")(Results(rows))
        assert verdict.outcome == "reproduced"
        assert "PIC+ 25.00 (1.25 times" in verdict.finding
        assert "VSSGP 31.00" in verdict.finding

    def test_methods_are_compared_on_the_splits_that_all_have(self):
        rows = made_up(rmse=1.0) + made_up(rmse=100.0, split="1") + peers((2.0, 2.0, 2.0))
        assert verdicts.beats_the_others("aimpeak")(Results(rows)).outcome == "reproduced"

    @pytest.mark.parametrize(
        ("power", "pic", "dtc", "outcome"),
        [
            (1, 1.0, 2.0, "reproduced"),
            (1, 1.0, 1e3, "not reproduced"),
            (1, 1e3, 1.0, "not reproduced"),
            (1, 1.0, None, "not reproduced"),
            (1.5, 1.0, 2.0, "not reproduced"),
            (4, 1.0, 2.0, "not reproduced"),
        ],
    )
    def test_time(self, power, pic, dtc, outcome):
        rows = [row for t in (1, 5, 15, 45) for row in made_up(suite="airline", iteration=t, train_s=float(t) ** power)]
        for method, seconds in (("PIC+", pic), ("DTC+", dtc)):
            if seconds is not None:
                rows += made_up(suite="airline", method=method, gamma=None, n_draws=1, train_s=seconds)
        verdict = verdicts.time_is_linear(Results(rows))
        assert verdict.outcome == outcome
        assert ("DTC+: not run yet." in verdict.finding) is (dtc is None)

    @pytest.mark.parametrize(
        ("disturbed", "outcome"), [(0, "reproduced"), (1, "inconclusive"), (2, "inconclusive"), (3, "not reproduced")]
    )
    def test_time_is_inconclusive_where_splits_are_on_both_sides_of_the_limit(self, disturbed, outcome):
        rows = peers((1.0, 1.0, 1.0), suite="airline", train_s=1.0)
        for s in range(3):
            for t, seconds in ((0, 0.0), (1, 9.0), (2, 9.1), (4, 9.3), (8, 10.1 if s < disturbed else 9.7)):
                rows += made_up(suite="airline", split=str(s), iteration=t, train_s=seconds)
            rows += peers((1.0, 1.0, 1.0), suite="airline", train_s=1.0, split=str(s)) if s else []
        verdict = verdicts.time_is_linear(Results(rows))
        assert verdict.outcome == outcome
        assert "9.0 s up to the end of the first" in verdict.finding

    def test_time_needs_two_stretches(self):
        rows = made_up(suite="airline") + made_up(suite="airline", iteration=5, train_s=5.0)
        assert verdicts.time_is_linear(Results(rows)).outcome == "not run"

    @pytest.mark.parametrize(
        ("early", "late", "outcome"),
        [(2.0, 2.0, "reproduced"), (2.0, 1.0, "not reproduced"), (1.0, 1.0, "not reproduced")],
    )
    def test_draws(self, early, late, outcome):
        rows = [row for t in (1, 30) for row in made_up(iteration=t)]
        rows += made_up(n_draws=1, rmse=early) + made_up(n_draws=1, iteration=30, rmse=late)
        assert draw_verdicts.draws_help(Results(rows)).outcome == outcome

    def test_numbers_of_draws_are_compared_on_the_splits_that_all_have(self):
        rows = made_up(rmse=1.0) + made_up(rmse=100.0, split="1") + made_up(n_draws=1, rmse=2.0)
        assert "r = 20: 2.000 after the first" in draw_verdicts.draws_help(Results(rows)).finding

    @pytest.mark.parametrize(
        ("one", "many", "outcome"),
        [
            ((18.0, 5.0, 5.5), (8.0, 4.5, 3.0), "reproduced"),
            ((9.0, 5.0, 5.5), (8.0, 4.5, 3.0), "in part"),
            ((9.0, 5.0, 5.5), (8.0, 4.5, 4.8), "in part"),
            ((9.0, 5.0, 5.5), (9.0, 6.0, 5.5), "not reproduced"),
            ((9.0, 5.0, 5.5), (9.0, 5.0, 5.5), "not reproduced"),
            ((5.0, 5.1, 5.2), (4.0, 4.1, 4.2), "not reproduced"),
            ((5.0, 5.1, 5.2), (5.0, 5.1, 5.2), "not reproduced"),
        ],
    )
    def test_overfitting(self, one, many, outcome):
        rows = [row for r in (1, 20) for row in made_up(n_draws=r)]
        for r, errors in ((1, one), (20, many)):
            for t, error in zip((1, 10, 30), errors, strict=True):
                rows += made_up(suite="blog", n_draws=r, iteration=t, rmse=error)
        assert draw_verdicts.draws_protect(Results(rows)).outcome == outcome

    def test_overfitting_has_a_gap_that_closes(self):
        rows = [row for r in (1, 20) for t in (1, 30) for row in made_up(suite="blog", n_draws=r, iteration=t)]
        for end, word in ((3.1, "yes"), (6.0, "no")):
            for row, error in zip(rows, (8.0, end, 4.0, 3.0), strict=True):
                row["rmse"] = error
            finding = draw_verdicts.draws_protect(Results(rows)).finding
            assert f"the gap is wider at first than at the end: {word}" in finding

    def test_overfitting_tells_the_course_of_each_curve(self):
        rows = [row for r in (1, 20) for t in (1, 10, 30) for row in made_up(suite="blog", n_draws=r, iteration=t)]
        for row, error in zip(rows, (9.0, 5.0, 5.5, 3.0, 3.1, 3.2), strict=True):
            row["rmse"] = error
        finding = draw_verdicts.draws_protect(Results(rows)).finding
        assert "r = 1 falls from 9.00 after iteration 1 to 5.00 after 10 and rises to 5.50 after 30" in finding
        assert "r = 20 rises from 3.00 after iteration 1 to 3.20 after 30" in finding

    @pytest.mark.parametrize(
        ("densities", "outcome"),
        [
            ((1.0, 2.0, 3.0, 4.0), "reproduced"),
            ((1.0, 2.0, 3.005, 3.0), "reproduced"),
            ((1.0, 2.0, 4.0, 3.0), "not reproduced"),
            ((4.0, 2.0, 1.0, 3.0), "not reproduced"),
            ((1.0, 1.005, 1.0, 1.005), "not reproduced"),
        ],
    )
    def test_densities_are_judged_by_their_whole_order(self, densities, outcome):
        rows = []
        for suite in ("aimpeak", "airline"):
            for i, method in enumerate(("sVBSSGP", *verdicts.PEERS)):
                gamma = 0.0 if method == "sVBSSGP" else None
                rows += made_up(suite=suite, method=method, gamma=gamma, rmse=1.0 + i, mnlp=densities[i])
        check = verdicts.densities_agree("aimpeak", "airline")
        assert check(Results(rows)).outcome == outcome
        part = [row for row in rows if row["method"] != "VSSGP"]
        assert check(Results(part)).outcome == "not reproduced"

    @pytest.mark.parametrize(("n_splits", "end"), [(1, "(1 split)"), (3, "(3 splits)"), (5, "")])
    def test_findings_over_few_splits_say_so(self, n_splits, end):
        rows = []
        for suite, s in product(EVALUATION, [str(s) for s in range(5)]):
            for r, t in product((1, 20), (1, 10, 30)):
                rows += made_up(suite=suite, split=s, n_draws=r, iteration=t, train_s=float(t))
            rows += [row for g in GAMMAS for row in made_up(suite=suite, split=s, kind="converged", gamma=g)]
            for g in (0.1, 0.2, 0.3):
                rows += made_up(suite=suite, split=s, gamma=g)
            for method in verdicts.PEERS if int(s) < n_splits else ():
                rows += made_up(suite=suite, split=s, method=method, gamma=None, n_draws=1)
        compared = [claim.check(Results(rows)).finding for claim in CLAIMS if "PIC+" in claim.statement][1:]
        assert len(compared) == 3
        assert all(finding.endswith(end or ".") for finding in compared)
        assert verdicts.densities_agree("aimpeak", "airline")(Results(rows)).finding.count("splits)") == (
            2 if n_splits == 3 else 0
        )
        few = Results([row for row in rows if int(row["split"]) < n_splits])
        assert all(claim.check(few).finding.endswith(end or ".") for claim in CLAIMS[1:])

    def test_without_results_nothing_is_claimed(self):
        checks = [check for claim in CLAIMS for check in (claim.check, claim.joint) if check is not None]
        assert {check(Results([])).outcome for check in checks} == {"not run"}

    def test_draws_of_the_updates(self):
        rows = traces({5: 20.0, 30: 4.0}, "aimpeak-joint", "update rule", gammas=(0.0,))
        rows += traces({5: 30.0, 30: 5.0}, "aimpeak-joint", "update rule", gammas=(0.0,), n_draws=1)
        verdict = draw_verdicts.rule_draws_help(Results(rows))
        assert verdict.outcome == "reproduced"
        assert "is 1.50 after 5 iterations and 1.25 at the end" in verdict.finding

    def test_worth_of_draws_by_width(self):
        rows = []
        for steps, width, many in ((0, 1.0, 8.0), (-1, 0.1, 9.0)):
            for r, error in ((1, 9.0), (20, many)):
                about = {"iteration": steps, "width": width, "averaged": r, "rmse": error}
                rows += made_up(suite="aimpeak-inputs", kind="widths", **about)
        words = draw_verdicts.widths_say(Results(rows))
        assert "from the prior (width 1) 9.00 and 8.00; at the end (width 0.1) 9.00 and 9.00." in words
        assert draw_verdicts.widths_say(Results([])) == ""


def test_every_claim_but_the_tables_has_a_figure_that_there_is():
    names = {drawing.name for drawing in FIGURES}
    assert all(set(claim.figures) <= names for claim in CLAIMS)
    assert [claim.name for claim in CLAIMS if not claim.figures] == ["Table 1: the errors themselves"]
