"""The methods that are compared: each fits a table and says what it predicts for the test rows.

A peer without a deviation of its own gets the best constant one: the deviation of its residuals on a
tenth of the training rows, by a second model that has not seen them (not counted in its time).
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scoringrules as sr
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import norm

from experiments.machine import peak_memory
from experiments.measures import held_out_deviation, timed
from ssgp import SpectralForestRegressor
from ssgp.datasets import Split

__all__ = ["METHODS", "Outcome"]

Array = NDArray[np.float64]
LEVELS = np.array([0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975])


@dataclass
class Outcome:
    """What a method predicted, and what it took."""

    mean: Array
    log_density: Array | None
    crps: Array | None
    interval: Array
    fit_s: float
    predict_s: float
    about: dict[str, Any] = field(default_factory=dict)


def _normal(data: Split, mean: Array, std: Array, fit_s: float, predict_s: float, **about: Any) -> Outcome:  # noqa: ANN401
    half = ndtri(0.975) * std
    return Outcome(
        mean,
        norm.logpdf(data.y_test, mean, std),
        np.asarray(sr.crps_normal(data.y_test, mean, std)),
        np.stack([mean - half, mean + half], axis=1),
        fit_s,
        predict_s,
        about,
    )


def _with_constant_deviation(make: Callable[[], Any], data: Split) -> Outcome:
    model, fit_s = timed(lambda: make().fit(data.X_train, data.y_train))
    mean, predict_s = timed(lambda: model.predict(data.X_test))
    peak = peak_memory()
    std = held_out_deviation(make, data.X_train, data.y_train)
    return _normal(data, mean, np.full(len(mean), std), fit_s, predict_s, peak_gb=peak)


def forest(data: Split, **settings: Any) -> Outcome:  # noqa: ANN401  the estimator's
    model, fit_s = timed(lambda: SpectralForestRegressor(random_state=0, **settings).fit(data.X_train, data.y_train))
    mean, predict_s = timed(lambda: model.predict(data.X_test))
    _, predict_std_s = timed(lambda: model.predict(data.X_test, return_std=True))
    peak = peak_memory()
    draws = model.sample_y(data.X_test, 200)
    return Outcome(
        np.asarray(mean),
        model.log_prob(data.X_test, data.y_test),
        np.asarray(sr.crps_ensemble(data.y_test, draws, estimator="pwm")),
        model.predict_interval(data.X_test),
        fit_s,
        predict_s,
        {
            "peak_gb": peak,
            "predict_std_s": predict_std_s,
            "model_mb": len(pickle.dumps(model)) / 1e6,
            "table_mb": (data.X_train.nbytes + data.y_train.nbytes) / 1e6,
            "leaf_size": model.leaf_size_,
        },
    )


def lightgbm(leaves: int, rounds: int) -> Callable[[Split], Outcome]:
    def run(data: Split) -> Outcome:
        from lightgbm import LGBMRegressor

        return _with_constant_deviation(
            lambda: LGBMRegressor(num_leaves=leaves, n_estimators=rounds, verbose=-1, random_state=0), data
        )

    return run


def lightgbm_stopped(data: Split) -> Outcome:
    """Rounds by early stopping on a tenth of the rows, then all rows: what a careful user does."""
    from lightgbm import LGBMRegressor, early_stopping

    settings: dict[str, Any] = {"learning_rate": 0.05, "verbose": -1, "random_state": 0}
    held_out = np.random.default_rng(0).random(len(data.y_train)) < 0.1

    def fit() -> tuple[Any, float]:
        rest = (data.X_train[~held_out], data.y_train[~held_out])
        X, y = data.X_train[held_out], data.y_train[held_out]
        first = LGBMRegressor(n_estimators=5000, **settings)
        first.fit(*rest, eval_set=[(X, y)], callbacks=[early_stopping(50, verbose=False)])
        std = float(np.std(y - first.predict(X)))
        rounds = max(1, first.best_iteration_ or 5000)
        return LGBMRegressor(n_estimators=rounds, **settings).fit(data.X_train, data.y_train), std

    (model, std), fit_s = timed(fit)
    mean, predict_s = timed(lambda: model.predict(data.X_test))
    return _normal(data, mean, np.full(len(mean), std), fit_s, predict_s)


def lightgbm_quantile(data: Split) -> Outcome:
    """One model per level; crossing quantiles are sorted."""
    from lightgbm import LGBMRegressor

    def fit() -> list[Any]:
        return [
            LGBMRegressor(
                objective="quantile", alpha=level, n_estimators=300, num_leaves=63, verbose=-1, random_state=0
            ).fit(data.X_train, data.y_train)
            for level in LEVELS
        ]

    models, fit_s = timed(fit)
    quantiles, predict_s = timed(
        lambda: np.sort(np.stack([model.predict(data.X_test) for model in models], axis=1), axis=1)
    )
    crps = _crps_of_quantiles(data.y_test, quantiles)
    return Outcome(quantiles[:, 3], None, crps, quantiles[:, [0, -1]], fit_s, predict_s)


def _crps_of_quantiles(y: Array, quantiles: Array) -> Array:
    """Twice the integral of the pinball loss over its level, by trapezoids: 3 % too low for a normal distribution.

    (The mean over levels that are not evenly spaced, which scoringrules gives, would be 24 % too low.)
    """
    loss = np.asarray(sr.quantile_score(y[:, None], quantiles, LEVELS))
    ends = np.zeros((len(y), 1))
    return 2 * np.trapezoid(np.hstack([ends, loss, ends]), np.concatenate([[0.0], LEVELS, [1.0]]), axis=1)


def histogram_boosting(data: Split) -> Outcome:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return _with_constant_deviation(lambda: HistGradientBoostingRegressor(max_iter=300, random_state=0), data)


def ngboost(data: Split) -> Outcome:
    from ngboost import NGBRegressor

    model, fit_s = timed(lambda: NGBRegressor(verbose=False, random_state=0).fit(data.X_train, data.y_train))
    normal, predict_s = timed(lambda: model.pred_dist(data.X_test))
    return _normal(data, normal.loc, normal.scale, fit_s, predict_s)


def exact_gp(data: Split, most_rows: int = 2000) -> Outcome:
    """Scikit-learn's GPR with a lengthscale per input, on at most 2,000 rows."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(data.X_train)
    part = np.random.default_rng(0).permutation(len(data.y_train))[:most_rows]
    n_inputs = data.X_train.shape[1]
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * RBF(np.full(n_inputs, np.sqrt(n_inputs)), (1e-2, 1e4))
    kernel += WhiteKernel(0.1, (1e-8, 1e1))
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    _, fit_s = timed(lambda: model.fit(scaler.transform(data.X_train[part]), data.y_train[part]))
    (mean, std), predict_s = timed(lambda: model.predict(scaler.transform(data.X_test), return_std=True))
    return _normal(data, mean, std, fit_s, predict_s)


def svgp(data: Split) -> Outcome:
    """GPyTorch's SVGP, 512 inducing points, 20 epochs."""
    from benchmarks.svgp import fit_svgp, predict_svgp

    model, fit_s = timed(lambda: fit_svgp(data.X_train, data.y_train))
    (mean, std), predict_s = timed(lambda: predict_svgp(model, data.X_test))
    return _normal(data, mean, std, fit_s, predict_s)


METHODS: dict[str, Callable[[Split], Outcome]] = {
    "spectral forest": forest,
    "LightGBM": lightgbm_stopped,
    "LightGBM 255 x 300": lightgbm(255, 300),
    "LightGBM 255 x 2000": lightgbm(255, 2000),
    "LightGBM 255 x 3000": lightgbm(255, 3000),
    "LightGBM 1023 x 600": lightgbm(1023, 600),
    "LightGBM 127 x 3000": lightgbm(127, 3000),
    "LightGBM quantile": lightgbm_quantile,
    "histogram boosting": histogram_boosting,
    "NGBoost": ngboost,
    "exact GP": exact_gp,
    "SVGP": svgp,
    "forest, exact covariances": lambda data: forest(data, n_sketches="exact"),
    "forest, not shrunk": lambda data: forest(data, shrink=False),
}
