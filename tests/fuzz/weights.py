"""Fits of small tables with weights of all kinds, drawn from a seed, and what has to hold of them.

`case(seed)` raises an AssertionError, or an error that is not documented, where something does not hold. The laws:

- weights that cannot be numbers of rows are refused by a ValueError that names `sample_weight`, and no others are;
- predictions are finite, deviations positive, and `cdf` does not fall;
- a row of weight k is k rows, and a row of weight zero is not there;
- the units of the target do not matter.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import ssgp

# Limits of what weights can mean, as docs/mathematics.md has them.
LEAST_TOTAL, MOST_TOTAL, MOST_TIMES_OTHERS = 2.0, 1e9, 1e4
# Words of errors about rows that are too few once those of weight zero are left out.
TOO_FEW_ROWS = ("rows that count", "n_blocks=")


class Method(NamedTuple):
    """A regressor, and how closely repeated rows agree with weights, in deviations: None for not at all.

    Where steps are taken from rows in random order, or trees are grown, other rows give other draws. Deviations are
    those of the target, or those that are predicted where the table does not set them.
    """

    make: Callable[[int], Any]
    repeats_agree_to: float | None
    in_predicted: bool = False


CASES = 30


def _recalibrated(seed: int) -> Any:
    """A recalibration of a process that has seen nothing of the table: it is what is fitted."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    return ssgp.RecalibratedRegressor(
        ssgp.SSGPRegressor(3, max_iter=5, n_restarts=1, random_state=0).fit(X, X[:, 0] + rng.normal(size=30))
    )


METHODS = {
    "forest": Method(
        lambda seed: ssgp.SpectralForestRegressor(
            max_iter=10, n_trees=2, n_frequencies=4, n_jobs=1, correct=bool(seed % 2), random_state=seed
        ),
        None,
    ),
    "svbssgp": Method(
        lambda seed: ssgp.SVBSSGPRegressor(4, max_iter=25, n_draws=2, n_blocks=1, n_jobs=1, random_state=seed), 1e-2
    ),
    "local svbssgp": Method(
        lambda seed: ssgp.SVBSSGPRegressor(
            4, objective="local", max_iter=25, n_draws=2, n_blocks=1, n_jobs=1, random_state=seed
        ),
        1e-2,
    ),
    "pic": Method(lambda seed: ssgp.PICRegressor(200, n_blocks=1, max_iter=10, n_jobs=1, random_state=seed), 0.1),
    "blocks of pic": Method(
        lambda seed: ssgp.PICRegressor(8, n_blocks=3, max_iter=15, n_jobs=1, random_state=seed), None
    ),
    # One step: without noise, rounding sends longer searches to other optima.
    "dtc": Method(lambda seed: ssgp.DTCRegressor(200, batch_size=None, max_iter=1, n_jobs=1, random_state=seed), 1e-2),
    "batches of dtc": Method(
        lambda seed: ssgp.DTCRegressor(8, batch_size=20, max_iter=20, n_jobs=1, random_state=seed), None
    ),
    # One step again: the second may take a noise that is next to nothing to a ten thousandth, rounding with it.
    "ssgp": Method(lambda seed: ssgp.SSGPRegressor(4, n_restarts=1, max_iter=1, n_jobs=1, random_state=seed), 1e-6),
    "vssgp": Method(lambda seed: ssgp.VSSGPRegressor(6, max_iter=8, n_jobs=1, random_state=seed), None),
    # Searches that start a rounding apart end at different optima of one likelihood now and then.
    "exact": Method(lambda seed: ssgp.ExactGPRegressor(random_state=seed), None),
    # Factors of deviations that a model of another table predicts are found to a share of themselves.
    "recalibrated": Method(_recalibrated, 2e-2, in_predicted=True),
}


class Table(NamedTuple):
    """Rows to learn from."""

    X: np.ndarray
    y: np.ndarray


def case(seed: int) -> None:
    """Draw a method, a table and weights from a seed, and check the laws."""
    rng = np.random.default_rng([seed, 16])
    name = list(METHODS)[seed % len(METHODS)]
    # What estimators take for a seed.
    seed %= 2**32
    make = METHODS[name].make
    table = _draw_table(rng)
    if rng.random() < 0.4:
        _check_repeated_rows(METHODS[name], seed, table, rng)
        return
    weight = _draw_weights(len(table.y), rng)
    model, error = _fit(make(seed), table, weight)
    if error is not None and any(words in error for words in TOO_FEW_ROWS):
        assert np.count_nonzero(weight) < 20, error
        return
    if error is not None:
        assert "sample_weight" in error, error
        assert _may_be_refused(weight), f"refused without need: {error}"
        return
    assert not _has_to_be_refused(weight), f"not refused: {weight}"
    _check_predictions(model, table, rng)
    if rng.random() < 0.3 and name != "recalibrated":
        _check_units(make, seed, table, weight, model)


