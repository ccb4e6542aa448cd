"""
Can these intervals be trusted? A comparison with LightGBM
==========================================================

A good predictive distribution is *calibrated* (90 % intervals cover 90 % of new targets)
and *sharp* (no wider than necessary). This example compares a forest with LightGBM, made
probabilistic in the two usual ways: its mean with one standard deviation for all rows, and
one model per quantile.
"""

import time

import lightgbm
import matplotlib.pyplot as plt
import numpy as np

from ssgp import SpectralForestRegressor, metrics, plot
from ssgp.datasets import load_flights
from ssgp.distributions import NormalDistribution

flights = load_flights()
some = np.random.default_rng(0).permutation(len(flights.y_train))[:8000]
X, y = flights.X_train[some], flights.y_train[some]
X_test, y_test = flights.X_test, flights.y_test

# %%
# The forest, with nothing tuned:

start = time.process_time()
forest = SpectralForestRegressor(random_state=0).fit(X, y)
seconds = {"forest": time.process_time() - start}
distributions = {"forest": forest.predict_distribution(X_test)}

# %%
# LightGBM, stopped early on a tenth of the rows, with the standard deviation of its errors
# on that tenth. ``NormalDistribution.of`` turns the means and deviations of any model into
# distributions that can be scored:

start = time.process_time()
settings = {
    "n_estimators": 2000,
    "num_leaves": 63,
    "verbose": -1,
    "random_state": 0,
    "n_jobs": 1,
}
stop = lightgbm.early_stopping(50, verbose=False)
boosted = lightgbm.LGBMRegressor(**settings)
boosted.fit(X[800:], y[800:], eval_X=X[:800], eval_y=y[:800], callbacks=[stop])
deviation = np.std(y[:800] - boosted.predict(X[:800]))
mean = boosted.predict(X_test)
seconds["LightGBM, one deviation"] = time.process_time() - start
distributions["LightGBM, one deviation"] = NormalDistribution.of(
    mean, np.full(len(mean), deviation)
)

# %%
# Scores on flights that neither model has seen (RMSE for means, MNLP and CRPS for
# distributions; lower is better for all three), and the share of targets that 50, 90 and
# 95 % intervals cover:

levels = (0.5, 0.9, 0.95)
print(
    f"{'':24}{'RMSE':>7}{'MNLP':>7}{'CRPS':>7}{'50 %':>8}{'90 %':>8}{'95 %':>8}{'CPU':>8}"
)
for name, predicted in distributions.items():
    scores = (score(y_test, predicted) for score in (metrics.log_score, metrics.crps))
    scores = metrics.rmse(y_test, predicted.mean()), *scores
    held = "".join(
        f"{share:>8.1%}" for share in metrics.coverage(y_test, predicted, level=levels)
    )
    numbers = "".join(f"{score:7.2f}" for score in scores)
    print(f"{name:24}{numbers}{held}{seconds[name]:6.1f} s")

# %%
# Why does a mean with one deviation fail, although its 95 % intervals seem fine? They are
# too wide for most flights and too narrow for some, and the two errors happen to cancel at
# that level. Looking at all levels shows it:

levels = np.linspace(0.02, 0.98, 49)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
left.plot([0, 1], [0, 1], color="0.6", lw=1)
for (name, predicted), colour in zip(
    distributions.items(), ("#c8553d", "#22313f"), strict=True
):
    left.plot(
        levels, metrics.coverage(y_test, predicted, level=levels), color=colour, label=name
    )
    pit = metrics.pit(y_test, predicted, random_state=0)
    right.hist(pit, bins=20, density=True, histtype="step", color=colour, lw=1.5)
left.set(xlabel="level of intervals", ylabel="share of flights inside")
left.legend(frameon=False)
right.axhline(1, color="0.6", lw=1)
right.set(xlabel="where a delay falls in its distribution (PIT)", ylabel="density")
figure.tight_layout()

# %%
# The second way, one model per quantile, follows the noise. But it gives no density and no
# answer for levels that were not fitted, and its quantiles cross:

wanted = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
settings["n_estimators"] = 200
models = [
    lightgbm.LGBMRegressor(objective="quantile", alpha=level, **settings).fit(X, y)
    for level in wanted
]
quantiles = np.column_stack([model.predict(X_test) for model in models])
ours = distributions["forest"].quantile(wanted)
for name, values in (("LightGBM", quantiles), ("forest", ours)):
    inside = np.mean((values[:, 0] <= y_test) & (y_test <= values[:, -1]))
    errors = y_test[:, None] - values
    loss = np.maximum(wanted * errors, (wanted - 1) * errors).mean()
    crossed = np.mean((np.diff(values, axis=1) < 0).any(axis=1))
    print(
        f"{name:9} 90 % intervals hold {inside:.1%}, pinball loss {loss:.2f}, "
        f"quantiles cross in {crossed:.1%} of rows"
    )

# %%
# All calibration plots at once. The lower ones check whether the model is right where it
# is confident: flights are grouped by predicted deviation, and intervals should cover each
# group as promised.

plot.plot_calibration(forest, X_test, y_test, target="arrival delay (minutes)")

# %%
# Across a dozen tables (:doc:`/measurements`), the forest's distributions beat a mean with
# one deviation on every table, and quantile models by CRPS on all but one, which has many
# zeros. Boosting has the better means on two of the twelve, where nearly all of the signal
# is tied to particular places, days or repeated rows.
