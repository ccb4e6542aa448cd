"""Laws that predictions of every fitted regressor obey, whatever it was fitted to."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.pipeline import Pipeline

import ssgp
from ssgp.distributions import MappedDistribution

__all__ = ["check_predictions", "check_rows_apart", "check_saved", "distribution_of", "rows_of", "same_predictions"]

LEVELS = np.array([0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999])
# In deviations from the mean.
STEPS = np.array([-300.0, -30.0, -8.0, -4.0, -2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0, 4.0, 8.0, 30.0, 300.0])
EPSILON = float(np.finfo(float).eps)
# Beside a mean of so many deviations nothing but rounding is left of the numbers between two quantiles.
FAR = 1e9
# Positive numbers whose densities are numbers.
TINY = 1e-200
SMALLEST_WITH_ALL_DIGITS = np.finfo(float).tiny
SMALLEST_WITH_SQUARE = float(np.sqrt(SMALLEST_WITH_ALL_DIGITS))
N_DRAWS = 1000
# The distance of Kolmogorov and Smirnov that so many draws have once in a thousand million.
FARTHEST = 0.104


def distribution_of(model: Any, X: Any) -> Any:
    """Predictive distributions of a regressor, or of a pipeline that ends in one."""
    if not isinstance(model, Pipeline):
        return model.predict_distribution(X)
    regressor: Any = model[-1]
    return regressor.predict_distribution(model[:-1].transform(X))


def check_predictions(model: Any, X: Any) -> None:
    """All answers about the rows X are of one distribution each, and that is a distribution."""
    said = distribution_of(model, X)
    mean, deviation = said.mean(), said.std()
    assert np.isfinite(mean).all(), "a mean is not finite"
    assert np.isfinite(deviation).all(), "a deviation is not finite"
    assert (deviation >= 0).all(), "a deviation is negative"
    assert ((deviation > 0) | _without_squares(said)).all(), "a deviation is not positive"
    _check_cdf(said)
    _check_quantiles(said)
    _check_density(said)
    _check_scores(said)
    _check_draws(said)


def _without_squares(said: Any) -> np.ndarray:
    """Which rows are of positive numbers so small that their squares, and so their variance, are zero in floats."""
    if not isinstance(said, MappedDistribution):
        return np.zeros(len(said), bool)
    return said.cdf(SMALLEST_WITH_SQUARE) > LEVELS[-1]


def _check_cdf(said: Any) -> None:
    mean, deviation = said.mean(), said.std()
    steps = np.stack([said.cdf(mean + k * deviation) for k in STEPS])
    assert ((steps >= 0) & (steps <= 1)).all(), "a probability is not between 0 and 1"
    assert (np.diff(steps, axis=0) >= -1e-12).all(), "a cdf falls"
    # Cantelli's inequality: however a distribution looks, only so much of it lies so far from its mean.
    rare = 1.0 / (1.0 + STEPS[:, None] ** 2) + 1e-9
    far = deviation * FAR > np.abs(mean)
    below, above = (STEPS < 0)[:, None] & far, (STEPS > 0)[:, None] & far
    assert (np.where(below, steps, 0.0) <= rare).all(), "more lies below than the deviation allows"
    assert (np.where(above, 1.0 - steps, 0.0) <= rare).all(), "more lies above than the deviation allows"


def _check_quantiles(said: Any) -> None:
    quantiles = said.quantile(LEVELS)
    assert np.isfinite(quantiles).all(), "a quantile is not finite"
    assert (np.diff(quantiles, axis=1) >= 0).all(), "quantiles cross"
    for level, quantile in zip(LEVELS, quantiles.T, strict=True):
        rounding = _rounding(said, quantile)
        wrong = (said.cdf(quantile - rounding) > level + 1e-6) | (said.cdf(quantile + rounding) < level - 1e-6)
        # Positive numbers too small for any float are zero, of which they have no probability, or have few digits.
        if isinstance(said, MappedDistribution):
            wrong &= quantile > SMALLEST_WITH_ALL_DIGITS
        assert not wrong.any(), f"cdf of the quantile {level} is {said.cdf(quantile)[wrong][0]}"


def _rounding(said: Any, quantile: np.ndarray) -> np.ndarray:
    """How far floats may be from a quantile: of a mapped one also its map, rounded before and after."""
    rounding = 8 * EPSILON * np.abs(quantile)
    if not isinstance(said, MappedDistribution):
        return rounding
    mapped = said.map.to_model(np.maximum(quantile, SMALLEST_WITH_ALL_DIGITS))
    return np.maximum(rounding, 2 * np.spacing(np.abs(mapped)) * said.map.slope(mapped))


def _check_density(said: Any) -> None:
    """Between two quantiles that are a little apart the cdf rises as the density says, which may jump there."""
    for level in LEVELS[2:-2]:
        low, high = said.quantile([level - 1e-4, level + 1e-4]).T
        slope = (said.cdf(high) - said.cdf(low)) / np.maximum(high - low, np.finfo(float).tiny)
        densities = np.stack([said.pdf(low + share * (high - low)) for share in np.linspace(0.0, 1.0, 9)])
        least, most = densities.min(axis=0), densities.max(axis=0)
        measurable = high - low > 1e6 * EPSILON * np.abs(low)
        if isinstance(said, MappedDistribution):
            measurable &= low > TINY
        wrong = measurable & ((slope < 0.99 * least) | (slope > 1.01 * most))
        assert not wrong.any(), f"density {least[wrong][0]} to {most[wrong][0]}, and the cdf rises by {slope[wrong][0]}"


def _check_scores(said: Any) -> None:
    mean, deviation = said.mean(), said.std()
    for k in STEPS:
        y = mean + k * deviation
        density, score = said.logpdf(y), said.crps(y)
        assert not np.isnan(density).any(), "a log density is NaN"
        assert (density < np.inf).all(), "a density is infinite"
        rounding = 1e-12 * (np.abs(mean) + np.abs(y) + deviation)
        assert (score >= -rounding).all(), f"a CRPS is {score.min()}"
        assert (score <= np.abs(y - mean) + 2 * deviation + rounding).all(), "a CRPS is too large"


def _check_draws(said: Any) -> None:
    """The share of draws below each value is its probability."""
    rows = np.flatnonzero(said.std() * FAR > np.abs(said.mean()))[:3]
    if not len(rows):
        return
    some = said[rows]
    draws = some.sample(N_DRAWS, 0)
    assert draws.shape == (len(rows), N_DRAWS)
    assert np.isfinite(draws).all(), "a draw is not finite"
    shares = np.arange(N_DRAWS + 1) / N_DRAWS
    for row, values in enumerate(np.sort(draws)):
        probability = some[np.full(N_DRAWS, row)].cdf(values)
        distance = np.maximum(np.abs(probability - shares[1:]), np.abs(probability - shares[:-1]))
        # Of zero, which stands for all positive numbers too small for any float, they have no probability.
        if isinstance(said, MappedDistribution):
            distance = distance[values > SMALLEST_WITH_ALL_DIGITS]
        farthest = distance.max(initial=0.0)
        assert farthest < FARTHEST, f"draws are {farthest:.3f} from the cdf"


def answers(model: Any, X: Any) -> list[np.ndarray]:
    """What a model says of rows: means and deviations, quantiles and draws."""
    said = distribution_of(model, X)
    return [model.predict(X), *model.predict(X, return_std=True), said.quantile(LEVELS), said.sample(3, 0)]


def same_predictions(one: Any, other: Any, X: Any) -> bool:
    """Whether two models say the same of rows, to the last bit."""
    return all(np.array_equal(*both) for both in zip(answers(one, X), answers(other, X), strict=True))


def check_saved(model: Any, X: Any) -> None:
    """A saved model is the model in memory, to the last bit."""
    # Files have one kind of pipelines: unlike scikit-learn's, it predicts mixtures of rows with values never seen.
    if isinstance(model, Pipeline):
        model = ssgp.Pipeline(model.steps)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        ssgp.save(model, path)
        assert same_predictions(model, ssgp.load(path), X), "the saved model predicts otherwise"


def rows_of(X: Any, rows: np.ndarray) -> Any:
    """Some rows of an array or table; Arrow slices columns of all types, and takes rows of some."""
    return pa.concat_tables([X.slice(row, 1) for row in rows]) if isinstance(X, pa.Table) else X[rows]


def check_rows_apart(model: Any, X: Any, tolerance: float) -> None:
    """A row alone is predicted as among others, and the others in any order, up to a share of what is predicted."""
    said = distribution_of(model, X)
    for name, rows in {"a row alone": np.array([0]), "rows in another order": np.arange(len(said))[::-1]}.items():
        apart = distribution_of(model, rows_of(X, rows))
        for ask in ("mean", "std"):
            distance = np.abs(getattr(apart, ask)() - getattr(said, ask)()[rows])
            allowed = tolerance * (np.abs(said.mean()[rows]) + said.std()[rows])
            worst = float((distance / said.std()[rows]).max())
            assert (distance <= allowed).all(), f"{name}: its {ask} is {worst:.1e} deviations off"