def _draw_table(rng: np.random.Generator) -> Table:
    """Smooth, constant or rough targets of inputs that may be constant, repeated, or on scales of their own."""
    n_rows, n_inputs = int(rng.integers(20, 121)), 2
    X = rng.normal(size=(n_rows, n_inputs)) * 10.0 ** rng.integers(-3, 4, size=n_inputs)
    if rng.random() < 0.2:
        X[:, 1] = 3.0
    if rng.random() < 0.2:
        X = X[rng.integers(0, max(2, n_rows // 4), size=n_rows)]
    position = (X[:, 0] - X[:, 0].mean()) / (X[:, 0].std() or 1.0)
    y = [np.sin(2.0 * position), np.zeros(n_rows), np.sign(position)][rng.choice(3, p=[0.8, 0.05, 0.15])]
    y = y + rng.choice([0.0, 0.1, 1.0]) * rng.standard_t(3, size=n_rows)
    return Table(X, 10.0 ** rng.integers(-4, 5) * (y + rng.choice([0.0, 5.0])))


def _draw_weights(n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Weights that may mean anything."""
    ones = np.ones(n_rows)
    heavy = np.where(np.arange(n_rows) == rng.integers(n_rows), 10.0 ** rng.uniform(0, 12), 1.0)
    spread = np.exp(rng.choice([0.5, 1.0, 3.0, 8.0]) * rng.normal(size=n_rows))
    spoiled = ones.copy()
    spoiled[rng.integers(n_rows)] = rng.choice([-1.0, np.nan, np.inf, -np.inf, 1e-40, 1e300])
    draws = [
        10.0 ** rng.uniform(-12, 12) * ones,
        ones / n_rows,
        heavy,
        spread,
        10.0 ** rng.uniform(-8, 8) * spread,
        np.where(rng.random(n_rows) < 0.5, 0.0, rng.integers(1, 9, n_rows)),
        np.where(np.arange(n_rows) < rng.integers(0, 4), 5.0, 0.0),
        10.0 ** rng.uniform(-25, 5, size=n_rows),
        spoiled,
    ]
    return draws[rng.integers(len(draws))]


def _has_to_be_refused(weight: np.ndarray) -> bool:
    """Whether weights cannot be numbers of rows, with some room on either side of the limits."""
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
        return True
    total, largest, n_rows = weight.sum(), weight.max(), np.count_nonzero(weight)
    dominated = n_rows > 1 and largest > 1.01 * MOST_TIMES_OTHERS * (total - largest)
    return bool(total < 0.99 * min(LEAST_TOTAL, n_rows) or total > 1.01 * MOST_TOTAL or dominated)


def _may_be_refused(weight: np.ndarray) -> bool:
    """Whether weights cannot be numbers of rows, or nearly cannot."""
    if _has_to_be_refused(weight) or weight[weight > 0].min() < 1e-29:
        return True
    total, largest, n_rows = weight.sum(), weight.max(), np.count_nonzero(weight)
    dominated = n_rows > 1 and largest > 0.99 * MOST_TIMES_OTHERS * (total - largest)
    return bool(total < 1.01 * LEAST_TOTAL or total > 0.99 * MOST_TOTAL or dominated)


def _fit(model: Any, table: Table, weight: np.ndarray | None) -> tuple[Any, str | None]:
    """The fitted model, or the message of the documented error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "sample_weight", UserWarning)
        warnings.filterwarnings("ignore", ".*of the rows repeat another exactly", UserWarning)
        warnings.filterwarnings("ignore", ".*of fewer than 20 none are held out", UserWarning)
        warnings.filterwarnings("ignore", "y has values that are far from all others", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return model.fit(table.X, table.y, sample_weight=weight), None
        except ValueError as error:
            return None, str(error)


def _check_predictions(model: Any, table: Table, rng: np.random.Generator) -> None:
    """Finite means, positive deviations, a cdf that does not fall, at rows seen and not seen."""
    shift = rng.normal(size=table.X.shape) * table.X.std(axis=0)
    X = np.concatenate([table.X[:10], table.X[:10] + shift[:10]])
    mean, std = model.predict(X, return_std=True)
    assert np.isfinite(mean).all(), "means that are not finite"
    assert (np.isfinite(std) & (std > 0)).all(), f"deviations that are not positive: {std}"
    distribution = model.predict_distribution(X)
    probability = np.array([distribution.cdf(mean + step * std) for step in np.linspace(-8.0, 8.0, 33)])
    assert np.isfinite(probability).all()
    assert (np.diff(probability, axis=0) >= -1e-12).all(), "a falling cdf"
    assert ((probability >= 0.0) & (probability <= 1.0)).all()
    assert np.isfinite(model.log_prob(X, mean)).all()


def _check_repeated_rows(method: Method, seed: int, table: Table, rng: np.random.Generator) -> None:
    """Whole weights are rows repeated; zeros are rows left out."""
    times = rng.integers(0, 4, size=len(table.y))
    times[:20] = np.maximum(times[:20], 1)
    rows = np.repeat(np.arange(len(table.y)), times)
    weighted, error = _fit(method.make(seed), table, times.astype(float))
    repeated, other = _fit(method.make(seed), Table(table.X[rows], table.y[rows]), None)
    assert (error, other) == (None, None)
    _check_predictions(weighted, table, rng)
    if method.repeats_agree_to is None:
        return
    (mean, std), (mean_too, std_too) = (model.predict(table.X, return_std=True) for model in (weighted, repeated))
    unit = std_too if method.in_predicted else _deviation(table.y[rows])
    apart = float((np.abs(mean - mean_too) / unit).max()), float((np.abs(std - std_too) / unit).max())
    assert max(apart) <= method.repeats_agree_to, f"weights and repeated rows are {apart} deviations apart"


def _deviation(y: np.ndarray) -> float:
    """The deviation of a target; that of one that is always the same is rounding, and its size is taken."""
    deviation, size = float(y.std()), float(np.abs(y).max())
    return deviation if deviation > 1e-9 * size else size or 1.0


def _check_units(make: Callable[[int], Any], seed: int, table: Table, weight: np.ndarray, model: Any) -> None:
    """A target in units a power of two as large gives the same model in those units, but for rounding."""
    factor = 1024.0
    other, error = _fit(make(seed), Table(table.X, factor * table.y), weight)
    assert error is None, error
    np.testing.assert_allclose(other.predict(table.X), factor * model.predict(table.X), rtol=1e-6)
