"""Runs cases in a child process, so that what ends a process is a finding and not the end."""

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Self

from tests.fuzz.sorts import ROOT, seconds_per_case

__all__ = ["Finding", "Run", "run_cases", "run_requests"]

# Cases after which a fresh process takes over, so that no case sees what thousands before it left behind.
CASES_PER_CHILD = 1000
# A process may take so long to start.
START_SECONDS = 120.0
# What a process wrote before its end, of which a finding quotes the last characters.
QUOTED = 2500


@dataclass(frozen=True)
class Finding:
    """A case that went wrong.

    Attributes
    ----------
    sort : str
        Name of the sort.
    seed : int or None
        Seed of the case; None for a kept one.
    what : str
        What happened; the first line says it in short.
    """

    sort: str
    seed: int | None
    what: str


@dataclass
class Run:
    """What came of cases: how many there were, and the findings."""

    n_cases: int = 0
    findings: list[Finding] = field(default_factory=list)


class _Child:
    """A process that runs cases of a sort."""

    def __init__(self, sort: str) -> None:
        self._seconds = seconds_per_case(sort)
        self._errors = tempfile.TemporaryFile("w+", errors="replace")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.child", sort],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=ROOT,
            env=_environment(),
        )
        self._unfit = self._answer(START_SECONDS)[0]
        self.n_cases = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def run(self, request: dict[str, Any]) -> tuple[str | None, bool]:
        """What was wrong with a case, and whether the process is fit for another."""
        self.n_cases += 1
        if self._unfit is not None:
            return f"cannot start: {self._unfit}", False
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer(self._seconds)

    def _answer(self, seconds: float) -> tuple[str | None, bool]:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds) and not selector.select(seconds * _waiting_per_working()):
                return f"hangs: no answer after {seconds:g} seconds\n{self._last_words()}", False
        line = self._process.stdout.readline()
        if not line:
            return self._end(), False
        wrong = json.loads(line)
        return wrong, wrong is None or not wrong.startswith("MemoryError")

    def _end(self) -> str:
        code = self._process.wait()
        reason = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        return f"dies: {reason}\n{self._last_words()}"

    def _last_words(self) -> str:
        self._errors.seek(0)
        return self._errors.read()[-QUOTED:]


def _waiting_per_working() -> float:
    """Seconds that a process waits for a core, for each that it works: none where there are cores for all."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(0.0, load / (os.cpu_count() or 1) - 1.0)


def _environment() -> dict[str, str]:
    """The code of this checkout, and one thread of linear algebra: cases replay to the last bit elsewhere."""
    paths = [str(ROOT), str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **one_thread, "PYTHONPATH": os.pathsep.join(paths)}


def run_cases(
    sort: str,
    seeds: Iterable[int],
    deadline: float | None = None,
    tell: Callable[[Finding], None] = lambda finding: None,
) -> Run:
    """Run the cases of these seeds, one after the other.

    Parameters
    ----------
    sort : str
        Name of the sort.
    seeds : iterable of int
        Seeds; there may be no end of them.
    deadline : float, optional
        Time of `time.monotonic` after which no further case begins.
    tell : callable
        Called with each finding when it is made.
    """
    return _run(sort, ({"seed": seed} for seed in seeds), deadline, tell)


def run_requests(sort: str, requests: Iterable[dict[str, Any]]) -> Run:
    """Run cases by what a child process is asked: ``{"seed": 7}``, or ``{"kept": ...}`` with an input."""
    return _run(sort, requests, None, lambda finding: None)


def _run(sort: str, requests: Iterable[dict[str, Any]], deadline: float | None, tell: Callable[[Finding], None]) -> Run:
    run, waiting = Run(), iter(requests)
    request = next(waiting, None)
    while request is not None:
        with _Child(sort) as child:
            fit = True
            while fit and request is not None and child.n_cases < CASES_PER_CHILD:
                if deadline is not None and time.monotonic() > deadline:
                    return run
                wrong, fit = child.run(request)
                run.n_cases += 1
                if wrong is not None:
                    run.findings.append(Finding(sort, request.get("seed"), wrong))
                    tell(run.findings[-1])
                request = next(waiting, None)
    return run
