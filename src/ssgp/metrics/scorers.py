"""Scorers for scikit-learn: ``cross_val_score(model, X, y, scoring=crps_scorer)``, and the same for its searches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest

from ssgp._utils.checks import check_levels
from ssgp.metrics.scores import crps, interval_score, log_score

__all__ = ["DistributionScorer", "crps_scorer", "interval_scorer", "log_score_scorer"]


@dataclass(frozen=True, eq=False)
class DistributionScorer:
    """A scorer of predicted distributions: minus a score of which less is better.

    It takes fitted regressors that have `predict_distribution`, pipelines that end with one, and searches of either.

    Attributes
    ----------
    score : callable
        Takes targets, distributions, `keywords` and `sample_weight` to a number, as `crps` does.
    keywords : mapping
        Further arguments of the score.
    asks_for : bool, str or None
        Whether the weights that a search is given are passed on to it; see `set_score_request`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> from ssgp import ExactGPRegressor
    >>> from ssgp.metrics import crps_scorer
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> scores = cross_val_score(ExactGPRegressor(random_state=0), X, np.sin(X[:, 0]), scoring=crps_scorer, cv=3)
    >>> scores.shape, bool((scores < 0).all())
    ((3,), True)
    """

    score: Callable[..., float]
    keywords: Mapping[str, Any] = field(default_factory=dict)
    asks_for: bool | str | None = None

    def __call__(self, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:  # noqa: ANN401
        """Minus the score of a fitted estimator on rows X (n, d) with targets y (n,)."""
        return -self.score(y, _distribution(estimator, X), sample_weight=sample_weight, **self.keywords)

    def __repr__(self) -> str:
        return f"scorer of minus {', '.join([self.score.__name__, *(f'{k}={v}' for k, v in self.keywords.items())])}"

    def set_score_request(self, *, sample_weight: bool | str | None) -> "DistributionScorer":
        """The scorer that asks scikit-learn to pass on the weights given to a search (a new one: this stays as it is).

        As for scikit-learn's own scorers, this has an effect with ``set_config(enable_metadata_routing=True)``.
        """
        return replace(self, asks_for=sample_weight)

    def get_metadata_routing(self) -> MetadataRequest:
        """What scikit-learn shall pass on."""
        requests: Any = MetadataRequest(owner=self)
        requests.score.add_request(param="sample_weight", alias=self.asks_for)
        return requests


def interval_scorer(coverage: float = 0.95, *others: object) -> DistributionScorer:
    """A scorer of central intervals by minus their `interval_score`.

    Parameters
    ----------
    coverage : float, default=0.95
        Probability of the intervals.
    *others
        None: they are there to tell who takes this for a scorer.
    """
    if others or hasattr(coverage, "fit"):
        raise TypeError(
            "interval_scorer makes a scorer: give scoring=interval_scorer(0.9), with the intervals' coverage"
        )
    (level,) = check_levels([coverage], "coverage")
    return DistributionScorer(interval_score, {"coverage": level})


crps_scorer = DistributionScorer(crps)
log_score_scorer = DistributionScorer(log_score)


def _distribution(estimator: Any, X: Any) -> Any:  # noqa: ANN401
    """Predictive distributions of an estimator's rows, through the steps of a pipeline and the best of a search."""
    if hasattr(estimator, "predict_distribution"):
        return estimator.predict_distribution(X)
    if hasattr(estimator, "best_estimator_"):
        return _distribution(estimator.best_estimator_, X)
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps[:-1]:
            X = X if step is None or step == "passthrough" else step.transform(X)
        return _distribution(estimator.steps[-1][1], X)
    raise TypeError(
        f"{type(estimator).__name__} predicts no distributions: this scorer takes regressors of ssgp, and pipelines "
        "that end with one"
    )
