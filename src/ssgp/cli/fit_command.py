"""``ssgp fit``: from a table in a file to a model in a file."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ssgp._utils.budget import FitInterruptedError
from ssgp._utils.progress import observed
from ssgp.cli.cluster_tables import SharedTable, check_shareable
from ssgp.cli.clusters import CLUSTER_WORDS, ClusterChoice
from ssgp.cli.columns import ColumnRoles, check_column, choose_columns
from ssgp.cli.course import FITTING, FITTING_A_FOREST, WAITING, Stage
from ssgp.cli.errors import INTERRUPTED, CommandError, WrongUsage, one_line, os_error_text
from ssgp.cli.memory import default_memory, memory_needed
from ssgp.cli.output import Output, amount, duration
from ssgp.cli.output_paths import check_not_an_input, check_out
from ssgp.cli.predictor import Predictor
from ssgp.cli.scores import RowScorer, Scores, score_constant, scores_text
from ssgp.cli.settings import MODELS, make_regressor, parse_pairs
from ssgp.cli.table_text import open_data, row_counts
from ssgp.cli.training_tables import StreamedTable, TrainingTable, WholeTable
from ssgp.saving.checkpoints import delete_checkpoint, kept_setting
from ssgp.saving.model_files import read_summary, save
from ssgp.tables.csv_text import CsvText
from ssgp.tables.encoder import TableEncoder
from ssgp.tables.encoding_fit import KINDS
from ssgp.tables.encodings import Dropped
from ssgp.tables.files import TableSource
from ssgp.tables.input_warnings import told_once

__all__ = ["FitOptions", "fit_command"]

# Models whose fit takes a monitor, called after each step, which can stop it at a time limit.
MONITORED = ("svbssgp", "ssgp", "vssgp", "dtc", "pic")
COUNTING = {"row": Stage("counting rows", 1.0), **WAITING}
# The same command gives the same model.
DEFAULT_SEED = 0


@dataclass(frozen=True)
class FitOptions:
    """What a user asked for; see the help of ``ssgp fit``."""

    data: str
    text: CsvText
    out: str
    target: str
    features: Sequence[str]
    exclude: Sequence[str]
    key: Sequence[str]
    weight: str | None
    group: str | None
    time: str | None
    kinds: Sequence[str]
    dates: Literal["auto", "dayfirst", "monthfirst"]
    kept_rows: int
    target_kind: str | None
    model: str
    settings: Sequence[str]
    hold_out: float
    max_time: float | None
    memory: float | None
    checkpoint: str | None
    seed: int | None
    jobs: int | None
    device: str | None
    cluster: ClusterChoice


def fit_command(options: FitOptions, output: Output) -> int:
    """Fit and save; return the exit code."""
    started = time.perf_counter()
    check_out(options.out, "the model")
    _check_out_not_in_checkpoint(options.out, options.checkpoint)
    source = open_data(options.data, options.text, output)
    check_not_an_input(options.out, source)
    names = source.column_names
    given = (options.target, options.features, options.exclude, options.key, options.weight)
    roles = choose_columns(names, *given, options.group, options.time)
    for name in row_counts(source, roles.features):
        output.warn(f"column {name!r} counts the rows, and is learned from; --exclude {name!r} leaves it out")
    model = _unfitted(options, roles)
    if options.cluster.given:
        _check_for_cluster(source, options)
    with options.cluster.opened(options.memory, output) as client:
        table = _read_table(source, roles, options, model.encoder.kinds or {}, output, client)
        _describe_table(table, roles, options, output)
        if not isinstance(table, WholeTable):
            _limit_memory(model, options)
        seconds, interrupted = _fit(model, table, options, output)
    notes = _notes(roles, table, options.text.missing)
    _save(model, options, notes)
    if options.checkpoint is not None and not interrupted:
        delete_checkpoint(options.checkpoint)
    results: dict[str, Any] = {"out": options.out, "interrupted": interrupted, "fit_seconds": round(seconds, 3)}
    results |= read_summary(options.out)
    text = [_columns_text(model.encoder_), _training_text(options.model, results["training"], seconds)]
    if getattr(model, "target_map_", None) is not None:
        text.append(f"Target: {model.target_map_.describe()}")
    atoms = getattr(model, "atoms_", ())
    if len(atoms):
        text.append(f"Atoms of the target, which have probabilities of their own: {', '.join(f'{a:g}' for a in atoms)}")
    if options.hold_out:
        with output.warnings_as_messages(), told_once():
            results["held_out"] = _score_held_out(Predictor(model, notes), table)
        text.append(_held_out_text(results["held_out"], table.n_rows - table.n_training, roles))
    end = ", stopped by Ctrl-C: it has learned less than it could" if interrupted else ""
    text.append(f"Saved to {options.out} after {duration(time.perf_counter() - started)}{end}")
    output.result(results, "\n".join(text))
    return INTERRUPTED if interrupted else 0


def _describe_table(table: TrainingTable, roles: ColumnRoles, options: FitOptions, output: Output) -> None:
    """Print how many rows and columns there are, and warn of rows that are left out."""
    text = f"{options.data}: {amount(table.n_rows, 'row')}, {amount(len(roles.features), 'column')} to learn from"
    how = {StreamedTable: ", read in parts", SharedTable: ", read by the workers"}.get(type(table), "")
    output.say(text + how)
    if table.n_missing:
        output.warn(f"{amount(table.n_missing, 'row')} left out, where the target {roles.target!r} is missing")
    if table.n_weightless:
        output.warn(f"{amount(table.n_weightless, 'row')} left out, where the weight {roles.weight!r} is zero")


def _check_out_not_in_checkpoint(out: str, checkpoint: str | None) -> None:
    """Refuse to save the model in the folder of the checkpoint, which is deleted at the end."""
    if checkpoint is not None and Path(out).resolve().is_relative_to(Path(checkpoint).resolve()):
        raise WrongUsage(f"--out: {out!r} is inside the folder of --checkpoint, {checkpoint!r}; choose another place")


def _unfitted(options: FitOptions, roles: ColumnRoles) -> Any:  # noqa: ANN401  any regressor of the library
    """The regressor with its settings. It encodes every table, also one of numbers: constant columns are left out."""
    setting_options = {
        "max_time": ("--max-time", options.max_time),
        "random_state": ("--seed", options.seed),
        "n_jobs": ("--jobs", options.jobs),
        "device": ("--device", options.device),
        "max_memory": ("--memory", options.memory),
        "target": ("--target-kind", None if options.target_kind is None else _target_kind(options.target_kind)),
    }
    if options.target_kind is not None and options.model != "forest":
        raise WrongUsage(f"--target-kind: {options.model} takes targets as they are; only --model forest maps them")
    if options.device is not None and options.model != "forest":
        raise WrongUsage(f"--device: {options.model} is fitted by the processor; only --model forest takes a GPU")
    if options.checkpoint is not None and options.model != "forest":
        raise WrongUsage(f"--checkpoint: {options.model} cannot go on from one; only --model forest can")
    if options.checkpoint is not None and options.max_time is not None:
        raise WrongUsage("--checkpoint: what is done within --max-time is not the same every time; leave one out")
    for option, column in {"--group": options.group, "--time": options.time}.items():
        if column is not None and options.model != "forest":
            raise WrongUsage(
                f"{option}: {options.model} holds no rows out to learn its intervals; only --model forest does"
            )
    if options.max_time is not None and options.model == "exact":
        raise WrongUsage("--max-time: exact cannot be stopped early; give it fewer rows, or choose another --model")
    regressor = make_regressor(options.model, options.settings, setting_options)
    if regressor.random_state is None:
        regressor.set_params(random_state=DEFAULT_SEED)
    kinds = _kinds(options.kinds, roles.features)
    return regressor.set_params(encoder=TableEncoder(kinds=kinds, dates=options.dates, kept_rows=options.kept_rows))


def _target_kind(text: str) -> str | list[float]:
    """The kind of a target as the option gives it: a word, or two bounds."""
    if "," not in text:
        return text
    try:
        return [float(end) for end in text.split(",")]
    except ValueError:
        raise WrongUsage(f"--target-kind: bounds must be two numbers, as in 0,100, found {text!r}") from None


def _kinds(pairs: Sequence[str], features: list[str]) -> Any:  # noqa: ANN401  checked here
    """Kinds of columns as the options give them, by name."""
    kinds = parse_pairs("--kind", pairs)
    for name, kind in kinds.items():
        check_column("--kind", name, features)
        if kind not in KINDS:
            raise WrongUsage(f"--kind: {name} cannot be {kind!r}; it can be {', '.join(KINDS)}")
    return kinds or None


def _check_for_cluster(source: TableSource, options: FitOptions) -> None:
    """Refuse what a fit on a cluster cannot do."""
    cluster = options.cluster.option
    if options.model != "forest":
        raise WrongUsage(f"{cluster}: {options.model} needs all rows in one process; only --model forest does not")
    remedies = {
        "--hold-out": (options.hold_out, "judge the model by other rows, with `ssgp evaluate`"),
        "--max-time": (options.max_time, "give the cluster more workers"),
        "--group": (options.group, "such fits are those of one machine"),
        "--time": (options.time, "such fits are those of one machine"),
        "--device": (options.device, "workers use their processors"),
    }
    for option, (value, remedy) in remedies.items():
        if value:
            raise WrongUsage(f"{option}: not on a cluster ({cluster}); {remedy}")
    check_shareable(source)


def _read_table(
    source: TableSource,
    roles: ColumnRoles,
    options: FitOptions,
    kinds: Mapping[str, str],
    output: Output,
    client: Any,  # noqa: ANN401  Dask's, None for this process
) -> TrainingTable:
    """The table, in memory if it fits there; the workers', where there are some."""
    if client is not None:
        with output.warnings_as_messages(CLUSTER_WORDS), output.progress(COUNTING) as display:
            return SharedTable(source, roles, client, display, options.cluster.waiting)
    seed = options.seed or DEFAULT_SEED
    allowed = options.memory or default_memory()
    needed = memory_needed(source, len(roles.used))
    if needed <= allowed:
        return WholeTable(source, roles, options.hold_out, seed, options.dates)
    if options.model != "forest":
        raise CommandError(
            f"{source.name!r} needs about {needed / 1e9:.1f} GB of memory and may have {allowed / 1e9:.1f} (--memory); "
            "only --model forest learns from tables that do not fit"
        )
    categories = [name for name, kind in kinds.items() if kind == "category"]
    with output.progress(COUNTING) as display:
        return StreamedTable(source, roles, options.hold_out, seed, display, categories, options.dates)


