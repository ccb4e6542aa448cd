"""The methods that are compared: each fits a table and says what it predicts for the test rows.

A peer without a deviation of its own gets the best constant one: the deviation of its residuals on a
tenth of the training rows, by a second model that has not seen them (not counted in its time).
"""

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quantiles import LEVELS, Quantiles
from experiments.machine import peak_memory
from experiments.measures import held_out_deviation, timed
from ssgp import SpectralForestRegressor
from ssgp.datasets import Split
from ssgp.distributions import NormalDistribution

__all__ = ["METHODS", "MOST_ROUNDS", "PATIENCE", "Outcome", "held_out_rows", "normal"]

Array = NDArray[np.float64]
# Rounds of boosting that stops early, and rounds without a gain after which it stops.
MOST_ROUNDS, PATIENCE = 5000, 50
# Leaves and learning rates that LightGBM is tuned over, many leaves where there are rows for them.
TUNED = ((31, 0.05), (15, 0.05), (127, 0.05), (255, 0.1), (1023, 0.1))
LEAST_ROWS_PER_LEAF = 40


@dataclass
class Outcome:
    """What a method predicted, as `ssgp.metrics` takes it, and what it took."""

    predicted: Any
    fit_s: float
    predict_s: float
    about: dict[str, Any] = field(default_factory=dict)


def normal(mean: Array, std: Array | float) -> NormalDistribution:
    """Normal predictions of means (n,) and deviations, one or (n,)."""
    return NormalDistribution.of(mean, np.broadcast_to(std, np.shape(mean)))


def held_out_rows(n_rows: int) -> NDArray[np.bool_]:
    """A tenth of the training rows, at random, by which boosting stops and deviations are judged."""
    return np.random.default_rng(0).random(n_rows) < 0.1


def _with_constant_deviation(make: Callable[[], Any], data: Split) -> Outcome:
    model, fit_s = timed(lambda: make().fit(data.X_train, data.y_train))
    mean, predict_s = timed(lambda: model.predict(data.X_test))
    peak = peak_memory()
    std = held_out_deviation(make, data.X_train, data.y_train)
    return Outcome(normal(mean, std), fit_s, predict_s, {"peak_gb": peak})


