"""``ssgp report``: a page that shows what a model learned and how far it can be believed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssgp.cli.course import REPORT
from ssgp.cli.evaluation_table import open_evaluation_table
from ssgp.cli.output import Output, amount
from ssgp.cli.output_paths import check_not_an_input, check_out
from ssgp.cli.predictor import Predictor, load_predictor
from ssgp.report import write_report
from ssgp.tables.csv_text import CsvText
from ssgp.tables.files import TableSource

__all__ = ["Heading", "report_command"]

# Most rows that the page is made from; of larger tables so many are drawn at random while they are read.
MOST_ROWS = 20_000


@dataclass(frozen=True)
class Heading:
    """What the user says of the page.

    Attributes
    ----------
    title : str or None
        Its title; None for the one that the target gives.
    label : str or None
        What to call the target, with its unit; None for the name of its column.
    seen : bool or None
        Whether the model was fitted to the rows; None where nobody says.
    """

    title: str | None
    label: str | None
    seen: bool | None


def report_command(
    model: str,
    data: str,
    text: CsvText,
    out: str,
    target: str | None,
    heading: Heading,
    jobs: int | None,
    output: Output,
) -> int:
    """Write the page; return the exit code."""
    check_out(out, "the report")
    predictor = load_predictor(model).with_jobs(jobs)
    table = open_evaluation_table(predictor, model, data, text, target, output)
    check_not_an_input(out, table.source, model)
    name, columns = table.target, _shown_columns(predictor, table.source)
    sample = table.sample(columns, MOST_ROWS)
    if sample.n_missing:
        output.warn(f"{amount(sample.n_missing, 'row')} left out, where the target {name!r} is missing")
    n_shown, n_rows = len(sample.y), sample.n_with_target
    named = predictor.column_names_in_errors(name)
    with output.warnings_as_messages(), named, output.progress(REPORT) as display:
        X = sample.table.select(columns)
        sources = {"model": Path(model).name, "rows": data.rstrip("/").rpartition("/")[2]}
        settings: Any = {"target": heading.label or name, "title": heading.title, "seen_in_training": heading.seen}
        settings |= {"max_rows": MOST_ROWS, "n_rows": n_rows, "sources": sources, "progress": display}
        write_report(predictor.model, X, sample.y, out, **settings)
    results = {"out": out, "rows": n_rows, "rows_shown": n_shown, "target": name}
    drawn = f"{n_shown:,} of " if n_shown < n_rows else ""
    output.result(results, f"{out}: {drawn}{amount(n_rows, 'row')}, target {name}")
    return 0


def _shown_columns(predictor: Predictor, source: TableSource) -> list[str]:
    """Columns of the table that were there in fit, those that were dropped then too: the page tells why."""
    if predictor.encoder is None:
        return predictor.inputs
    return [name for name in predictor.encoder.feature_names_in_.tolist() if name in source.column_names]