def _limit_memory(regressor: Any, options: FitOptions) -> None:  # noqa: ANN401
    """Limit a forest to the memory that is free, where no option gives a limit; one that goes on keeps its own."""
    if options.memory is None and regressor.max_memory == "auto":
        free = options.cluster.memory(None)
        regressor.set_params(max_memory=kept_setting(options.checkpoint, "max_memory") or free)


def _fit(model: Any, table: TrainingTable, options: FitOptions, output: Output) -> tuple[float, bool]:  # noqa: ANN401
    """Fit; return the seconds it took, and whether Ctrl-C cut it short."""
    fit_options: dict[str, Any] = {}
    started = time.monotonic()
    if options.max_time is not None and options.model in MONITORED:
        deadline = started + options.max_time
        fit_options["monitor"] = lambda n_iter, snapshot: time.monotonic() > deadline
    if options.checkpoint is not None:
        fit_options["checkpoint"] = options.checkpoint
    with (
        output.warnings_as_messages({"sample_weight": f"--weight {options.weight}:", **CLUSTER_WORDS}),
        output.progress(FITTING_A_FOREST if options.model == "forest" else FITTING) as display,
        observed(display),
        Predictor(model).column_names_in_errors(options.target, options.weight),
    ):
        try:
            table.fit(model, display, fit_options)
        except FitInterruptedError:
            return time.monotonic() - started, True
    return time.monotonic() - started, False


