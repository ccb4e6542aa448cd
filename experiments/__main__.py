"""The command line of the experiments."""

import argparse
import os
import sys
from pathlib import Path

from experiments.fits import evaluation
from experiments.records import open_store, whole_or_quick
from experiments.runner import run
from experiments.suites import SUITES, reduced
from experiments.tables import FOLDER_VARIABLE

RESULTS = Path("results/experiments")
QUICK_RESULTS = Path("results/experiments-quick")
PAGE = Path("figures/experiments")
QUICK_PAGE = Path("figures/experiments-quick")


def main(arguments: list[str] | None = None) -> int:
    """Run or draw; returns an exit code."""
    options = _parser().parse_args(arguments)
    store = open_store(options.results or (QUICK_RESULTS if options.quick else RESULTS))
    out, code = options.out or (QUICK_PAGE if options.quick else PAGE), 0
    if options.command == "run":
        suites = [reduced(SUITES[name]) if options.quick else SUITES[name] for name in options.suites]
        code = run(evaluation(suites, options.data), store, options.jobs)
    # Every cell's process imports this module: matplotlib would be a part of its memory.
    from experiments.page import write_page

    names = write_page(whole_or_quick(store.read(), options.quick or None), out)
    print(f"{len(names)} figures and {out / 'index.html'}")
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description="The paper's evaluation.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="fit what has no results yet, then draw")
    draw = commands.add_parser("draw", help="draw figures and page from the results, without fitting")
    for command in (run, draw):
        command.add_argument("--quick", action="store_true", help="every figure on reduced sizes, within minutes")
        command.add_argument("--results", type=Path, help=f"folder of results (default {RESULTS}, or {QUICK_RESULTS})")
        command.add_argument("--out", type=Path, help=f"folder of the page (default {PAGE}, or {QUICK_PAGE})")
    run.add_argument("--suites", nargs="+", choices=list(SUITES), default=list(SUITES), metavar="SUITE")
    run.add_argument("--jobs", type=_count, default=os.cpu_count() or 1, help="cells at once, one core each")
    run.add_argument("--data", type=Path, help=f"folder with the Parquet tables (or set {FOLDER_VARIABLE})")
    return parser


def _count(text: str) -> int:
    if (count := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"at least 1, got {count}")
    return count


if __name__ == "__main__":
    sys.exit(main())
