"""Arguments and options that several commands have."""

from typing import Annotated

import typer

__all__ = [
    "AsJson",
    "ClusterWorkers",
    "Data",
    "Debug",
    "Decimal",
    "Jobs",
    "MaxWait",
    "Missing",
    "Quiet",
    "SavedModel",
    "Scheduler",
    "Separator",
]

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Table: a CSV, Parquet or Arrow file, a folder or glob of them, an address (s3://, https://), or - for "
        "CSV on standard input.",
    ),
]
SavedModel = Annotated[str, typer.Argument(metavar="MODEL", help="Model saved by `ssgp fit` or from Python.")]


def _at_least_one_thread(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("0 threads do nothing; give 1 or more, or -1 for all of the machine's")
    return jobs


Jobs = Annotated[
    int | None,
    typer.Option(min=-1, callback=_at_least_one_thread, help="Threads to use; -1 for all.", show_default=False),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Print only errors, and the results of evaluate, inspect and demo: no warnings."
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--sep",
        metavar="SIGN",
        help="Column separator of a CSV file, or tab; detected by default.",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option("--decimal", metavar="SIGN", help="Decimal sign of a CSV file, . or , (detected by default)."),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--na",
        metavar="TEXT",
        help="Text that stands for a missing value in a CSV file, besides NA and the like; repeatable.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Dask scheduler whose workers read the Parquet files of DATA and do the work: tcp://host:8786.",
    ),
]
ClusterWorkers = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, metavar="N", help="The same, with this many single-threaded processes on this machine."
    ),
]
MaxWait = Annotated[
    float | None,
    typer.Option(
        "--max-wait",
        min=0.001,
        metavar="SECONDS",
        help="How long to wait for a cluster without workers before giving up; 300 by default.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]
