"""``ssgp predict``: from a model and a table in files to predictions in a file."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ssgp._utils.arrays import Array
from ssgp._utils.names import hint, listed
from ssgp.cli.columns import check_column, split_names
from ssgp.cli.errors import CommandError, WrongUsage, one_line
from ssgp.cli.kept_types import holds_types, kept_types
from ssgp.cli.output import Output, amount, duration
from ssgp.cli.output_paths import check_not_an_input, check_not_standard_output
from ssgp.cli.predictor import Predictor, load_predictor
from ssgp.cli.progress_display import Display
from ssgp.cli.table_text import open_like_training
from ssgp.distributions.base import Distribution
from ssgp.distributions.regressor import map_distributions
from ssgp.tables.arrow_columns import Column
from ssgp.tables.csv_text import CsvText
from ssgp.tables.files import TableSource, check_columns
from ssgp.tables.formats import Types
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


def predict_command(options: PredictOptions, output: Output) -> int:
    """Predict and write; return the exit code."""
    check_not_standard_output(options.out, "the table")
    check_output(options.out)
    predictions = _Predictions(options.std, _quantile_levels(options.quantiles), _interval_ends(options.interval))
    predictor = load_predictor(options.model).with_jobs(options.jobs).with_device(options.device)
    given = open_like_training(options.data, options.text, predictor.notes, output)
    source = predictor.with_fitted_types(given)
    check_not_an_input(options.out, source, options.model)
    check_columns(predictor.inputs, source.column_names, f"{options.data!r} lacks a column that the model needs:")
    kept = _kept_columns(options.keep, predictor, source.column_names)
    _check_names(kept, predictions.names, bool(options.keep))
    types = kept_types(given, kept) if holds_types(options.out) else {}
    read_as = {name: types[name] for name in set(types) - set(predictor.inputs)}
    if not holds_types(options.out):
        # Times that are written to text as they were read from it.
        read_as |= {name: pa.string() for name in kept if pa.types.is_timestamp(source.types.get(name, pa.string()))}
    source = source.with_types({**source.types, **read_as})
    started = time.perf_counter()
    with output.warnings_as_messages(), told_once(), output.progress() as display:
        n_rows = write_table(_predicted_tables(predictor, source, kept, types, predictions, display), options.out)
    seconds, columns = time.perf_counter() - started, [*kept, *predictions.names]
    results = {"out": options.out, "rows": n_rows, "columns": columns, "seconds": round(seconds, 3)}
    rate = f"{n_rows / seconds:,.0f} a second"
    text = f"{amount(n_rows, 'row')} in {duration(seconds)}, {rate}: {options.out} has {one_line(', '.join(columns))}"
    output.result(results, text)
    return 0


@dataclass(frozen=True)
class _Predictions:
    """The columns of predictions that are written.

    Attributes
    ----------
    std : bool
        Whether deviations are written.
    quantiles : list of str
        Levels of quantiles.
    interval : (str, float, float) or None
        Share of an interval, and the levels of its ends.
    """

    std: bool
    quantiles: list[str]
    interval: tuple[str, float, float] | None

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        ends = [] if self.interval is None else [f"lower_{self.interval[0]}", f"upper_{self.interval[0]}"]
        return ["mean", *["std"] * self.std, *(f"q{level}" for level in self.quantiles), *ends]

    @property
    def levels(self) -> list[float]:
        """Levels of all quantiles, those at the ends of the interval last."""
        return [*map(float, self.quantiles), *([] if self.interval is None else self.interval[1:])]

    def __call__(self, regressor: Any, X: Any) -> list[Array]:  # noqa: ANN401
        """The columns, shapes (n,), for rows X as the regressor takes them."""
        if not (self.std or self.levels):
            return [regressor.predict(X)]
        parts = map_distributions(regressor, X, lambda part, _: self._of(part))
        return list(np.concatenate(parts, axis=1))

    def _of(self, distribution: Distribution) -> Array:
        """The columns of some rows, shape (k, n)."""
        moments = [distribution.mean(), *([distribution.std()] if self.std else [])]
        quantiles = distribution.quantile(self.levels).T if self.levels else []
        return np.stack([*moments, *quantiles])


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


def _typed(column: Column, kind: pa.DataType | None) -> Column:
    """A kept column in its own type, where the model takes it as another than text."""
    return column if kind is None or column.type == pa.string() else column.cast(kind)


def _predicted_tables(
    predictor: Predictor,
    source: TableSource,
    kept: list[str],
    types: Types,
    predictions: _Predictions,
    display: Display,
) -> Iterator[pa.Table]:
    """Kept columns and predictions, batch by batch."""
    n_predicted, n_rows = 0, source.n_rows
    display("row", n_predicted, n_rows)
    for batch in source.batches(list(dict.fromkeys([*predictor.inputs, *kept]))):
        with predictor.column_names_in_errors():
            columns = predictions(predictor.regressor, predictor.encode(batch))
        n_predicted += batch.num_rows
        display("row", n_predicted, n_rows)
        beside = [_typed(batch[name], types.get(name)) for name in kept]
        yield pa.table([*beside, *map(pa.array, columns)], names=[*kept, *predictions.names])
    if not n_predicted:
        raise CommandError(f"{source.name!r} has no rows to predict")
