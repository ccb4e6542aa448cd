"""Scores of predicted distributions, whether they are calibrated, and scorers for scikit-learn's searches.

Functions take observed targets and what `predict_distribution` of a regressor returns. Lower is better of all scores
(`rmse`, `log_score`, `crps`, `interval_score`, `pinball_loss`); scorers return them with the opposite sign, as
scikit-learn's searches want it.
"""

from ssgp.metrics.calibration import Uniformity, coverage, pit, pit_uniformity
from ssgp.metrics.scorers import DistributionScorer, crps_scorer, interval_scorer, log_score_scorer
from ssgp.metrics.scores import crps, interval_score, log_score, pinball_loss, rmse

__all__ = [
    "DistributionScorer",
    "Uniformity",
    "coverage",
    "crps",
    "crps_scorer",
    "interval_score",
    "interval_scorer",
    "log_score",
    "log_score_scorer",
    "pinball_loss",
    "pit",
    "pit_uniformity",
    "rmse",
]