def _save(model: Any, options: FitOptions, notes: dict[str, Any]) -> None:  # noqa: ANN401
    """Save the model; where that fails, say how the fit is not lost."""
    try:
        save(model, options.out, notes=notes)
    except OSError as error:
        if options.checkpoint is None:
            raise
        raise CommandError(
            f"{os_error_text(error)}; finished parts of the fit are still in {options.checkpoint!r}: the same command, "
            "also with another --out, goes on from there"
        ) from error


def _notes(roles: ColumnRoles, table: TrainingTable, missing: Sequence[str]) -> dict[str, Any]:
    """Notes that are saved with the model, for later commands; none of the clock, so that files can be compared."""
    given: dict[str, Any] = {"missing": list(missing)} if missing else {}
    given |= {name: column for name, column in (("group", roles.group), ("time", roles.time)) if column is not None}
    return given | {
        "target": roles.target,
        "target_holds": table.target_holds,
        "target_mean": table.moments.mean,
        "target_deviation": table.moments.deviation,
        "key": roles.key,
        "weight": roles.weight,
        "n_rows": table.n_training,
        "n_rows_without_target": table.n_missing,
        "n_rows_without_weight": table.n_weightless,
    }


def _score_held_out(predictor: Predictor, table: TrainingTable) -> dict[str, Any]:
    """Scores of the model and of the training rows' mean and deviation on the rows held out."""
    mean, std = table.moments.mean, table.moments.deviation or 1.0
    scores, baseline, scorer = Scores(mean), Scores(mean), RowScorer()
    for rows in table.held_out():
        scores.add(rows.y, scorer(predictor, predictor.encode(rows.table), rows.y), rows.weight)
        baseline.add(rows.y, score_constant(rows.y, mean, std), rows.weight)
    return {"model": scores.summary(), "baseline": baseline.summary()}


