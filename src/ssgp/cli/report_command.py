"""``ssgp report``: a page that shows what a model learned and how far it can be believed."""

import numpy as np
import pyarrow as pa
from sklearn.pipeline import Pipeline

from ssgp.cli.errors import CommandError
from ssgp.cli.judged import open_judged
from ssgp.cli.output import Output, amount
from ssgp.cli.predictor import Predictor, load_predictor
from ssgp.cli.targets import target_of
from ssgp.report import write_report
from ssgp.table_files import TableSource
from ssgp.whole_file import check_place

__all__ = ["report_command"]


def report_command(
    model: str, data: str, out: str, target: str | None, seen: bool | None, jobs: int | None, output: Output
) -> int:
    """Write the page; return the exit code."""
    check_place(out, "the report")
    predictor = load_predictor(model).with_jobs(jobs)
    source, name = open_judged(predictor, model, data, target)
    columns = _shown(predictor, source)
    table = source.read(list(dict.fromkeys([*columns, name])))
    y = target_of(table[name], name)
    known = np.isfinite(y)
    if not known.any():
        raise CommandError(f"{data!r} has no row in which the target {name!r} is known")
    if not known.all():
        output.warn(f"{amount(int((~known).sum()), 'row')} left out, where the target {name!r} is missing")
    steps = [("encoder", predictor.encoder), ("regressor", predictor.regressor)]
    whole = predictor.regressor if predictor.encoder is None else Pipeline(steps)
    rows = table.select(columns).filter(pa.array(known))
    with output.warnings_told():
        write_report(whole, rows, y[known], out, target=name, seen_in_training=seen)
    found = {"out": out, "rows": len(rows), "target": name}
    output.result(found, f"{out}: {amount(len(rows), 'row')}, target {name}")
    return 0


def _shown(predictor: Predictor, source: TableSource) -> list[str]:
    """Columns of the table that fit saw, those that were dropped then too: the page tells why."""
    if predictor.encoder is None:
        return predictor.inputs
    return [name for name in predictor.encoder.feature_names_in_.tolist() if name in source.column_names]
