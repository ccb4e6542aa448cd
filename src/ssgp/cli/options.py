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
        "CSV on the standard input.",
    ),
]
SavedModel = Annotated[str, typer.Argument(metavar="MODEL", help="File that `ssgp fit` or Python wrote.")]


def _at_least_one_thread(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("0 threads do nothing; give 1 or more, or -1 for all of the machine's")
    return jobs


Jobs = Annotated[
    int | None,
    typer.Option(
        min=-1, callback=_at_least_one_thread, help="Threads; -1 for all of the machine's.", show_default=False
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Print nothing but errors, and the answers of evaluate, inspect and demo: no warnings."
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--sep",
        metavar="SIGN",
        help="What separates the columns of a CSV file; found if not given. tab stands for tabs.",
    ),
]
Decimal = Annotated[
    str | None, typer.Option("--decimal", metavar="SIGN", help="Decimal sign of a CSV file: . or , found if not given.")
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--na",
        metavar="TEXT",
        help="Text that means a value of a CSV file is missing, besides NA and such; repeatable.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Scheduler of a Dask cluster whose workers read the Parquet files of DATA, and do the work: "
        "tcp://host:8786.",
    ),
]
ClusterWorkers = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, metavar="N", help="The same with so many processes of this machine, of one thread each."
    ),
]
MaxWait = Annotated[
    float | None,
    typer.Option(
        "--max-wait",
        min=0.001,
        metavar="SECONDS",
        help="How long a cluster may be without a worker before the command gives up; 300 if not given.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]
