"""Cases drawn at random find nothing; what they once found stays mended; and what is planted is found."""

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from tests.fuzz import broken, fits, laws
from tests.fuzz.__main__ import CASES_PER_SEED, main
from tests.fuzz.kept import keep, kept_findings, request_of
from tests.fuzz.runner import Finding, run_cases, run_requests
from tests.fuzz.sorts import module_of, sorts

pytestmark = pytest.mark.slow

KEPT = kept_findings()


def told(findings):
    return "\n\n".join(f"{finding.sort} {finding.seed}: {finding.what}" for finding in findings)


@pytest.mark.parametrize("half", [0, 1], ids=["even", "odd"])
@pytest.mark.parametrize("sort", sorts())
def test_cases_find_nothing(sort, half):
    """Always the same ones; `make fuzz` runs others."""
    cases = range(half, module_of(sort).CASES, 2)
    run = run_cases(sort, cases)
    assert run.n_cases == len(cases)
    assert not run.findings, told(run.findings)


@pytest.mark.parametrize("sort", sorted({finding["sort"] for finding in KEPT}))
def test_what_was_found_once_stays_mended(sort):
    run = run_requests(sort, [request_of(finding) for finding in KEPT if finding["sort"] == sort])
    assert run.n_cases
    assert not run.findings, told(run.findings)


class TestRunner:
    def test_every_planted_fault_is_found_and_the_cases_after_it_run(self):
        expected = {
            "_crash": "dies: signal SIGSEGV",
            "_hang": f"hangs: no answer after {broken.SECONDS} seconds",
            "_hang_without_listening": f"hangs: no answer after {broken.SECONDS} seconds",
            "_take_memory": "MemoryError",
            "_leave": "dies: exit status 0",
            "_abort": "dies: signal SIGABRT",
            "_wrong_exception": "KeyError: 'not documented'",
            "_print": None,
        }
        assert [fault.__name__ for fault in broken.FAULTS] == list(expected)
        run = run_cases("broken", range(len(expected) + 2))
        assert run.n_cases == len(expected) + 2
        found = {broken.FAULTS[finding.seed or 0].__name__: finding.what for finding in run.findings}
        assert list(found) == [name for name, what in expected.items() if what is not None]
        for name, what in found.items():
            assert what.startswith(str(expected[name]))
            assert name == "_leave" or name in what or name == "_take_memory", "the stack is not quoted"

    def test_a_sort_that_cannot_start_is_a_finding(self, tmp_path, monkeypatch):
        (tmp_path / "ctypes.py").write_text("raise ImportError('planted')")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        run = run_cases("broken", [100])
        assert [finding.what.splitlines()[0] for finding in run.findings] == ["cannot start: dies: exit status 1"]
        assert "planted" in run.findings[0].what

    def test_no_case_begins_after_the_deadline(self):
        assert run_cases("broken", iter(range(100, 200)), deadline=0.0).n_cases == 0


class TestCommand:
    def test_cases_are_counted(self, capsys):
        assert main(["table_files", "--cases", "3", "--processes", "2", "--seed", "5"]) == 0
        first, last = capsys.readouterr().out.splitlines()
        assert first == "table_files: 3 cases, 0 findings"
        assert json.loads(last)["table_files"] == {"cases": 3, "findings": 0}

    def test_findings_are_told_with_the_command_that_shows_them_again(self, capsys, monkeypatch):
        asked = []

        def fails(sort, seeds, deadline, tell):
            run = run_cases("broken", [])
            asked.extend(seeds)
            run.findings.append(Finding(sort, asked[0], "KeyError: 'planted'\nwhere"))
            tell(run.findings[0])
            return run

        monkeypatch.setattr("tests.fuzz.__main__.run_cases", fails)
        assert main(["fits", "--cases", "2", "--seed", "5", "--from", "7"]) == 1
        assert asked == [5 * CASES_PER_SEED + 7, 5 * CASES_PER_SEED + 8]
        out = capsys.readouterr().out
        assert "python -m tests.fuzz fits --seed 5 --from 7 --cases 1" in out
        assert "KeyError: 'planted'" in out

    def test_sorts_that_do_not_exist_are_refused(self, capsys):
        with pytest.raises(SystemExit):
            main(["tables"])
        assert "there is no sort tables" in capsys.readouterr().err


