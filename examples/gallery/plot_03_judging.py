"""
Can these intervals be believed? Beside LightGBM
================================================

A distribution is good if it is *calibrated* (90 % intervals hold 90 % of new targets) and
*sharp* (no wider than need be). Here a forest is judged beside LightGBM, made probabilistic
in the two usual ways: its mean with one deviation for all rows, and one model for each of
several quantiles.
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
# The forest. Nothing is tuned:

start = time.process_time()
forest = SpectralForestRegressor(random_state=0).fit(X, y)
seconds = {"forest": time.process_time() - start}
distributions = {"forest": forest.predict_distribution(X_test)}

# %%
# LightGBM, stopped early on a tenth of the rows, with the deviation of its errors there.
# Means and deviations of any model become distributions that can be judged by
# ``NormalDistribution.of``:

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
# Scores on flights that no model has seen (RMSE of means; MNLP and CRPS of distributions;
# all three the lower the better), and how many targets intervals of 50, 90 and 95 % hold:

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
# Why the mean with one deviation fails although its 95 % intervals seem fine: it is too
# wide for most flights and too narrow for some, and the two cancel at one level. At all
# levels:

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
# The second way, a model for each quantile, follows the noise, but there is no density, a
# level that was not fitted has no answer, and quantiles cross:

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
# All pictures of calibration at once. The lower ones ask whether the model is right where
# it is sure: flights are grouped by predicted deviation, and each group has to be covered
# as promised.

plot.plot_calibration(forest, X_test, y_test, target="arrival delay (minutes)")

# %%
# :doc:`Measured </measurements>` on a dozen tables: the forest's distributions are better
# than a mean with one deviation on all of them, and than quantiles by CRPS on all but one,
# which has many zeros. The means of boosting are better where nearly all of the signal is
# in particular places, days or repeated rows, on two of the twelve.
