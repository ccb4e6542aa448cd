"""``ssgp report``: a page that shows what a model learned and how far it can be believed."""

from ssgp._utils.whole_file import check_place
from ssgp.cli.judged import open_judged
from ssgp.cli.output import Output, amount
from ssgp.cli.places import check_not_read
from ssgp.cli.predictor import Predictor, load_predictor
from ssgp.report import write_report
from ssgp.tables.files import TableSource

__all__ = ["report_command"]

# Rows that the page is made from; of more, so many are drawn at random while the table is read.
MOST_ROWS = 20_000


def report_command(
    model: str, data: str, out: str, target: str | None, seen: bool | None, jobs: int | None, output: Output
) -> int:
    """Write the page; return the exit code."""
    check_place(out, "the report")
    predictor = load_predictor(model).with_jobs(jobs)
    judged = open_judged(predictor, model, data, target)
    check_not_read(out, judged.source, model)
    name, columns = judged.target, _shown(predictor, judged.source)
    rows, y, n_known, n_missing = judged.draw(columns, MOST_ROWS)
    if n_missing:
        output.warn(f"{amount(n_missing, 'row')} left out, where the target {name!r} is missing")
    with output.warnings_told(), predictor.columns_named(name):
        whole, shown = predictor.whole, rows.select(columns)
        write_report(whole, shown, y, out, target=name, seen_in_training=seen, max_rows=MOST_ROWS, n_rows=n_known)
    found = {"out": out, "rows": n_known, "rows_shown": len(y), "target": name}
    drawn = f"{len(y):,} of " if len(y) < n_known else ""
    output.result(found, f"{out}: {drawn}{amount(n_known, 'row')}, target {name}")
    return 0


def _shown(predictor: Predictor, source: TableSource) -> list[str]:
    """Columns of the table that fit saw, those that were dropped then too: the page tells why."""
    if predictor.encoder is None:
        return predictor.inputs
    return [name for name in predictor.encoder.feature_names_in_.tolist() if name in source.column_names]