def forest(data: Split, **settings: Any) -> Outcome:  # noqa: ANN401  the estimator's
    model, fit_s = timed(lambda: SpectralForestRegressor(random_state=0, **settings).fit(data.X_train, data.y_train))
    _, predict_s = timed(lambda: model.predict(data.X_test))
    _, predict_std_s = timed(lambda: model.predict(data.X_test, return_std=True))
    peak = peak_memory()
    return Outcome(
        model.predict_distribution(data.X_test),
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
    return _best_lightgbm(data, TUNED[:1])


def lightgbm_tuned(data: Split) -> Outcome:
    """As above, with the number of leaves and the learning rate that are best for that tenth."""
    most = len(data.y_train) / LEAST_ROWS_PER_LEAF
    return _best_lightgbm(data, [setting for setting in TUNED if setting[0] <= max(most, TUNED[0][0])])


def _best_lightgbm(data: Split, settings: Sequence[tuple[int, float]]) -> Outcome:
    from lightgbm import LGBMRegressor, early_stopping

    held_out = held_out_rows(len(data.y_train))
    X, y = data.X_train[held_out], data.y_train[held_out]

    def stop_early(leaves: int, rate: float) -> tuple[float, dict[str, Any]]:
        """Deviation of the errors on the tenth, and the settings that led there."""
        chosen = {"num_leaves": leaves, "learning_rate": rate, "verbose": -1, "random_state": 0}
        first = LGBMRegressor(n_estimators=MOST_ROUNDS, **chosen)
        callbacks = [early_stopping(PATIENCE, verbose=False)]
        first.fit(data.X_train[~held_out], data.y_train[~held_out], eval_set=[(X, y)], callbacks=callbacks)
        rounds = max(1, first.best_iteration_ or MOST_ROUNDS)
        return float(np.std(y - first.predict(X))), {**chosen, "n_estimators": rounds}

    def fit() -> tuple[Any, float, dict[str, Any]]:
        std, best = min((stop_early(*setting) for setting in settings), key=lambda found: found[0])
        return LGBMRegressor(**best).fit(data.X_train, data.y_train), std, best

    (model, std, best), fit_s = timed(fit)
    mean, predict_s = timed(lambda: model.predict(data.X_test))
    return Outcome(normal(mean, std), fit_s, predict_s, {"leaves": best["num_leaves"], "rounds": best["n_estimators"]})


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
    quantiles, predict_s = timed(lambda: np.stack([model.predict(data.X_test) for model in models], axis=1))
    return Outcome(Quantiles(LEVELS, quantiles), fit_s, predict_s)


def catboost(data: Split) -> Outcome:
    """CatBoost's mean and variance (RMSEWithUncertainty): rounds by early stopping on a tenth, then all rows."""
    from catboost import CatBoostRegressor

    settings: dict[str, Any] = {"loss_function": "RMSEWithUncertainty", "learning_rate": 0.05, "random_seed": 0}
    settings |= {"verbose": False, "allow_writing_files": False}
    held_out = held_out_rows(len(data.y_train))
    data, settings["cat_features"] = _with_categories_as_text(data)

    def fit() -> Any:  # noqa: ANN401
        first = CatBoostRegressor(iterations=MOST_ROUNDS, early_stopping_rounds=PATIENCE, **settings)
        tenth = (data.X_train[held_out], data.y_train[held_out])
        first.fit(data.X_train[~held_out], data.y_train[~held_out], eval_set=tenth)
        rounds = (first.get_best_iteration() or 0) + 1
        return CatBoostRegressor(iterations=rounds, **settings).fit(data.X_train, data.y_train)

    model, fit_s = timed(fit)
    (mean, variance), predict_s = timed(lambda: model.predict(data.X_test).T)
    return Outcome(normal(mean, np.sqrt(variance)), fit_s, predict_s, {"rounds": model.tree_count_})


def _with_categories_as_text(data: Split) -> tuple[Split, list[str]]:
    """Data frames as CatBoost takes them: categories as text, a missing one too; also the names of these columns."""
    frames: list[Any] = [data.X_train, data.X_test]
    if not hasattr(frames[0], "columns"):
        return data, []
    names = [name for name in frames[0].columns if frames[0][name].dtype == "category"]
    frames = [
        frame.assign(**{name: frame[name].astype(object).fillna("").astype(str) for name in names}) for frame in frames
    ]
    return replace(data, X_train=frames[0], X_test=frames[1]), names


def quantile_forest(data: Split) -> Outcome:
    """Meinshausen's quantile regression forest: every training row of a leaf counts, with five at least."""
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(min_samples_leaf=5, max_samples_leaf=None, n_jobs=-1, random_state=0)
    _, fit_s = timed(lambda: model.fit(data.X_train, data.y_train))
    mean, predict_s = timed(lambda: model.predict(data.X_test, quantiles="mean"))
    quantiles, predict_std_s = timed(lambda: model.predict(data.X_test, quantiles=LEVELS.tolist()))
    return Outcome(Quantiles(LEVELS, quantiles, mean), fit_s, predict_s, {"predict_std_s": predict_std_s})


def histogram_boosting(data: Split) -> Outcome:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return _with_constant_deviation(lambda: HistGradientBoostingRegressor(max_iter=300, random_state=0), data)


def ngboost(data: Split) -> Outcome:
    from ngboost import NGBRegressor

    model, fit_s = timed(lambda: NGBRegressor(verbose=False, random_state=0).fit(data.X_train, data.y_train))
    law, predict_s = timed(lambda: model.pred_dist(data.X_test))
    return Outcome(normal(law.loc, law.scale), fit_s, predict_s)


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
    return Outcome(normal(mean, std), fit_s, predict_s)


def svgp(data: Split) -> Outcome:
    """GPyTorch's SVGP, 512 inducing points, 20 epochs."""
    from benchmarks.svgp import fit_svgp, predict_svgp

    model, fit_s = timed(lambda: fit_svgp(data.X_train, data.y_train))
    (mean, std), predict_s = timed(lambda: predict_svgp(model, data.X_test))
    return Outcome(normal(mean, std), fit_s, predict_s)


METHODS: dict[str, Callable[[Split], Outcome]] = {
    "spectral forest": forest,
    "LightGBM": lightgbm_stopped,
    "LightGBM tuned": lightgbm_tuned,
    "LightGBM 255 x 300": lightgbm(255, 300),
    "LightGBM 255 x 2000": lightgbm(255, 2000),
    "LightGBM 255 x 3000": lightgbm(255, 3000),
    "LightGBM 1023 x 600": lightgbm(1023, 600),
    "LightGBM 127 x 3000": lightgbm(127, 3000),
    "LightGBM quantile": lightgbm_quantile,
    "CatBoost": catboost,
    "quantile forest": quantile_forest,
    "histogram boosting": histogram_boosting,
    "NGBoost": ngboost,
    "exact GP": exact_gp,
    "SVGP": svgp,
    "forest, exact covariances": lambda data: forest(data, n_sketches="exact"),
    "forest, not shrunk": lambda data: forest(data, shrink=False),
}
