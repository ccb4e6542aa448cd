"""Run cases of all sorts, or of some, for some minutes: ``python -m tests.fuzz fits --minutes 5``."""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from itertools import count
from typing import Any

from tests.fuzz.kept import keep
from tests.fuzz.runner import Finding, Run, run_cases
from tests.fuzz.sorts import sorts

# More cases than any night has; seeds of one number do not run into those of the next.
CASES_PER_SEED = 10**8


def arguments(words: list[str]) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("sorts", nargs="*", default=sorts(), metavar="sort", help=f"of {', '.join(sorts())}; all")
    parser.add_argument("--minutes", type=float, default=1.0, help="time for all sorts together; 1")
    parser.add_argument("--cases", type=int, help="cases of each sort, instead of a time")
    parser.add_argument("--processes", type=int, default=1, help="processes beside each other; 1")
    parser.add_argument("--seed", type=int, default=int(date.today().strftime("%Y%m%d")), help="seed; today's date")
    parser.add_argument("--from", type=int, default=0, dest="first", help="number of the first case; 0")
    parser.add_argument("--keep", action="store_true", help="write findings to findings.json, for the tests to replay")
    asked = parser.parse_args(words)
    unknown = sorted(set(asked.sorts) - set(sorts()))
    if unknown:
        parser.error(f"there is no sort {', '.join(unknown)}; there are {', '.join(sorts())}")
    return asked


def seeds(asked: argparse.Namespace, process: int) -> Iterator[int]:
    """Seeds of the cases of one process."""
    first, last = asked.first, None if asked.cases is None else asked.first + asked.cases
    numbers = count(first) if last is None else iter(range(first, last))
    return (asked.seed * CASES_PER_SEED + number for number in numbers if (number - first) % asked.processes == process)


def tell(finding: Finding) -> None:
    """Print a finding, and how to see it again."""
    assert finding.seed is not None
    seed, number = divmod(finding.seed, CASES_PER_SEED)
    command = f"python -m tests.fuzz {finding.sort} --seed {seed} --from {number} --cases 1"
    print(f"\n{command}\n    " + finding.what.replace("\n", "\n    "), flush=True)


def run_sort(sort: str, asked: argparse.Namespace, deadline: float | None) -> Run:
    """Cases of one sort, in all processes."""

    def run(process: int) -> Run:
        return run_cases(sort, seeds(asked, process), deadline, tell)

    with ThreadPoolExecutor(asked.processes) as pool:
        runs = list(pool.map(run, range(asked.processes)))
    return Run(sum(run.n_cases for run in runs), [finding for run in runs for finding in run.findings])


def main(words: list[str]) -> int:
    """Run cases; 1 if there are findings."""
    asked = arguments(words)
    findings: list[Finding] = []
    cases: dict[str, Any] = {}
    for i, sort in enumerate(asked.sorts):
        left = 60 * asked.minutes * (i + 1) / len(asked.sorts)
        deadline = START + left if asked.cases is None else None
        run = run_sort(sort, asked, deadline)
        cases[sort] = {"cases": run.n_cases, "findings": len(run.findings)}
        findings += run.findings
        print(f"{sort}: {run.n_cases:,} cases, {len(run.findings)} findings", flush=True)
    if asked.keep:
        keep(findings)
    print(json.dumps({"seed": asked.seed, "seconds": round(time.monotonic() - START), **cases}))
    return 1 if findings else 0


START = time.monotonic()

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
