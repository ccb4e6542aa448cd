"""``ssgp predict``: from a model and a table in files to predictions in a file."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ssgp._utils.names import hint, listed
from ssgp._utils.progress import observed
from ssgp._utils.whole_folder import check_new_folder, names_a_folder
from ssgp.cli.cluster_tables import check_shareable
from ssgp.cli.clusters import CLUSTER_WORDS, ClusterChoice
from ssgp.cli.columns import check_column, split_names
from ssgp.cli.errors import CommandError, WrongUsage, one_line
from ssgp.cli.kept_types import codes_of, holds_types, kept_types
from ssgp.cli.output import Output, amount, duration
from ssgp.cli.output_paths import check_not_an_input, check_not_standard_output
from ssgp.cli.predicted_tables import PredictedColumns, TablePredictor, no_rows
from ssgp.cli.predictor import Predictor, load_predictor
from ssgp.cli.progress_display import Display
from ssgp.cli.table_text import open_like_training
from ssgp.tables.csv_text import CsvText
from ssgp.tables.files import TableSource, check_columns
from ssgp.tables.input_warnings import told_once
from ssgp.tables.writing import check_output, write_table

__all__ = ["PredictOptions", "predict_command"]


ALL_COLUMNS = "all"


@dataclass(frozen=True)
class PredictOptions:
    """What a user asked for; see the help of ``ssgp predict``."""

    model: str
    data: str
    text: CsvText
    out: str
    std: bool
    quantiles: str | None
    interval: float | None
    keep: Sequence[str]
    jobs: int | None
    device: str | None
    cluster: ClusterChoice


def predict_command(options: PredictOptions, output: Output) -> int:
    """Predict and write; return the exit code."""
    check_not_standard_output(options.out, "the table")
    in_parts = options.cluster.given and names_a_folder(options.out)
    (check_new_folder if in_parts else check_output)(options.out)
    predictions = PredictedColumns(options.std, _quantile_levels(options.quantiles), _interval_ends(options.interval))
    predictor = _load(options)
    given = open_like_training(options.data, options.text, predictor.notes, output)
    if options.cluster.given:
        check_shareable(given)
    source = predictor.with_fitted_types(given)
    check_not_an_input(options.out, source, options.model)
    check_columns(predictor.inputs, source.column_names, f"{options.data!r} lacks a column that the model needs:")
    kept = _kept_columns(options.keep, predictor, source.column_names)
    _check_names(kept, predictions.names, bool(options.keep))
    with_types = in_parts or holds_types(options.out)
    types = kept_types(given, kept) if with_types else {}
    read_as = {name: types[name] for name in set(types) - set(predictor.inputs)}
    if not with_types:
        # Times that are written to text as they were read from it.
        read_as |= {name: pa.string() for name in kept if pa.types.is_timestamp(source.types.get(name, pa.string()))}
    codes = codes_of(source, [name for name in kept if name in predictor.inputs])
    source = source.with_types({**source.types, **read_as, **dict.fromkeys(codes, pa.string())})
    predict = TablePredictor(predictor, kept, types, predictions, codes)
    started = time.perf_counter()
    n_rows = (_write_on_cluster if options.cluster.given else _write)(predict, source, options, output)
    seconds = time.perf_counter() - started
    results = {"out": options.out, "rows": n_rows, "columns": predict.written, "seconds": round(seconds, 3)}
    rate = f"{n_rows / seconds:,.0f} a second"
    columns = one_line(", ".join(predict.written))
    output.result(results, f"{amount(n_rows, 'row')} in {duration(seconds)}, {rate}: {options.out} has {columns}")
    return 0


def _load(options: PredictOptions) -> Predictor:
    """The model; in one thread where workers, which have others, are to use it."""
    predictor = load_predictor(options.model)
    if not options.cluster.given:
        return predictor.with_jobs(options.jobs).with_device(options.device)
    if options.device is not None:
        raise WrongUsage(f"--device: not on a cluster ({options.cluster.option}); workers use their processors")
    return predictor.with_jobs(options.jobs or 1)


def _write(predict: TablePredictor, source: TableSource, options: PredictOptions, output: Output) -> int:
    """Predict and write batch by batch; return the number of rows."""
    with output.warnings_as_messages(), told_once(), output.progress() as display:
        return write_table(_predicted_tables(predict, source, display), options.out)


def _predicted_tables(predict: TablePredictor, source: TableSource, display: Display) -> Iterator[pa.Table]:
    """What is written, batch by batch."""
    n_predicted, n_rows = 0, source.n_rows
    display("row", n_predicted, n_rows)
    for batch in source.batches(predict.read):
        predicted = predict(batch)
        n_predicted += batch.num_rows
        display("row", n_predicted, n_rows)
        yield predicted
    if not n_predicted:
        raise no_rows(source)


def _write_on_cluster(predict: TablePredictor, source: TableSource, options: PredictOptions, output: Output) -> int:
    """Let the workers of a cluster predict and write; return the number of rows."""
    with options.cluster.opened(None, output) as client:
        from ssgp.cli.cluster_predictions import write_file, write_folder

        write = write_folder if names_a_folder(options.out) else write_file
        with (
            output.warnings_as_messages(CLUSTER_WORDS),
            told_once(),
            output.progress() as display,
            observed(display),
        ):
            return write(predict, source, options.out, display, client, **options.cluster.waiting)


def _quantile_levels(text: str | None) -> list[str]:
    """Levels as the user wrote them, for they name columns."""
    levels = [level.strip() for level in text.split(",")] if text else []
    for level in levels:
        if not _is_share(level):
            raise WrongUsage(f"--quantiles: {level!r} is not a number between 0 and 1, as in 0.05,0.5,0.95")
    if len(set(levels)) < len(levels):
        raise WrongUsage(f"--quantiles: {text} has a level twice")
    return levels


def _is_share(text: str) -> bool:
    try:
        return 0 < float(text) < 1
    except ValueError:
        return False


def _interval_ends(coverage: float | None) -> tuple[str, float, float] | None:
    """A share as the user wrote it, and the levels of the ends of that central interval."""
    if coverage is None:
        return None
    if not 0 < coverage < 1:
        raise WrongUsage(f"--interval: {coverage:g} must lie between 0 and 1, as in 0.9")
    return f"{coverage:g}", 0.5 - coverage / 2, 0.5 + coverage / 2


def _kept_columns(keep: Sequence[str], predictor: Predictor, names: list[str]) -> list[str]:
    """Columns of the table that are written beside the predictions: the key of the fit unless others are given."""
    if not keep:
        return [_key_column(name, names) for name in predictor.notes.key]
    if list(keep) == [""]:
        return []
    if list(keep) == [ALL_COLUMNS] and ALL_COLUMNS not in names:
        return names
    return [check_column("--keep", name, names) for name in dict.fromkeys(split_names(keep, names))]


def _key_column(name: str, names: list[str]) -> str:
    if name not in names:
        raise CommandError(
            f"there is no column {name!r}{hint(name, names)}, which names the rows (--key of the fit); "
            f"--keep chooses other columns to keep, --keep '' none; there are {listed(names)}"
        )
    return name


def _check_names(kept: list[str], predicted: list[str], chosen: bool) -> None:
    """Refuse two columns of one name."""
    clash = sorted(set(kept) & set(predicted))
    if clash and chosen:
        raise WrongUsage(f"--keep: {clash[0]!r} is the name of a prediction; leave that column out")
    if clash:
        raise WrongUsage(
            f"the column {clash[0]!r} names the rows (--key of the fit), and a prediction has the same name; "
            "choose other columns by --keep, or none by --keep ''"
        )
