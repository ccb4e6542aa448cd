"""``ssgp fit``: from a table in a file to a model in a file."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from ssgp.arrow_columns import family
from ssgp.cli.columns import ColumnRoles, check_column, choose_columns
from ssgp.cli.errors import INTERRUPTED, CommandError, WrongUsage
from ssgp.cli.interrupts import InterruptCounter
from ssgp.cli.output import Output, amount, duration
from ssgp.cli.predictor import Predictor
from ssgp.cli.scores import Scores, judge, judge_normal, scores_text
from ssgp.cli.settings import MODELS, make_regressor, parse_pairs
from ssgp.cli.targets import target_of
from ssgp.close_names import listed
from ssgp.column_encodings import Dropped
from ssgp.column_fitting import KINDS
from ssgp.progress import observed
from ssgp.saved_models import read_summary, save
from ssgp.table_encoder import TableEncoder
from ssgp.table_files import BATCH_ROWS, open_table
from ssgp.whole_file import check_place

__all__ = ["FitOptions", "fit_command"]

Array = NDArray[np.floating]

# Models that say after each step whether to stop, and so can keep a time limit.
MONITORED = ("svbssgp", "ssgp", "vssgp", "dtc", "pic")
LEAST_ROWS = 2
# The same command gives the same model.
DEFAULT_SEED = 0


@dataclass(frozen=True)
class FitOptions:
    """What a user asked for; see the help of ``ssgp fit``."""

    data: str
    out: str
    target: str
    features: Sequence[str]
    exclude: Sequence[str]
    key: Sequence[str]
    weight: str | None
    kinds: Sequence[str]
    model: str
    settings: Sequence[str]
    hold_out: float
    max_time: float | None
    seed: int | None
    jobs: int | None


@dataclass(frozen=True)
class Rows:
    """Rows whose target is known."""

    table: pa.Table
    y: Array
    weight: Array | None
    target_holds: str

    def __getitem__(self, chosen: NDArray[np.bool_]) -> "Rows":
        """Some of them."""
        weight = None if self.weight is None else self.weight[chosen]
        return Rows(self.table.filter(pa.array(chosen)), self.y[chosen], weight, self.target_holds)


def fit_command(options: FitOptions, output: Output) -> int:
    """Fit and save; return the exit code."""
    began = time.perf_counter()
    check_place(options.out, "the model")
    source = open_table(options.data)
    names = source.column_names
    roles = choose_columns(names, options.target, options.features, options.exclude, options.key, options.weight)
    model = _pipeline(options, roles)
    rows, n_missing = _read(source.read(roles.used), roles, options.data)
    learned, held = _split(rows, options)
    output.say(f"{options.data}: {amount(len(rows.y), 'row')}, {amount(len(roles.features), 'column')} to learn from")
    if n_missing:
        output.warn(f"{amount(n_missing, 'row')} left out, where the target {roles.target!r} is missing")
    seconds, interrupted = _fit(model, learned, options, output)
    notes = _notes(roles, learned, seconds, n_missing)
    save(model, options.out, notes=notes)
    encoder, regressor = (step for _, step in model.steps)
    found: dict[str, Any] = {"out": options.out, "interrupted": interrupted, **read_summary(options.out)}
    text = [_columns_text(encoder), _training_text(options.model, found["training"], seconds)]
    if held is not None:
        found["held_out"] = _judged(Predictor(encoder, regressor, notes), held)
        text.append(_held_out_text(found["held_out"], len(held.y)))
    end = ", stopped by Ctrl-C: it has learned less than it could" if interrupted else ""
    text.append(f"Saved to {options.out} after {duration(time.perf_counter() - began)}{end}")
    output.result(found, "\n".join(text))
    return INTERRUPTED if interrupted else 0


def _pipeline(options: FitOptions, roles: ColumnRoles) -> Pipeline:
    own_options = {
        "max_time": ("--max-time", options.max_time),
        "random_state": ("--seed", options.seed),
        "n_jobs": ("--jobs", options.jobs),
    }
    if options.max_time is not None and options.model == "exact":
        raise WrongUsage("--max-time: exact cannot be stopped early; give it fewer rows, or choose another --model")
    regressor = make_regressor(options.model, options.settings, own_options)
    if regressor.random_state is None:
        regressor.set_params(random_state=DEFAULT_SEED)
    return Pipeline([("encoder", TableEncoder(kinds=_kinds(options.kinds, roles.features))), ("regressor", regressor)])


def _kinds(pairs: Sequence[str], features: list[str]) -> Any:  # noqa: ANN401  checked here
    """How to encode columns where their type does not tell."""
    found = parse_pairs("--kind", pairs)
    for name, kind in found.items():
        check_column("--kind", name, features)
        if kind not in KINDS:
            raise WrongUsage(f"--kind: {name} cannot be {kind!r}; it can be {', '.join(KINDS)}")
    return found or None


def _read(table: pa.Table, roles: ColumnRoles, data: str) -> tuple[Rows, int]:
    """Rows whose target is known, and how many others there are."""
    if not table.num_rows:
        raise CommandError(f"{data!r} has no rows, only names of columns: {listed(table.column_names)}")
    y = target_of(table[roles.target], roles.target)
    known = np.isfinite(y)
    if known.sum() < LEAST_ROWS:
        raise CommandError(
            f"{data!r} has {amount(int(known.sum()), 'row')} in which the target {roles.target!r} is known, "
            f"of {table.num_rows:,}; at least {LEAST_ROWS} are needed"
        )
    holds = family(table.schema.field(roles.target).type)
    rows = Rows(table.select(roles.features), y, _weights(table, roles.weight), holds)
    return (rows if known.all() else rows[known]), int((~known).sum())


def _weights(table: pa.Table, name: str | None) -> Array | None:
    if name is None:
        return None
    weight = target_of(table[name], name, "the weight")
    if not (weight >= 0).all():
        raise CommandError(f"column {name!r} cannot be the weight: it has missing or negative values")
    return weight


def _split(rows: Rows, options: FitOptions) -> tuple[Rows, Rows | None]:
    """Rows to learn from and, if asked for, some to judge by."""
    if not options.hold_out:
        return rows, None
    n_held = round(options.hold_out * len(rows.y))
    if not 0 < n_held <= len(rows.y) - LEAST_ROWS:
        raise WrongUsage(f"--hold-out: {options.hold_out:g} of {amount(len(rows.y), 'row')} leaves too few on one side")
    held = np.zeros(len(rows.y), dtype=bool)
    held[np.random.default_rng(options.seed or DEFAULT_SEED).permutation(len(rows.y))[:n_held]] = True
    return rows[~held], rows[held]


def _fit(model: Pipeline, rows: Rows, options: FitOptions, output: Output) -> tuple[float, bool]:
    """Fit; return the seconds it took, and whether Ctrl-C cut it short."""
    extra: dict[str, Any] = {} if rows.weight is None else {"regressor__sample_weight": rows.weight}
    began = time.monotonic()
    if options.max_time is not None and options.model in MONITORED:
        until = began + options.max_time
        extra["regressor__monitor"] = lambda n_iter, snapshot: time.monotonic() > until
    with InterruptCounter() as interrupts, output.warnings_told(), output.progress() as display, observed(display):
        model.fit(rows.table, rows.y, **extra)
    return time.monotonic() - began, interrupts.pressed > 0


def _notes(roles: ColumnRoles, rows: Rows, seconds: float, n_missing: int) -> dict[str, Any]:
    """What later commands want to know of this fit."""
    mean = float(np.average(rows.y, weights=rows.weight))
    return {
        "target": roles.target,
        "target_holds": rows.target_holds,
        "target_mean": mean,
        "target_deviation": float(np.sqrt(np.average((rows.y - mean) ** 2, weights=rows.weight))),
        "key": roles.key,
        "weight": roles.weight,
        "n_rows": len(rows.y),
        "n_rows_without_target": n_missing,
        "fit_seconds": round(seconds, 3),
    }


def _judged(predictor: Predictor, rows: Rows) -> dict[str, Any]:
    """Scores of the model and of the training rows' mean and deviation."""
    mean, std = predictor.notes["target_mean"], predictor.notes["target_deviation"] or 1.0
    scores, baseline = Scores(mean), Scores(mean)
    for start in range(0, len(rows.y), BATCH_ROWS):
        y = rows.y[start : start + BATCH_ROWS]
        scores.add(y, judge(predictor, predictor.encode(rows.table.slice(start, BATCH_ROWS)), y))
        baseline.add(y, judge_normal(y, np.full(len(y), mean), np.full(len(y), std)))
    return {"model": scores.summary(), "baseline": baseline.summary()}


def _columns_text(encoder: TableEncoder) -> str:
    """What became of columns, those that are numbers as they are left out."""
    lines = [f"  {column.name}: {column.describe()}" for column in encoder.columns_]
    notable = [line for line in lines if not line.endswith(": numbers as they are")]
    n_dropped = sum(isinstance(column, Dropped) for column in encoder.columns_)
    plain = len(lines) - len(notable)
    head = f"Columns: {len(lines) - n_dropped} used, {plain} of them numbers as they are; {n_dropped} dropped"
    return "\n".join([head, *notable])


def _training_text(model: str, training: dict[str, Any], seconds: float) -> str:
    names = {"n_rows_": "rows", "n_iter_": "steps", "n_trees_": "trees", "n_leaves_": "leaves a tree"}
    sizes = [f"{training[key]:,} {name}" for key, name in names.items() if key in training]
    return f"Fitted {MODELS[model]} in {duration(seconds)}: {', '.join(sizes)}"


def _held_out_text(held_out: dict[str, Any], n_rows: int) -> str:
    columns = {"model": held_out["model"], "mean and deviation": held_out["baseline"]}
    return f"\n{amount(n_rows, 'row')} held out:\n{scores_text(columns)}\n"