@pytest.mark.parametrize("sort", sorts())
def test_findings_are_kept_as_their_inputs(sort, tmp_path):
    path = tmp_path / "findings.json"
    path.write_text("[]")
    keep([Finding(sort, 3, "KeyError: 3\nand where")], path)
    (kept,) = kept_findings(path)
    assert (kept["sort"], kept["what"], kept["seed"]) == (sort, "KeyError: 3", 3)
    request = request_of(kept)
    module = module_of(sort)
    expected = {"kept": module.explicit(3)} if hasattr(module, "explicit") else {"seed": 3}
    assert json.dumps(request) == json.dumps(expected)


class Normal:
    """Normal distributions that answer as they should, unless a test makes one of them answer otherwise."""

    def __init__(self, loc, scale, **wrong):
        self._loc, self._scale = np.asarray(loc, dtype=float), np.asarray(scale, dtype=float)
        self._wrong = wrong

    def __getattribute__(self, name: str) -> Any:
        wrong = object.__getattribute__(self, "__dict__").get("_wrong", {})
        right = object.__getattribute__(self, name)
        return (lambda *values: wrong[name](right(*values), *values)) if name in wrong else right

    def __len__(self):
        return len(self._loc)

    def __getitem__(self, rows):
        return Normal(self._loc[rows], self._scale[rows], **self._wrong)

    def mean(self):
        return self._loc

    def std(self):
        return self._scale

    def cdf(self, y):
        return norm.cdf(y, self._loc, self._scale)

    def pdf(self, y):
        return norm.pdf(y, self._loc, self._scale)

    def logpdf(self, y):
        return norm.logpdf(y, self._loc, self._scale)

    def quantile(self, levels):
        return norm.ppf(np.asarray(levels)[None, :], self._loc[:, None], self._scale[:, None])

    def crps(self, y):
        z = (y - self._loc) / self._scale
        return self._scale * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))

    def sample(self, n_samples, random_state):
        draws = np.random.default_rng(random_state).normal(size=(len(self), n_samples))
        return self._loc[:, None] + self._scale[:, None] * draws


def predicting(**wrong):
    return SimpleNamespace(predict_distribution=lambda X: Normal(X[:, 0], np.exp(X[:, 1]), **wrong))


ROWS = np.array([[0.0, 0.0], [5.0, -2.0], [-1e4, 3.0]])
WRONG = {
    "a mean is not finite": {"mean": lambda mean: mean * np.nan},
    "a deviation is not positive": {"std": lambda std: 0 * std},
    "a probability is not between": {"cdf": lambda p, y: 1.001 * p},
    "a cdf falls": {"cdf": lambda p, y: 1 - p},
    "more lies below than": {"std": lambda std: 0.01 * std},
    "quantiles cross": {"quantile": lambda quantiles, levels: quantiles[:, ::-1]},
    "cdf of the quantile": {"quantile": lambda quantiles, levels: quantiles + 0.01},
    "and the cdf rises by": {"pdf": lambda density, y: 1.05 * density},
    "a log density is NaN": {"logpdf": lambda density, y: np.where(density < -100, np.nan, density)},
    "a CRPS is -": {"crps": lambda score, y: score - 0.2},
    "a CRPS is too large": {"crps": lambda score, y: 3 * score},
    "from the cdf": {"sample": lambda draws, *_: 1.5 * draws},
    "a draw is not finite": {"sample": lambda draws, *_: np.inf * draws},
}


class TestLaws:
    def test_normal_distributions_obey_them(self):
        laws.check_predictions(predicting(), ROWS)

    @pytest.mark.parametrize(("message", "wrong"), WRONG.items(), ids=WRONG)
    def test_every_law_can_be_broken(self, message, wrong):
        with pytest.raises(AssertionError, match=message):
            laws.check_predictions(predicting(**wrong), ROWS)

    def test_rows_that_depend_on_others_are_found(self):
        model = SimpleNamespace(predict_distribution=lambda X: Normal(X[:, 0] + 1e-9 * len(X), np.ones(len(X))))
        laws.check_rows_apart(predicting(), ROWS, 1e-12)
        with pytest.raises(AssertionError, match=r"a row alone: its mean is 1\.0e-09 deviations off"):
            laws.check_rows_apart(model, ROWS[:2] * 0 + np.arange(2)[:, None], 1e-10)


@pytest.mark.parametrize(
    ("y", "message"), [([1.0, np.nan, 2.0], "were accepted"), ([1.0, 3.0, 2.0], "a sound table is refused: no reason")]
)
def test_fits_that_accept_or_refuse_what_they_should_not_are_found(y, message):
    def fit(X, y):
        if np.isfinite(y).all():
            raise ValueError("no reason")

    with pytest.raises(AssertionError, match=message):
        fits._fitted(SimpleNamespace(fit=fit), np.ones((3, 1)), np.array(y), mixed=False)
