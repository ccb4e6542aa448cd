"""Scores of means and deviations, taken as those of normal predictions: they go in version 0.2."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from ssgp._utils.arrays import Array
from ssgp._utils.warning import warn_user
from ssgp.metrics.arguments import check_vectors, mean

__all__ = ["NormalPrediction", "mnlp"]


@dataclass(frozen=True)
class NormalPrediction:
    """Normal predictions: means and deviations, shapes (n,)."""

    location: Array
    scale: Array

    @classmethod
    def given_to(cls, metric: str, y_mean: Any, y_std: ArrayLike, instead: str | None = None) -> Any:  # noqa: ANN401
        """Predictions by means and deviations that were given to a metric: a warning says what to give it instead."""
        warn_user(
            f"{metric}(y, mean, std) takes predictions for normal, which a forest's are not, and goes in ssgp 0.2: use "
            f"{instead or metric}(y, model.predict_distribution(X)). Of means and deviations alone, "
            "ssgp.distributions.NormalDistribution.of(mean, std) makes a distribution",
            FutureWarning,
        )
        location, scale = check_vectors(y_mean=y_mean, y_std=y_std)
        if np.any(scale <= 0):
            raise ValueError(f"y_std must be positive, found {scale.min()} in row {int(scale.argmin())}")
        return cls(location, scale)

    def __len__(self) -> int:
        return len(self.location)

    def cdf(self, y: Array) -> Array:
        """Probabilities of at most y, shape (n,)."""
        return ndtr((y - self.location) / self.scale)

    def logpdf(self, y: Array) -> Array:
        """Log densities at y, shape (n,)."""
        return -0.5 * ((y - self.location) / self.scale) ** 2 - np.log(self.scale) - 0.5 * np.log(2 * np.pi)


def mnlp(y_true: ArrayLike, y_mean: ArrayLike, y_std: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Deprecated: mean negative log probability of the targets if predictions were normal; see `log_score`.

    Parameters
    ----------
    y_true, y_mean, y_std : array-like of shape (n,)
        Observed targets, and means and deviations of their predictions.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    """
    predicted = NormalPrediction.given_to("mnlp", y_mean, y_std, instead="log_score")
    true, _ = check_vectors(y_true=y_true, y_mean=predicted.location)
    return mean(-predicted.logpdf(true), sample_weight)
