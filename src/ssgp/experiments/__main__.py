"""The command line of the experiments."""

import argparse
import os
import sys
from pathlib import Path

from ssgp.datasets import FOLDER_VARIABLE
from ssgp.experiments.store import Store
from ssgp.experiments.suites import SUITES

RESULTS = Path("results/experiments")
QUICK_RESULTS = Path("results/experiments-quick")
PAGE = Path("figures/experiments")
QUICK_PAGE = Path("figures/experiments-quick")


def main(arguments: list[str] | None = None, name: str = "python -m ssgp.experiments") -> int:
    """Run or draw; `name` is what the command is called in its help."""
    options = _parser(name).parse_args(arguments)
    store = Store(options.results or (QUICK_RESULTS if options.quick else RESULTS))
    out, code = options.out or (QUICK_PAGE if options.quick else PAGE), 0
    if options.command == "run":
        from ssgp.experiments.runner import run

        code = run(options.suites, store, options.data, options.quick, options.jobs)
    from ssgp.experiments.page import write_page

    written = write_page(store.read(quick=options.quick or None), out)
    print(f"{len(written)} figures and {out / 'index.html'}")
    return code


def _parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=name, description="The paper's evaluation.")
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
