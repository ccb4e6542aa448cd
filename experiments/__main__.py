"""The command line of the experiments."""

import argparse
import os
import sys
from pathlib import Path

from experiments.store import Store
from experiments.suites import SUITES
from experiments.tables import FOLDER_VARIABLE

RESULTS = Path("results/experiments")
QUICK_RESULTS = Path("results/experiments-quick")
PAGE = Path("figures/experiments")
QUICK_PAGE = Path("figures/experiments-quick")


def main(arguments: list[str] | None = None) -> int:
    """Run or draw; returns an exit code."""
    options = _parser().parse_args(arguments)
    store = Store(options.results or (QUICK_RESULTS if options.quick else RESULTS))
    out, code = options.out or (QUICK_PAGE if options.quick else PAGE), 0
    if options.command == "run":
        from experiments.runner import run

        code = run(options.suites, store, options.data, options.quick, options.jobs)
    from experiments.page import write_page

    written = write_page(store.read(quick=options.quick or None), out)
    print(f"{len(written)} figures and {out / 'index.html'}")
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
    if (found := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"at least 1, got {found}")
    return found


if __name__ == "__main__":
    sys.exit(main())
