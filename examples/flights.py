"""How late will a flight be? Learns from 260,000 real flights and shows how well, and how surely, delays are predicted.

Run it with ``make demo``.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from sklearn.linear_model import LinearRegression

from ssgp import SpectralForestRegressor, importances
from ssgp.datasets import Split, load_flights
from ssgp.distributions import Distribution, NormalDistribution
from ssgp.metrics import coverage, log_score, rmse

mpl.use("agg")
import matplotlib.pyplot as plt

INK, ACCENT, MUTED = "#22313f", "#c8553d", "#9fb3c8"
LEVELS = np.linspace(0.05, 0.99, 40)


def peer(model: Any, data: Split) -> dict[str, Any]:  # noqa: ANN401  any scikit-learn regressor
    """A peer without a deviation of its own: that of its residuals on rows it has not seen stands in."""
    start = time.perf_counter()
    mean = model.fit(data.X_train, data.y_train).predict(data.X_test)
    seconds = time.perf_counter() - start
    unseen = np.arange(len(data.y_train)) % 10 == 0
    blind = model.fit(data.X_train[~unseen], data.y_train[~unseen])
    std = np.std(data.y_train[unseen] - blind.predict(data.X_train[unseen]))
    return {**scores(data, NormalDistribution.of(mean, np.full(len(mean), std))), "seconds": seconds}


def ours(model: SpectralForestRegressor, data: Split) -> dict[str, Any]:
    start = time.perf_counter()
    mean = model.fit(data.X_train, data.y_train).predict(data.X_test)
    seconds = time.perf_counter() - start
    return {**scores(data, model.predict_distribution(data.X_test)), "seconds": seconds, "mean": mean}


def scores(data: Split, predicted: Distribution) -> dict[str, Any]:
    """Error, log score, and the shares of flights inside their intervals of all levels."""
    return {
        "rmse": rmse(data.y_test, predicted.mean()),
        "mnlp": log_score(data.y_test, predicted),
        "covered": coverage(data.y_test, predicted, level=LEVELS),
        "headline": coverage(data.y_test, predicted, level=(0.95, 0.5)),
    }


def draw(path: Path, model: SpectralForestRegressor, data: Split, results: dict[str, dict[str, Any]]) -> None:
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), width_ratios=[2, 1, 1])
    some = np.random.default_rng(1).choice(len(data.y_test), 80, replace=False)
    quantiles = model.predict_quantiles(data.X_test[some], [0.025, 0.25, 0.5, 0.75, 0.975])
    by_width = np.argsort(quantiles[:, 4] - quantiles[:, 0])
    at, low = np.arange(len(some)), quantiles[by_width]
    left.vlines(at, low[:, 0], low[:, 4], color=MUTED, lw=2, label="95 % interval")
    left.vlines(at, low[:, 1], low[:, 3], color=INK, lw=4, label="50 % interval")
    left.plot(at, data.y_test[some][by_width], "o", color=ACCENT, ms=3.5, label="actual delay")
    left.set(xlabel="80 test flights, from the most certain to the least", ylabel="arrival delay (minutes)", xticks=[])
    left.set_ylim(-90, 300)
    left.legend(frameon=False, loc="upper left")
    middle.plot([0, 1], [0, 1], color=MUTED, lw=1)
    styles = {"spectral forest": {"color": ACCENT, "lw": 2}, "LightGBM": {"color": INK, "lw": 1.2, "ls": "--"}}
    for name, style in styles.items():
        if name in results:
            middle.plot(LEVELS, results[name]["covered"], label=name, **style)
    middle.set(xlabel="nominal coverage", ylabel="share of test flights inside", xlim=(0, 1), ylim=(0, 1))
    middle.legend(frameon=False, fontsize=8)
    middle.set_title("calibration", fontsize=10)
    moved = importances(model, data.X_test, feature_names=data.feature_names)
    order = np.argsort(moved.mean)
    right.barh([moved.columns[i] for i in order], moved.mean[order], color=MUTED)
    right.set_title("what predictions depend on", fontsize=10)
    right.set_xlabel("change with another\nflight's value (minutes)")
    for axes in (left, middle, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max-iter", type=int, default=None, help="learning steps at most (default: the estimator's)")
    parser.add_argument("--rows", type=int, default=None, help="training flights at most (default: all)")
    parser.add_argument("--figure", type=Path, default=Path("figures/flights.png"), help="where the picture goes")
    options = parser.parse_args()
    data = load_flights()
    if options.rows is not None:
        data = replace(data, X_train=data.X_train[: options.rows], y_train=data.y_train[: options.rows])
    print(f"{len(data.y_train):,} flights to learn from, {len(data.y_test):,} to be judged on\n")
    model = SpectralForestRegressor(max_iter=options.max_iter or "auto", random_state=0, verbose=1)
    results = {"linear model": peer(LinearRegression(), data)}
    try:
        from lightgbm import LGBMRegressor

        boosting = LGBMRegressor(num_leaves=255, n_estimators=300, verbose=-1, random_state=0)
        results["LightGBM"] = peer(boosting, data)
    except ImportError:
        print("LightGBM is not installed: pip install lightgbm to see it beside the forest")
    results["spectral forest"] = ours(model, data)
    print(f"\n{'':<18}{'RMSE':>8}{'MNLP':>8}{'95 % covers':>14}{'50 % covers':>14}{'time':>9}")
    for name, result in results.items():
        inside = 100 * result["headline"]
        print(
            f"{name:<18}{result['rmse']:>8.2f}{result['mnlp']:>8.3f}{inside[0]:>12.1f} %{inside[1]:>12.1f} %"
            f"{result['seconds']:>7.1f} s"
        )
    draw(options.figure, model, data, results)
    print(f"\nFigure: {options.figure}")


if __name__ == "__main__":
    main()
