"""Verdicts on the paper's claims, of rows that were never measured."""

from itertools import product

import pytest

from evaluation import made_up
from experiments import verdicts
from experiments.claims import CLAIMS
from experiments.figures import FIGURES
from experiments.store import Results
from experiments.suites import GAMMAS, SUITES


class TestVerdicts:
    @pytest.mark.parametrize(("last", "outcome"), [(2.0, "reproduced"), (5.0, "in part"), (9.9, "not reproduced")])
    def test_descent(self, last, outcome):
        rows = [
            row
            for gamma in (0.0, 0.1, 0.2, 0.3)
            for iteration, error in ((1, 10.0), (30, last))
            for row in made_up(gamma=gamma, iteration=iteration, rmse=error)
        ]
        assert verdicts.falls_quickly(Results(rows)).outcome == outcome

    @pytest.mark.parametrize(("slope", "outcome"), [(1.0, "reproduced"), (-1.0, "not reproduced")])
    def test_gamma(self, slope, outcome):
        rows = [row for g in GAMMAS for row in made_up(kind="converged", gamma=g, rmse=10 + slope * abs(g))]
        assert verdicts.local_is_best(Results(rows)).outcome == outcome

    @pytest.mark.parametrize(
        ("mine", "outcome"), [(1.0, "reproduced"), (1.99, "in part"), (2.5, "in part"), (9.0, "not reproduced")]
    )
    def test_methods(self, mine, outcome):
        rows = made_up(rmse=mine)
        for method, error in (("PIC+", 2.0), ("DTC+", 3.0), ("VSSGP", 4.0)):
            rows += made_up(method=method, gamma=None, n_draws=1, rmse=error)
        verdict = verdicts.beats_the_others("aimpeak")(Results(rows))
        assert verdict.outcome == outcome
        assert f"PIC+, has {2.0 / mine:.2f} times" in verdict.finding
        assert "PIC+ has 1.30 times" in verdict.finding

    def test_methods_are_compared_on_the_splits_that_all_have(self):
        rows = made_up(rmse=1.0) + made_up(rmse=100.0, split="1")
        for method in ("PIC+", "DTC+", "VSSGP"):
            rows += made_up(method=method, gamma=None, n_draws=1, rmse=2.0)
        assert verdicts.beats_the_others("aimpeak")(Results(rows)).outcome == "reproduced"

    def test_a_method_that_is_missing_is_not_beaten(self):
        rows = made_up(rmse=1.0) + made_up(method="DTC+", gamma=None, n_draws=1, rmse=2.0)
        verdict = verdicts.beats_the_others("aimpeak")(Results(rows))
        assert verdict.outcome == "in part"
        assert "PIC+ and VSSGP: not run yet." in verdict.finding

    @pytest.mark.parametrize(
        ("power", "pic", "dtc", "outcome"),
        [
            (1, 1.0, 2.0, "reproduced"),
            (1, 1.0, 1e3, "in part"),
            (1, 1e3, 1.0, "in part"),
            (1, 1.0, None, "in part"),
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

    @pytest.mark.parametrize(("disturbed", "outcome"), [(1, "in part"), (2, "not reproduced")])
    def test_time_is_that_of_the_median_split_without_what_comes_before_the_first_look(self, disturbed, outcome):
        rows = []
        for s in range(3):
            for t, seconds in ((1, 9.0), (2, 9.1), (4, 9.3), (8, 10.1 if s < disturbed else 9.7)):
                rows += made_up(suite="airline", split=str(s), iteration=t, train_s=seconds)
        verdict = verdicts.time_is_linear(Results(rows))
        assert verdict.outcome == outcome
        assert "9.0 s up to the end of the first" in verdict.finding

    def test_time_needs_two_stretches(self):
        rows = made_up(suite="airline") + made_up(suite="airline", iteration=5, train_s=5.0)
        assert verdicts.time_is_linear(Results(rows)).outcome == "not run"

    @pytest.mark.parametrize(
        ("early", "late", "outcome"), [(2.0, 2.0, "reproduced"), (2.0, 1.0, "in part"), (1.0, 1.0, "not reproduced")]
    )
    def test_draws(self, early, late, outcome):
        rows = [row for t in (1, 30) for row in made_up(iteration=t)]
        rows += made_up(n_draws=1, rmse=early) + made_up(n_draws=1, iteration=30, rmse=late)
        assert verdicts.draws_help(Results(rows)).outcome == outcome

    def test_numbers_of_draws_are_compared_on_the_splits_that_all_have(self):
        rows = made_up(rmse=1.0) + made_up(rmse=100.0, split="1") + made_up(n_draws=1, rmse=2.0)
        assert "r = 20: 2.000 after the first" in verdicts.draws_help(Results(rows)).finding

    @pytest.mark.parametrize(
        ("one", "many", "outcome"),
        [
            ((9.0, 5.0, 5.5), (8.0, 4.5, 3.0), "reproduced"),
            ((9.0, 5.0, 5.5), (8.0, 4.5, 4.8), "in part"),
            ((9.0, 5.0, 5.5), (9.0, 6.0, 5.5), "in part"),
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
        assert verdicts.draws_protect(Results(rows)).outcome == outcome

    def test_overfitting_tells_the_course_of_each_curve(self):
        rows = [row for r in (1, 20) for t in (1, 10, 30) for row in made_up(suite="blog", n_draws=r, iteration=t)]
        for row, error in zip(rows, (9.0, 5.0, 5.5, 3.0, 3.1, 3.2), strict=True):
            row["rmse"] = error
        finding = verdicts.draws_protect(Results(rows)).finding
        assert "r = 1 falls from 9.00 after iteration 1 to 5.00 after 10 and rises to 5.50 after 30" in finding
        assert "r = 20 rises from 3.00 after iteration 1 to 3.20 after 30" in finding

    @pytest.mark.parametrize(
        ("densities", "outcome"),
        [
            ((1.0, 2.0, 3.0, 4.0), "reproduced"),
            ((1.0, 2.0, 3.005, 3.0), "reproduced"),
            ((1.0, 2.0, 4.0, 3.0), "in part"),
            ((1.0, 4.0, 3.0, 2.0), "not reproduced"),
            ((4.0, 2.0, 1.0, 3.0), "not reproduced"),
            ((4.0, 3.0, 2.0, 2.005), "not reproduced"),
            ((1.0, 1.005, 1.0, 1.005), "not reproduced"),
            ((4.0, 3.0, 2.0, 1.0), "not reproduced"),
        ],
    )
    def test_densities(self, densities, outcome):
        rows = []
        for suite in ("aimpeak", "airline"):
            for i, method in enumerate(("sVBSSGP", *verdicts.PEERS)):
                gamma = 0.0 if method == "sVBSSGP" else None
                rows += made_up(suite=suite, method=method, gamma=gamma, rmse=1.0 + i, mnlp=densities[i])
        assert verdicts.densities_agree(Results(rows)).outcome == outcome
        part = [row for row in rows if row["method"] != "VSSGP"]
        assert verdicts.densities_agree(Results(part)).outcome != "reproduced"

    @pytest.mark.parametrize(("n_splits", "end"), [(1, "(1 split)"), (3, "(3 splits)"), (5, "")])
    def test_findings_over_few_splits_say_so(self, n_splits, end):
        rows = []
        for suite, s in product(SUITES, [str(s) for s in range(5)]):
            for r, t in product((1, 20), (1, 10, 30)):
                rows += made_up(suite=suite, split=s, n_draws=r, iteration=t, train_s=float(t))
            rows += [row for g in GAMMAS for row in made_up(suite=suite, split=s, kind="converged", gamma=g)]
            for g in (0.1, 0.2, 0.3):
                rows += made_up(suite=suite, split=s, gamma=g)
            for method in verdicts.PEERS if int(s) < n_splits else ():
                rows += made_up(suite=suite, split=s, method=method, gamma=None, n_draws=1)
        compared = [claim.check(Results(rows)).finding for claim in CLAIMS if "PIC+" in claim.statement]
        assert len(compared) == 3
        assert all(finding.endswith(end or ".") for finding in compared)
        assert verdicts.densities_agree(Results(rows)).finding.count("splits)") == (2 if n_splits == 3 else 0)
        few = Results([row for row in rows if int(row["split"]) < n_splits])
        assert all(claim.check(few).finding.endswith(end or ".") for claim in CLAIMS)

    def test_without_results_nothing_is_claimed(self):
        assert {claim.check(Results([])).outcome for claim in CLAIMS} == {"not run"}


def test_every_claim_has_a_figure_that_there_is():
    names = {drawing.name for drawing in FIGURES}
    assert all(claim.figures and set(claim.figures) <= names for claim in CLAIMS)
