"""``ssgp evaluate``: how good a saved model is on rows whose targets are known."""

from typing import Any

import numpy as np
import pyarrow as pa

from ssgp.cli.errors import CommandError
from ssgp.cli.judged import open_judged
from ssgp.cli.output import Output, amount
from ssgp.cli.predictor import Predictor, load_predictor
from ssgp.cli.progress_display import Display
from ssgp.cli.scores import Scores, judge, judge_normal, scores_text
from ssgp.cli.targets import target_of
from ssgp.table_files import TableSource

__all__ = ["evaluate_command"]


def evaluate_command(model: str, data: str, target: str | None, jobs: int | None, output: Output) -> int:
    """Judge a model beside a baseline; return the exit code."""
    predictor = load_predictor(model).with_jobs(jobs)
    source, name = open_judged(predictor, model, data, target)
    mean, std, whose = _baseline(predictor, source, name)
    with output.warnings_told(), output.progress() as display:
        scores, baseline, n_missing = _judge_all(predictor, source, name, (mean, std), display)
    if n_missing:
        output.warn(f"{amount(n_missing, 'row')} left out, where the target {name!r} is missing")
    found = {
        "model": scores.summary(),
        "baseline": {"mean": mean, "deviation": std, "of": whose, **baseline.summary()},
        "rows": scores.n_rows,
        "rows_without_target": n_missing,
        "target": name,
    }
    output.result(found, _text(found, data))
    return 0


def _baseline(predictor: Predictor, source: TableSource, name: str) -> tuple[float, float, str]:
    """Mean and deviation that need no model, and whose they are."""
    notes = predictor.notes
    if notes.get("target") == name:
        return notes["target_mean"], notes["target_deviation"] or 1.0, "the training rows"
    count, total, square = 0, 0.0, 0.0
    for batch in source.batches([name]):
        y = target_of(batch[name], name)
        y = y[np.isfinite(y)]
        count, total, square = count + len(y), total + float(y.sum()), square + float(y @ y)
    _check_count(count, source, name)
    return total / count, float(np.sqrt(max(square / count - (total / count) ** 2, 0.0))) or 1.0, "these rows"


def _judge_all(
    predictor: Predictor, source: TableSource, name: str, moments: tuple[float, float], display: Display
) -> tuple[Scores, Scores, int]:
    """Scores of the model and of the baseline, and how many rows have no target."""
    scores, baseline, n_missing = Scores(moments[0]), Scores(moments[0]), 0
    display("row", 0, source.n_rows)
    for batch in source.batches(list(dict.fromkeys([*predictor.inputs, name]))):
        y = target_of(batch[name], name)
        known = np.isfinite(y)
        n_missing += int((~known).sum())
        if known.any():
            rows, y = batch.filter(pa.array(known)), y[known]
            scores.add(y, judge(predictor, predictor.encode(rows), y))
            baseline.add(y, judge_normal(y, *(np.full(len(y), moment) for moment in moments)))
        display("row", scores.n_rows + n_missing, source.n_rows)
    _check_count(scores.n_rows, source, name)
    return scores, baseline, n_missing


def _check_count(count: int, source: TableSource, name: str) -> None:
    if not count:
        raise CommandError(f"{source.name!r} has no row in which the target {name!r} is known")


def _text(found: dict[str, Any], data: str) -> str:
    chance = found["model"]["pit"]["distance_by_chance"]
    table = scores_text({"model": found["model"], "baseline": found["baseline"]})
    return "\n".join(
        [
            f"{data}: {amount(found['rows'], 'row')}, target {found['target']}",
            "",
            table,
            "",
            f"The baseline predicts the mean and deviation of {found['baseline']['of']}.",
            f"1 of 20 honest models is further than {chance:.3f} from uniform by chance.",
        ]
    )
