"""Scores of predictions, from sums that need no more memory for more rows."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp.cli.output import glossary, plain_numbers, table_lines
from ssgp.cli.predictor import Predictor
from ssgp.cli.printing import line_width
from ssgp.distributions.base import Distribution
from ssgp.distributions.normal import NormalDistribution
from ssgp.distributions.regressor import map_distributions
from ssgp.metrics.calibration import between, inside_intervals, probabilities

__all__ = ["LEVELS", "RowScorer", "RowScores", "Scores", "score_constant", "scores_text"]


# Probabilities of the central intervals whose coverage and width are scored.
LEVELS = (0.5, 0.9, 0.95)
# Rows of a table for which the CRPS and the widths of intervals, which are slow to compute, are computed.
DETAILED_ROWS = 1 << 16
# The same per batch, where the number of rows of the table is unknown.
DETAILED_ROWS_PER_BATCH = 1 << 12
PIT_BINS = 100
UNITLESS = ("R2", "MNLP")
EXPLANATIONS = {
    "RMSE, MAE": "root mean squared and mean absolute error of the predicted mean",
    "R2": "share of the target's variance that the mean explains",
    "MNLP, CRPS": "of the whole distribution, lower is better: mean negative log density of the target, and mean "
    "distance from it (continuous ranked probability score), in the target's unit",
    "cover": "share of the targets inside the intervals; ideally the level of the intervals",
    "PIT": "largest error in how often targets fall below a quantile; 1 in 20 perfect models exceeds {chance:.3f}",
    "baseline": "the mean and deviation of {rows}, for every row",
}


@dataclass(frozen=True)
class RowScores:
    """Predictions of rows, scored by their targets, row by row.

    Attributes
    ----------
    mean, log_density, pit : arrays of shape (n,)
        Predicted mean; log density of the target, and its probability integral transform (see `ssgp.metrics.pit`).
    inside : bool array of shape (n, 3)
        Whether the target is in the central intervals of `LEVELS`.
    detailed : int array of shape (k,)
        Numbers of the rows for which the slow scores were computed.
    crps : array of shape (k,)
        Continuous ranked probability scores of these rows.
    width : array of shape (k, 3)
        Widths of their central intervals of `LEVELS`.
    """

    mean: Array
    log_density: Array
    pit: Array
    inside: Mask
    detailed: Indices
    crps: Array
    width: Array


@dataclass(frozen=True)
class RowScorer:
    """Scores the rows of a table batch by batch; slow scores are of a sample of them, evenly spaced.

    Attributes
    ----------
    n_rows : int or None
        Number of rows of the table; None where it is unknown.
    """

    n_rows: int | None = None

    def __call__(self, predictor: Predictor, X: Any, y: Array) -> RowScores:  # noqa: ANN401
        """Predict and score a batch of rows: every distribution is made once."""
        stride = max(1, len(y) // DETAILED_ROWS_PER_BATCH if self.n_rows is None else self.n_rows // DETAILED_ROWS)

        # Drawn here: parts of a batch depend on the number of threads.
        chance = np.random.default_rng(0).random(len(y))

        def score(distribution: Distribution, rows: slice) -> RowScores:
            detailed = np.arange(-rows.start % stride, len(distribution), stride)
            scores = score_rows(distribution, y[rows], detailed, chance[rows])
            return replace(scores, detailed=rows.start + detailed)

        parts = map_distributions(predictor.regressor, X, score)
        names = [field.name for field in fields(RowScores)]
        return RowScores(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def score_rows(distribution: Distribution, y: Array, detailed: Indices, chance: Array | float = 0.5) -> RowScores:
    """Scores of predictive distributions by targets y (n,); slow ones for the rows of the numbers `detailed`.

    `chance` (n,) are uniform random numbers, which matter where the target has a point mass.
    """
    below, at_most = probabilities(y, distribution)
    sample = distribution[detailed]
    widths = [np.diff(sample.interval(level)) for level in LEVELS]
    return RowScores(
        distribution.mean(),
        distribution.logpdf(y),
        between(below, at_most, chance),
        inside_intervals(below, at_most, LEVELS),
        detailed,
        sample.crps(y[detailed]),
        np.concatenate(widths, axis=1),
    )


def score_constant(y: Array, mean: float, std: float) -> RowScores:
    """Scores of one normal distribution for all targets y (n,)."""
    distribution = NormalDistribution(np.full(len(y), mean), np.full(len(y), std))
    return score_rows(distribution, y, np.arange(len(y)))


class Scores:
    """Scores of all rows so far, kept as sums.

    Parameters
    ----------
    centre : float
        A number near the targets, for squares that do not lose digits.

    Attributes
    ----------
    n_rows : int
        Number of rows so far, each counted once whatever its weight.
    """

    def __init__(self, centre: float) -> None:
        self._centre, self.n_rows = centre, 0
        self._sums = dict.fromkeys(("weight", "weight^2", "y", "y^2", "square", "absolute", "nlp", "crps"), 0.0)
        self._inside, self._width = np.zeros(len(LEVELS)), np.zeros(len(LEVELS))
        self._pit = np.zeros(PIT_BINS)

    def add(self, y: Array, scores: RowScores, weight: Array | None = None) -> None:
        """Add rows; each counts for as many rows as its weight says."""
        weight = np.ones(len(y)) if weight is None else weight
        error, deviation, total_weight = y - scores.mean, y - self._centre, float(weight.sum())
        self.n_rows += len(y)
        self._sums["weight"] += total_weight
        self._sums["weight^2"] += float(weight @ weight)
        self._sums["y"] += float(weight @ deviation)
        self._sums["y^2"] += float(weight * deviation @ deviation)
        self._sums["square"] += float(weight * error @ error)
        self._sums["absolute"] += float(weight @ np.abs(error))
        self._sums["nlp"] -= float(weight @ scores.log_density)
        # The rows whose slow scores were computed stand for all.
        detailed_weight = weight[scores.detailed] * (total_weight / weight[scores.detailed].sum())
        self._sums["crps"] += float(detailed_weight @ scores.crps)
        self._inside += weight @ scores.inside
        self._width += detailed_weight @ scores.width
        self._pit += np.histogram(scores.pit, PIT_BINS, (0.0, 1.0), weights=weight)[0]

    @property
    def target_mean(self) -> float:
        """Mean of the targets so far."""
        return self._centre + self._sums["y"] / self._sums["weight"]

    def summary(self) -> dict[str, Any]:
        """Means over all rows, by name."""
        n, sums = self._sums["weight"], self._sums
        # A power of a float that overflows raises, a product is infinite.
        spread = sums["y^2"] - sums["y"] * sums["y"] / n
        below = np.cumsum(self._pit) / n
        return {
            "rmse": float(np.sqrt(sums["square"] / n)),
            "mae": sums["absolute"] / n,
            "r2": 1.0 - sums["square"] / spread if spread > 0 else None,
            "mnlp": sums["nlp"] / n,
            "crps": sums["crps"] / n,
            "intervals": [
                {"level": level, "coverage": float(inside / n), "mean_width": float(width / n)}
                for level, inside, width in zip(LEVELS, self._inside, self._width, strict=True)
            ],
            "pit": {
                "distance_from_uniform": float(np.abs(below - np.arange(1, PIT_BINS + 1) / PIT_BINS).max()),
                # Kolmogorov's distance that 1 of 20 calibrated models exceeds; a row of large weight is still one row.
                "distance_by_chance": float(1.36 * np.sqrt(sums["weight^2"]) / n),
                "shares_of_tenths": (self._pit.reshape(10, -1).sum(axis=1) / n).tolist(),
            },
        }


def scores_text(columns: dict[str, dict[str, Any]], baseline_rows: str) -> str:
    """A table of summaries, one per column, and what its lines mean; the baseline is of `baseline_rows`, in words."""
    summaries = list(columns.values())
    measures = {"RMSE": "rmse", "MAE": "mae", "R2": "r2", "MNLP": "mnlp", "CRPS": "crps"}
    rows = [[name, *_line([summary[key] for summary in summaries], name in UNITLESS)] for name, key in measures.items()]
    for i, level in enumerate(LEVELS):
        intervals = [summary["intervals"][i] for summary in summaries]
        rows.append([f"{level:.0%} intervals cover", *(f"{interval['coverage']:.1%}" for interval in intervals)])
        rows.append(["  mean width", *_line([interval["mean_width"] for interval in intervals])])
    rows.append(["PIT from uniform", *(f"{summary['pit']['distance_from_uniform']:.3f}" for summary in summaries)])
    chance = summaries[0]["pit"]["distance_by_chance"]
    meanings = {term: meaning.format(rows=baseline_rows, chance=chance) for term, meaning in EXPLANATIONS.items()}
    return f"{table_lines(['', *columns], rows)}\n\n{glossary(meanings, line_width())}"


def _line(values: list[float | None], unitless: bool = False) -> list[str]:
    """Numbers of one line, all with the same decimals; "-" where there is none."""
    known = [value for value in values if value is not None]
    texts = iter([f"{value:.3f}" for value in known] if unitless else plain_numbers(known))
    return ["-" if value is None else next(texts) for value in values]
