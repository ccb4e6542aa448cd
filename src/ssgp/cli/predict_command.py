"""``ssgp predict``: from a model and a table in files to predictions in a file."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ssgp._utils.arrays import Array
from ssgp._utils.names import hint, listed
from ssgp.cli.columns import check_column, split_names
from ssgp.cli.errors import CommandError, WrongUsage
from ssgp.cli.output import Output, amount, duration
from ssgp.cli.places import check_not_read
from ssgp.cli.predictor import Predictor, load_predictor
from ssgp.cli.progress_display import Display
from ssgp.tables.files import TableSource, check_columns, open_table
from ssgp.tables.writing import check_output, write_table

__all__ = ["PredictOptions", "predict_command"]


ALL = "all"


@dataclass(frozen=True)
class PredictOptions:
    """What a user asked for; see the help of ``ssgp predict``."""

    model: str
    data: str
    out: str
    std: bool
    quantiles: str | None
    interval: float | None
    keep: Sequence[str]
    jobs: int | None


def predict_command(options: PredictOptions, output: Output) -> int:
    """Predict and write; return the exit code."""
    check_output(options.out)
    wanted = _Wanted(options.std, _levels(options.quantiles), _ends(options.interval))
    predictor = load_predictor(options.model).with_jobs(options.jobs)
    source = predictor.typed(open_table(options.data))
    check_not_read(options.out, source, options.model)
    check_columns(predictor.inputs, source.column_names, f"{options.data!r} lacks a column that the model needs:")
    kept = _kept(options.keep, predictor, source.column_names)
    _check_names(kept, wanted.names, bool(options.keep))
    began = time.perf_counter()
    with output.warnings_told(), output.progress() as display:
        n_rows = write_table(_predictions(predictor, source, kept, wanted, display), options.out)
    seconds = time.perf_counter() - began
    found = {"out": options.out, "rows": n_rows, "columns": [*kept, *wanted.names], "seconds": round(seconds, 3)}
    rate = f"{n_rows / seconds:,.0f} a second"
    output.result(found, f"{amount(n_rows, 'row')} in {duration(seconds)}, {rate}: {options.out} has {_listed(found)}")
    return 0


@dataclass(frozen=True)
class _Wanted:
    """What is asked of a prediction besides its mean."""

    std: bool
    quantiles: list[str]
    ends: tuple[str, float, float] | None

    @property
    def names(self) -> list[str]:
        """Of the columns that are written."""
        ends = [] if self.ends is None else [f"lower_{self.ends[0]}", f"upper_{self.ends[0]}"]
        return ["mean", *["std"] * self.std, *(f"q{level}" for level in self.quantiles), *ends]

    @property
    def levels(self) -> list[float]:
        """Of all quantiles, those at the ends of the interval last."""
        return [*map(float, self.quantiles), *([] if self.ends is None else self.ends[1:])]

    def __call__(self, predictor: Predictor, X: Any) -> list[Array]:  # noqa: ANN401
        """Columns of predictions."""
        found = predictor.regressor.predict(X, return_std=True) if self.std else [predictor.regressor.predict(X)]
        quantiles = predictor.regressor.predict_quantiles(X, self.levels).T if self.levels else []
        return [*found, *quantiles]


def _levels(text: str | None) -> list[str]:
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


def _ends(coverage: float | None) -> tuple[str, float, float] | None:
    if coverage is None:
        return None
    if not 0 < coverage < 1:
        raise WrongUsage(f"--interval: {coverage:g} must lie between 0 and 1, as in 0.9")
    return f"{coverage:g}", 0.5 - coverage / 2, 0.5 + coverage / 2


def _kept(keep: Sequence[str], predictor: Predictor, names: list[str]) -> list[str]:
    """Columns of the table that stand beside the predictions: the key of the fit unless others are asked for."""
    if not keep:
        return [_key_column(name, names) for name in predictor.notes.key]
    if list(keep) == [ALL] and ALL not in names:
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


def _predictions(
    predictor: Predictor, source: TableSource, kept: list[str], wanted: _Wanted, display: Display
) -> Iterator[pa.Table]:
    """Kept columns and predictions, a batch at a time."""
    done, total = 0, source.n_rows
    display("row", done, total)
    for batch in source.batches(list(dict.fromkeys([*predictor.inputs, *kept]))):
        with predictor.columns_named():
            columns = wanted(predictor, predictor.encode(batch))
        done += batch.num_rows
        display("row", done, total)
        yield pa.table([*(batch[name] for name in kept), *map(pa.array, columns)], names=[*kept, *wanted.names])
    if not done:
        raise CommandError(f"{source.name!r} has no rows to predict")


def _listed(found: dict[str, Any]) -> str:
    return ", ".join(found["columns"])
