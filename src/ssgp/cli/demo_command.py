"""``ssgp demo``: a forest on real data, delays of flights."""

import time
from typing import Any

import numpy as np

from ssgp._utils.arrays import Array
from ssgp._utils.budget import FitInterruptedError
from ssgp._utils.progress import observed
from ssgp.cli.course import FITTING_A_FOREST
from ssgp.cli.errors import INTERRUPTED
from ssgp.cli.output import Output, duration, glossary, table_lines
from ssgp.cli.predictor import Predictor
from ssgp.cli.printing import line_width
from ssgp.cli.scores import RowScorer, Scores, score_constant
from ssgp.datasets import Split, load_flights
from ssgp.forest.estimator import SpectralForestRegressor

__all__ = ["demo_command"]


N_EXAMPLES = 5
EXPLANATIONS = {
    "RMSE": "typical error of the predicted mean, in minutes",
    "MNLP": "mean negative log density of what happened; lower is better",
    "CRPS": "mean distance of whole distributions from what happened, in minutes; lower is better",
    "cover": "share of flights inside their 90 and 95 % intervals",
    "baseline": "the mean and deviation of the training rows, for every flight",
}


def demo_command(max_time: float, rows: int | None, jobs: int | None, output: Output) -> int:
    """Learn delays of flights and show how well, and how surely, they are predicted; return the exit code."""
    flights = load_flights()
    # The table is in order of time: the first rows would be of January.
    training = np.random.default_rng(0).permutation(len(flights.y_train))[:rows]
    X, y = flights.X_train[training], flights.y_train[training]
    output.say(
        f"Delays of flights from New York, 2013: {len(y):,} to learn from, {len(flights.y_test):,} to be judged on"
    )
    model = SpectralForestRegressor(max_time=max_time, random_state=0, n_jobs=-1 if jobs is None else jobs)
    started = time.perf_counter()
    interrupted = False
    with output.warnings_as_messages(), output.progress(FITTING_A_FOREST) as display, observed(display):
        try:
            model.fit(X, y)
        except FitInterruptedError:
            interrupted = True
    seconds = time.perf_counter() - started
    results = {"seconds": seconds, **_score(model, flights, y), "examples": _examples(model, flights)}
    output.answer(results, _text(results))
    return INTERRUPTED if interrupted else 0


def _score(model: SpectralForestRegressor, flights: Split, y_train: Array) -> dict[str, Any]:
    """Scores of the forest, and of the mean and deviation of the training rows."""
    mean, std, y = float(y_train.mean()), float(y_train.std()), flights.y_test
    scores, baseline = Scores(mean), Scores(mean)
    scores.add(y, RowScorer()(Predictor(model), flights.X_test, y))
    baseline.add(y, score_constant(y, mean, std))
    return {"model": scores.summary(), "baseline": baseline.summary()}


def _examples(model: SpectralForestRegressor, flights: Split) -> list[dict[str, float]]:
    """A few flights: what was predicted and what happened."""
    rows = np.random.default_rng(0).choice(len(flights.y_test), N_EXAMPLES, replace=False)
    X, y = flights.X_test[rows], flights.y_test[rows]
    columns = np.column_stack([model.predict(X), model.predict_interval(X, 0.9), y])
    return [dict(zip(("mean", "lower_0.9", "upper_0.9", "happened"), row, strict=True)) for row in columns.tolist()]


def _text(results: dict[str, Any]) -> str:
    header = ["", "RMSE", "MNLP", "CRPS", "90% cover", "95% cover", "fit"]
    forest = _row("spectral forest", results["model"], duration(results["seconds"]))
    table = table_lines(header, [forest, _row("baseline", results["baseline"], "")])
    flights = [
        [f"flight {i}", *(f"{value:.0f}" for value in row.values())] for i, row in enumerate(results["examples"], 1)
    ]
    examples = table_lines(["minutes late", "predicted", "90% from", "to", "happened"], flights)
    return f"\n{table}\n\n{glossary(EXPLANATIONS, line_width())}\n\n{examples}"


def _row(name: str, summary: dict[str, Any], fit: str) -> list[str]:
    covered = [f"{interval['coverage']:.1%}" for interval in summary["intervals"] if interval["level"] >= 0.9]
    return [name, f"{summary['rmse']:.2f}", f"{summary['mnlp']:.3f}", f"{summary['crps']:.2f}", *covered, fit]