def _columns_text(encoder: TableEncoder) -> str:
    """Encodings of the columns; those that are numbers as they are, are counted only."""
    lines = [f"  {one_line(column.name)}: {column.describe()}" for column in encoder.columns_]
    shown = [line for line in lines if not line.endswith(": numbers as they are")]
    n_dropped = sum(isinstance(column, Dropped) for column in encoder.columns_)
    n_unchanged = len(lines) - len(shown)
    head = f"Columns: {len(lines) - n_dropped} used, {n_unchanged} of them numbers as they are; {n_dropped} dropped"
    return "\n".join([head, *shown])


def _training_text(model: str, training: dict[str, Any], seconds: float) -> str:
    names = {"n_rows_": "rows", "n_iter_": "steps", "n_trees_": "trees", "n_leaves_": "leaves per tree"}
    sizes = [f"{training[key]:,} {name}" for key, name in names.items() if key in training]
    return f"Fitted {MODELS[model]} in {duration(seconds)}: {', '.join(sizes)}"


def _held_out_text(held_out: dict[str, Any], n_rows: int, roles: ColumnRoles) -> str:
    columns = {name: held_out[name] for name in ("model", "baseline")}
    groups = "" if roles.group is None else f", whole groups of {roles.group!r}"
    time = "" if roles.time is None else f", the last by {roles.time!r}"
    weighted = "" if roles.weight is None else f", weighted by {roles.weight!r}"
    return f"\n{amount(n_rows, 'row')} held out{groups}{time}{weighted}:\n{scores_text(columns, 'the training rows')}\n"
