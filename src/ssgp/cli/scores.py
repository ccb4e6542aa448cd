"""How good predictions are, and how honest, from sums that need no more memory for more rows."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.cli.output import table_lines
from ssgp.cli.predictor import Predictor
from ssgp.distributions.base import Distribution
from ssgp.distributions.normal import NormalDistribution

__all__ = ["LEVELS", "Judge", "Judged", "Scores", "judge_constant", "scores_text"]


# Of the intervals that are looked at.
LEVELS = (0.5, 0.9, 0.95)
TAILS = [*(0.5 - level / 2 for level in LEVELS), *(0.5 + level / 2 for level in LEVELS)]
# Rows of a table of which the CRPS and the width of intervals, which are slow to compute, are looked at.
DETAILED_ROWS = 1 << 16
# Of a batch of rows, where it is not known how many the table has.
DETAILED_OF_BATCH = 1 << 12
PIT_BINS = 100


@dataclass(frozen=True)
class Judged:
    """What predictions said of rows whose targets are known.

    Attributes
    ----------
    mean, log_density, cdf : arrays of shape (n,)
        Predicted mean; log density and cumulative probability of the target.
    detailed : int array of shape (k,)
        Numbers of the rows that were looked at in detail.
    crps : array of shape (k,)
        Continuous ranked probability score of these.
    width : array of shape (k, 3)
        Of their central intervals of `LEVELS`.
    """

    mean: Array
    log_density: Array
    cdf: Array
    detailed: Indices
    crps: Array
    width: Array


@dataclass(frozen=True)
class Judge:
    """Looks at what predictions said of the rows of a table; costly figures are of some rows, evenly from all.

    Attributes
    ----------
    n_rows : int or None
        Rows of the table, where that is known.
    """

    n_rows: int | None = None

    def __call__(self, predictor: Predictor, X: Any, y: Array) -> Judged:  # noqa: ANN401
        """Predict a batch of rows: every distribution is made once."""
        stride = max(1, len(y) // DETAILED_OF_BATCH if self.n_rows is None else self.n_rows // DETAILED_ROWS)

        def judge(said: Distribution, rows: slice) -> Judged:
            detailed = np.arange(-rows.start % stride, len(said), stride)
            judged = judge_rows(said, y[rows], detailed)
            return replace(judged, detailed=rows.start + detailed)

        parts = predictor.regressor._evaluate(X, judge)
        names = [part.name for part in fields(Judged)]
        return Judged(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def judge_rows(said: Distribution, y: Array, detailed: Indices) -> Judged:
    """Predictive distributions beside targets y (n,), the rows of these numbers in detail."""
    closer = said[detailed]
    low, high = np.split(closer.quantile(TAILS), 2, axis=1)
    return Judged(said.mean(), said.logpdf(y), said.cdf(y), detailed, closer.crps(y[detailed]), high - low)


def judge_constant(y: Array, mean: float, std: float) -> Judged:
    """One mean and deviation beside targets y (n,)."""
    said = NormalDistribution(np.full(len(y), mean), np.full(len(y), std))
    return judge_rows(said, y, np.arange(len(y)))


class Scores:
    """Sums over rows.

    Parameters
    ----------
    centre : float
        A number near the targets, for squares that do not lose digits.

    Attributes
    ----------
    n_rows : int
        Rows so far, each counted once whatever its weight.
    """

    def __init__(self, centre: float) -> None:
        self._centre, self.n_rows = centre, 0
        self._sums = dict.fromkeys(("weight", "weight^2", "y", "y^2", "square", "absolute", "nlp", "crps"), 0.0)
        self._inside, self._width = np.zeros(len(LEVELS)), np.zeros(len(LEVELS))
        self._pit = np.zeros(PIT_BINS)

    def add(self, y: Array, judged: Judged, weight: Array | None = None) -> None:
        """More rows, and how many rows each counts for."""
        weight = np.ones(len(y)) if weight is None else weight
        error, deviation, own = y - judged.mean, y - self._centre, float(weight.sum())
        self.n_rows += len(y)
        self._sums["weight"] += own
        self._sums["weight^2"] += float(weight @ weight)
        self._sums["y"] += float(weight @ deviation)
        self._sums["y^2"] += float(weight * deviation @ deviation)
        self._sums["square"] += float(weight * error @ error)
        self._sums["absolute"] += float(weight @ np.abs(error))
        self._sums["nlp"] -= float(weight @ judged.log_density)
        # The rows that were looked at in detail stand for all.
        detailed = weight[judged.detailed] * (own / weight[judged.detailed].sum())
        self._sums["crps"] += float(detailed @ judged.crps)
        self._inside += weight @ (np.abs(judged.cdf[:, None] - 0.5) <= np.divide(LEVELS, 2))
        self._width += detailed @ judged.width
        self._pit += np.histogram(judged.cdf, PIT_BINS, (0.0, 1.0), weights=weight)[0]

    @property
    def target_mean(self) -> float:
        """Mean of the targets so far."""
        return self._centre + self._sums["y"] / self._sums["weight"]

    def summary(self) -> dict[str, Any]:
        """Means over the rows."""
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
                # Kolmogorov's distance that 1 of 20 honest models exceeds; rows of large weight are still one each.
                "distance_by_chance": float(1.36 * np.sqrt(sums["weight^2"]) / n),
                "shares_of_tenths": (self._pit.reshape(10, -1).sum(axis=1) / n).tolist(),
            },
        }


def scores_text(columns: dict[str, dict[str, Any]]) -> str:
    """Summaries side by side, one a column."""
    found = list(columns.values())
    measures = {"RMSE": "rmse", "MAE": "mae", "R2": "r2", "MNLP": "mnlp", "CRPS": "crps"}
    rows = [[name, *(_number(summary[key]) for summary in found)] for name, key in measures.items()]
    for i, level in enumerate(LEVELS):
        intervals = [summary["intervals"][i] for summary in found]
        rows.append([f"{level:.0%} intervals cover", *(f"{own['coverage']:.1%}" for own in intervals)])
        rows.append(["  mean width", *(_number(own["mean_width"]) for own in intervals)])
    rows.append(["PIT from uniform", *(f"{summary['pit']['distance_from_uniform']:.3f}" for summary in found)])
    return table_lines(["", *columns], rows)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.4g}" if abs(value) < 1e6 else f"{value:.4g}"
