"""``ssgp evaluate``: how good a saved model is on rows whose targets are known, and a model that they recalibrate."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ssgp._utils.whole_file import check_place
from ssgp.cli.errors import CommandError, WrongUsage
from ssgp.cli.judged import JudgedTable, open_judged
from ssgp.cli.moments import Moments
from ssgp.cli.notes import Notes
from ssgp.cli.output import Output, amount
from ssgp.cli.predictor import Predictor, load_predictor
from ssgp.cli.progress_display import Display
from ssgp.cli.scores import Judge, Scores, judge_constant, scores_text
from ssgp.distributions.recalibrated import LEAST_ROWS, MOST_ROWS, RecalibratedRegressor, original
from ssgp.distributions.recalibration import Recalibration
from ssgp.saving.model_files import read_summary, save

__all__ = ["EvaluateOptions", "evaluate_command"]


@dataclass(frozen=True)
class EvaluateOptions:
    """What a user asked for; see the help of ``ssgp evaluate``."""

    model: str
    data: str
    target: str | None
    calibrate: bool
    out: str | None
    jobs: int | None


def evaluate_command(options: EvaluateOptions, output: Output) -> int:
    """Judge a model beside a baseline, and save it recalibrated if that is asked for; return the exit code."""
    _check_out(options)
    saved = load_predictor(options.model)
    judged = open_judged(saved, options.model, options.data, options.target)
    mean, std, whose = _baseline(saved, judged)
    predictors = {"model": saved.with_jobs(options.jobs)}
    with output.warnings_told(), output.progress() as display, saved.columns_named(judged.target):
        if options.calibrate:
            predictors["recalibrated"] = _recalibrated(predictors["model"], judged)
        scores, n_missing = _judge_all(predictors, judged, (mean, std), display)
    if n_missing:
        output.warn(f"{amount(n_missing, 'row')} left out, where the target {judged.target!r} is missing")
    found: dict[str, Any] = {name: own.summary() for name, own in scores.items()}
    found["baseline"] |= {"mean": mean, "deviation": std, "of": whose}
    found |= {"rows": scores["model"].n_rows, "rows_without_target": n_missing, "target": judged.target}
    if options.calibrate:
        if _looks_like_training(saved.notes, judged.target, scores["model"]):
            output.warn("these look like the rows that the model was fitted to: recalibrate on rows it has not seen")
        found |= _saved(saved, predictors["recalibrated"].regressor, str(options.out))
    output.answer(found, _text(found, options.data))
    return 0


def _check_out(options: EvaluateOptions) -> None:
    """Whether it is clear what to write, and whether that can be done, before the work begins."""
    if options.calibrate and options.out is None:
        raise WrongUsage("--calibrate: give --out, the file that the recalibrated model goes to")
    if options.out is not None:
        if not options.calibrate:
            raise WrongUsage("--out: a model is written with --calibrate only")
        check_place(options.out, "the model")


def _baseline(predictor: Predictor, judged: JudgedTable) -> tuple[float, float, str]:
    """Mean and deviation that need no model, and whose they are."""
    known = predictor.notes.moments
    if known is not None and predictor.notes.target == judged.target:
        return known[0], known[1] or 1.0, "the training rows"
    moments = Moments()
    for _, y, _ in judged.batches([]):
        moments.add(y)
    judged.check_count(int(moments.total))
    return moments.mean, moments.deviation or 1.0, "these rows"


def _recalibrated(predictor: Predictor, judged: JudgedTable) -> Predictor:
    """The model, recalibrated on the rows of the table: all of them, or many drawn at random."""
    rows, y, n_known, _ = judged.draw(predictor.inputs, MOST_ROWS)
    if n_known < LEAST_ROWS:
        raise CommandError(
            f"--calibrate: {judged.source.name!r} has {amount(n_known, 'row')} in which the target {judged.target!r} "
            f"is known; at least {LEAST_ROWS} are needed, and some hundreds are better"
        )
    return replace(
        predictor, regressor=RecalibratedRegressor(original(predictor.regressor)).fit(predictor.encode(rows), y)
    )


def _judge_all(
    predictors: Mapping[str, Predictor], judged: JudgedTable, moments: tuple[float, float], display: Display
) -> tuple[dict[str, Scores], int]:
    """Scores of all predictors and of the baseline, and how many rows have no target."""
    scores, n_missing = {name: Scores(moments[0]) for name in (*predictors, "baseline")}, 0
    first, n_rows = predictors["model"], judged.source.n_rows
    judge = Judge(n_rows)
    display("row", 0, n_rows)
    for rows, y, n_without in judged.batches(first.inputs):
        n_missing += n_without
        if len(y):
            X = first.encode(rows)
            for name, predictor in predictors.items():
                scores[name].add(y, judge(predictor, X, y))
            scores["baseline"].add(y, judge_constant(y, *moments))
        display("row", scores["baseline"].n_rows + n_missing, n_rows)
    judged.check_count(scores["baseline"].n_rows)
    return scores, n_missing


def _looks_like_training(notes: Notes, target: str, scores: Scores) -> bool:
    """Whether there are as many rows as in training, with the same mean of the target."""
    if notes.target != target or notes.n_rows != scores.n_rows or notes.moments is None:
        return False
    mean, deviation = notes.moments
    return bool(abs(scores.target_mean - mean) <= 1e-9 * (deviation or 1.0))


def _saved(predictor: Predictor, recalibrated: RecalibratedRegressor, out: str) -> dict[str, Any]:
    """Save the model as it was, with the recalibration; return what was learned."""
    regressor = RecalibratedRegressor(original(predictor.regressor))
    regressor.recalibration_ = recalibrated.recalibration_
    regressor.n_recalibration_rows_ = recalibrated.n_recalibration_rows_
    save(replace(predictor, regressor=regressor).whole, out, notes=predictor.noted)
    return {"out": out, "recalibration": read_summary(out)["recalibration"]}


def _text(found: dict[str, Any], data: str) -> str:
    chance = found["model"]["pit"]["distance_by_chance"]
    table = scores_text({name: found[name] for name in ("model", "recalibrated", "baseline") if name in found})
    return "\n".join(
        [
            f"{data}: {amount(found['rows'], 'row')}, target {found['target']}",
            "",
            table,
            "",
            f"The baseline predicts the mean and deviation of {found['baseline']['of']}.",
            f"1 of 20 honest models is further than {chance:.3f} from uniform by chance.",
            *_calibration_lines(found),
        ]
    )


def _calibration_lines(found: dict[str, Any]) -> list[str]:
    """What the recalibration does, and what its scores are worth."""
    if "recalibration" not in found:
        return []
    own = dict(found["recalibration"])
    n_rows = own.pop("n_rows")
    drawn = f" of {found['rows']:,}, drawn at random" if n_rows < found["rows"] else ""
    return [
        "",
        f"Recalibrated on {amount(n_rows, 'row')}{drawn}: {Recalibration(**own).describe()}.",
        "Its scores are of rows that it has seen; judge it by others, which neither it nor the model was fitted to.",
        f"Saved to {found['out']}",
    ]
