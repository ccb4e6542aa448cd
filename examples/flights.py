"""How late will a flight be? Fits 260,000 real flights and shows how well, and how surely, delays are predicted.

Run it with ``make demo``.
"""

import argparse
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from ssgp import SVBSSGPRegressor
from ssgp.datasets import Split, load_flights
from ssgp.metrics import coverage, mnlp, rmse

mpl.use("agg")
import matplotlib.pyplot as plt

INK, ACCENT, MUTED = "#22313f", "#c8553d", "#9fb3c8"


def with_constant_deviation(model: DummyRegressor | LinearRegression, data: Split) -> tuple[NDArray, NDArray, float]:
    """Mean and deviation of a peer that has no deviation of its own: its residuals' stands in."""
    start = time.perf_counter()
    model.fit(data.X_train, data.y_train)
    std = np.std(data.y_train - model.predict(data.X_train))
    return np.asarray(model.predict(data.X_test)), np.full(len(data.y_test), std), time.perf_counter() - start


def with_own_deviation(model: SVBSSGPRegressor, data: Split) -> tuple[NDArray, NDArray, float]:
    start = time.perf_counter()
    mean, std = model.fit(data.X_train, data.y_train).predict(data.X_test, return_std=True)
    return mean, std, time.perf_counter() - start


def show_progress(model: SVBSSGPRegressor) -> SVBSSGPRegressor:
    """A progress bar where scikit-learn has one, printed lines elsewhere."""
    try:
        from sklearn.callback import ProgressBar

        return model.set_callbacks(ProgressBar())
    except ImportError:
        return model.set_params(verbose=1)


def report(name: str, y: NDArray, mean: NDArray, std: NDArray, seconds: float) -> None:
    inside = coverage(y, mean, std)
    print(f"{name:<28}{rmse(y, mean):>8.2f}{mnlp(y, mean, std):>8.3f}{100 * inside:>10.1f} %{seconds:>9.1f} s")


def draw(path: Path, y: NDArray, mean: NDArray, std: NDArray, trace: NDArray) -> None:
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), width_ratios=[2, 1, 1])
    some = np.random.default_rng(1).choice(len(y), 80, replace=False)
    some = some[np.argsort(mean[some])]
    at = np.arange(len(some))
    left.vlines(at, mean[some] - 1.96 * std[some], mean[some] + 1.96 * std[some], color=MUTED, lw=3)
    left.plot(at, mean[some], "_", color=INK, ms=6, label="predicted mean, 95 % interval")
    left.plot(at, y[some], "o", color=ACCENT, ms=3.5, label="what happened")
    left.set(xlabel="80 test flights, by predicted delay", ylabel="arrival delay (minutes)", xticks=[])
    left.legend(frameon=False, loc="upper left")
    levels = np.linspace(0.05, 0.99, 40)
    middle.plot([0, 1], [0, 1], color=MUTED, lw=1)
    middle.plot(levels, [coverage(y, mean, std, level=level) for level in levels], color=ACCENT, lw=2)
    middle.set(xlabel="nominal coverage", ylabel="share of test flights inside", xlim=(0, 1), ylim=(0, 1))
    middle.set_title("calibration", fontsize=10)
    window = max(1, len(trace) // 20)
    smooth = np.convolve(trace, np.full(window, 1 / window), mode="valid")
    right.plot(np.arange(len(smooth)) + window, smooth / 1e6, color=INK, lw=1.5)
    right.set(xlabel="step", ylabel="smoothed bound (million nats)", xlim=(0, None))
    right.set_title("learning (global objective)", fontsize=10)
    for axes in (left, middle, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max-iter", type=int, default=3000, help="training steps at most (default: %(default)s)")
    parser.add_argument("--figure", type=Path, default=Path("figures/flights.png"), help="where the picture goes")
    options = parser.parse_args()
    data = load_flights()
    print(f"{len(data.y_train):,} flights to learn from, {len(data.y_test):,} to be judged on")
    results = {
        "mean": with_constant_deviation(DummyRegressor(), data),
        "linear model": with_constant_deviation(LinearRegression(), data),
    }
    models = {
        "sVBSSGP, global objective": SVBSSGPRegressor(random_state=0, n_jobs=-1, max_iter=options.max_iter),
        "sVBSSGP, local objective": SVBSSGPRegressor(
            objective="local", random_state=0, n_jobs=-1, max_iter=options.max_iter
        ),
    }
    for name, model in models.items():
        results[name] = with_own_deviation(show_progress(model), data)
    print(f"\n{'':<28}{'RMSE':>8}{'MNLP':>8}{'95 % covers':>12}{'time':>11}")
    for name, (mean, std, seconds) in results.items():
        report(name, data.y_test, mean, std, seconds)
    best = models["sVBSSGP, local objective"]
    lengthscale = best.lengthscale_ / data.X_train.std(axis=0)
    order = np.argsort(lengthscale)
    print("\nWhat delays depend on (shortest lengthscales first, in standard deviations of the input):")
    print("  " + ", ".join(f"{data.feature_names[i]} {lengthscale[i]:.1f}" for i in order))
    mean, std, _ = results["sVBSSGP, local objective"]
    draw(options.figure, data.y_test, mean, std, models["sVBSSGP, global objective"].bound_trace_)
    print(f"\nFigure: {options.figure}")


if __name__ == "__main__":
    main()
