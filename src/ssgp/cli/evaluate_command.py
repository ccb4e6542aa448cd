"""``ssgp evaluate``: scores of a saved model on rows that have targets, and the model recalibrated on them."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from ssgp._utils.moments import Moments
from ssgp.cli.errors import CommandError, WrongUsage
from ssgp.cli.evaluation_table import EvaluationTable, open_evaluation_table
from ssgp.cli.notes import Notes
from ssgp.cli.output import Output, amount
from ssgp.cli.output_paths import check_not_an_input, check_out
from ssgp.cli.predictor import Predictor, load_predictor
from ssgp.cli.progress_display import Display
from ssgp.cli.scores import RowScorer, Scores, score_constant, scores_text
from ssgp.distributions.recalibrated import LEAST_ROWS, MOST_ROWS, RecalibratedRegressor, original
from ssgp.distributions.recalibration import Recalibration
from ssgp.saving.model_files import read_summary, save
from ssgp.tables.csv_text import CsvText
from ssgp.tables.input_warnings import told_once, untold

__all__ = ["EvaluateOptions", "evaluate_command"]


@dataclass(frozen=True)
class EvaluateOptions:
    """What a user asked for; see the help of ``ssgp evaluate``."""

    model: str
    data: str
    text: CsvText
    target: str | None
    calibrate: bool
    out: str | None
    jobs: int | None


def evaluate_command(options: EvaluateOptions, output: Output) -> int:
    """Score a model beside a baseline, and save it recalibrated if that is asked for; return the exit code."""
    _check_out(options)
    saved = load_predictor(options.model)
    table = open_evaluation_table(saved, options.model, options.data, options.text, options.target, output)
    if options.out is not None:
        check_not_an_input(options.out, table.source)
    mean, std, baseline_rows = _baseline(saved, table)
    predictors = {"model": saved.with_jobs(options.jobs)}
    with output.warnings_as_messages(), output.progress() as display, saved.column_names_in_errors(table.target):
        if options.calibrate:
            with untold():
                predictors["recalibrated"] = _recalibrate(predictors["model"], table)
        with told_once():
            scores, n_missing = _score_all(predictors, table, (mean, std), display)
    if n_missing:
        output.warn(f"{amount(n_missing, 'row')} left out, where the target {table.target!r} is missing")
    results: dict[str, Any] = {name: scored.summary() for name, scored in scores.items()}
    results["baseline"] |= {"mean": mean, "deviation": std, "of": baseline_rows}
    results |= {"rows": scores["model"].n_rows, "rows_without_target": n_missing, "target": table.target}
    if options.calibrate:
        if _looks_like_training(saved.notes, table.target, scores["model"]):
            output.warn("these look like the rows that the model was fitted to: recalibrate on rows it has not seen")
        results |= _save_recalibrated(saved, predictors["recalibrated"].regressor, str(options.out))
    output.answer(results, _text(results, options.data))
    return 0


def _check_out(options: EvaluateOptions) -> None:
    """Raise, before the work begins, if it is unclear what to write, or if that cannot be written."""
    if options.calibrate and options.out is None:
        raise WrongUsage("--calibrate: give --out, the file that the recalibrated model goes to")
    if options.out is not None:
        if not options.calibrate:
            raise WrongUsage("--out: a model is written with --calibrate only")
        check_out(options.out, "the model")


def _baseline(predictor: Predictor, table: EvaluationTable) -> tuple[float, float, str]:
    """Mean and deviation that the baseline predicts, and the rows that they are of, in words."""
    if predictor.notes.moments is not None and predictor.notes.target == table.target:
        mean, deviation = predictor.notes.moments
        return mean, deviation or 1.0, "the training rows"
    moments = Moments()
    for _, y, _ in table.batches([]):
        moments.add(y)
    table.check_not_empty(int(moments.total))
    return moments.mean, moments.deviation or 1.0, "these rows"


def _recalibrate(predictor: Predictor, table: EvaluationTable) -> Predictor:
    """The model, recalibrated on the rows of the table: all of them, or many drawn at random."""
    sample = table.sample(predictor.inputs, MOST_ROWS)
    if sample.n_with_target < LEAST_ROWS:
        raise CommandError(
            f"--calibrate: {table.source.name!r} has {amount(sample.n_with_target, 'row')} in which the target "
            f"{table.target!r} is known; at least {LEAST_ROWS} are needed, and some hundreds are better"
        )
    regressor = RecalibratedRegressor(original(predictor.regressor))
    return predictor.with_regressor(regressor.fit(predictor.encode(sample.table), sample.y))


def _score_all(
    predictors: Mapping[str, Predictor], table: EvaluationTable, moments: tuple[float, float], display: Display
) -> tuple[dict[str, Scores], int]:
    """Scores of all predictors and of the baseline, and the number of rows without a target."""
    scores, n_missing = {name: Scores(moments[0]) for name in (*predictors, "baseline")}, 0
    first, n_rows = predictors["model"], table.source.n_rows
    scorer = RowScorer(n_rows)
    display("row", 0, n_rows)
    for rows, y, n_missing_in_batch in table.batches(first.inputs):
        n_missing += n_missing_in_batch
        if len(y):
            X = first.encode(rows)
            for name, predictor in predictors.items():
                # The recalibrated model takes the same rows, as the model does.
                with nullcontext() if predictor is first else untold():
                    scores[name].add(y, scorer(predictor, X, y))
            scores["baseline"].add(y, score_constant(y, *moments))
        display("row", scores["baseline"].n_rows + n_missing, n_rows)
    table.check_not_empty(scores["baseline"].n_rows)
    return scores, n_missing


def _looks_like_training(notes: Notes, target: str, scores: Scores) -> bool:
    """Whether there are as many rows as in training, with the same mean of the target."""
    if notes.target != target or notes.n_rows != scores.n_rows or notes.moments is None:
        return False
    mean, deviation = notes.moments
    return bool(abs(scores.target_mean - mean) <= 1e-9 * (deviation or 1.0))


def _save_recalibrated(predictor: Predictor, recalibrated: RecalibratedRegressor, out: str) -> dict[str, Any]:
    """Save the model with the settings it was loaded with and the recalibration; return what was learned."""
    regressor = RecalibratedRegressor(original(predictor.regressor))
    regressor.recalibration_ = recalibrated.recalibration_
    regressor.n_recalibration_rows_ = recalibrated.n_recalibration_rows_
    save(predictor.with_regressor(regressor).model, out, notes=predictor.raw_notes)
    return {"out": out, "recalibration": read_summary(out)["recalibration"]}


def _text(results: dict[str, Any], data: str) -> str:
    columns = {name: results[name] for name in ("model", "recalibrated", "baseline") if name in results}
    return "\n".join(
        [
            f"{data}: {amount(results['rows'], 'row')}, target {results['target']}",
            "",
            scores_text(columns, results["baseline"]["of"]),
            *_calibration_lines(results),
        ]
    )


def _calibration_lines(results: dict[str, Any]) -> list[str]:
    """What the recalibration does, and what its scores are worth."""
    if "recalibration" not in results:
        return []
    recalibration = dict(results["recalibration"])
    n_rows = recalibration.pop("n_rows")
    drawn = f" of {results['rows']:,}, drawn at random" if n_rows < results["rows"] else ""
    return [
        "",
        f"Recalibrated on {amount(n_rows, 'row')}{drawn}: {Recalibration(**recalibration).describe()}.",
        "Its scores are of rows that it has seen; judge it by others, which neither it nor the model was fitted to.",
        f"Saved to {results['out']}",
    ]
