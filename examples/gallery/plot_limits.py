"""
When not to use it
==================

Three tables on which another method is better, and one question that no table can answer.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import BayesianRidge

from ssgp import ExactGPRegressor, SpectralForestRegressor, metrics
from ssgp.distributions import Distribution, NormalDistribution

rng = np.random.default_rng(0)


def judge(name: str, predicted: Distribution, y: np.ndarray) -> None:
    """Print error and log score of distributions."""
    error, score = metrics.rmse(y, predicted.mean()), metrics.log_score(y, predicted)
    print(f"{name:28} RMSE {error:.3f}   MNLP {score:7.3f}")


# %%
# Sharp steps that interact
# -------------------------
#
# The target depends on whether an odd or even number of thresholds is passed, among
# columns that do not matter. Boosted trees cut exactly there, while waves are smooth, and
# the forest's own boosted trees correct only what is left. Boosting has the more accurate
# mean; the forest still has the better distribution, since errors are not the same
# everywhere.

X = rng.uniform(0, 1, (8000, 10))
y = 2.0 * ((X[:, :3] > [0.3, 0.5, 0.7]).sum(axis=1) % 2) + 0.1 * rng.normal(size=8000)
train, held, test = slice(0, 4500), slice(4500, 5000), slice(5000, 8000)
judge(
    "forest",
    SpectralForestRegressor(random_state=0)
    .fit(X[:5000], y[:5000])
    .predict_distribution(X[test]),
    y[test],
)
boosted = HistGradientBoostingRegressor(
    max_iter=500, learning_rate=0.05, random_state=0
).fit(X[train], y[train])
deviation, mean = np.std(y[held] - boosted.predict(X[held])), boosted.predict(X[test])
judge(
    "boosting, one deviation",
    NormalDistribution.of(mean, np.full(len(mean), deviation)),
    y[test],
)

# %%
# A few dozen rows, and a straight line
# -------------------------------------
#
# With forty rows, there is little to hold out. If the function is a straight line, a
# linear model knows that from the start. For a few hundred rows of a smooth function, an
# exact Gaussian process is just as fast, and often better.

X = rng.normal(size=(1040, 3))
y = X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=1040)
few, rest = slice(0, 40), slice(40, None)
judge(
    "forest",
    SpectralForestRegressor(random_state=0)
    .fit(X[few], y[few])
    .predict_distribution(X[rest]),
    y[rest],
)
line = BayesianRidge().fit(X[few], y[few])
judge(
    "Bayesian linear regression",
    NormalDistribution.of(*line.predict(X[rest], return_std=True)),
    y[rest],
)
exact = ExactGPRegressor(random_state=0).fit(X[few], y[few])
judge("exact Gaussian process", exact.predict_distribution(X[rest]), y[rest])

# %%
# Means alone, as fast as can be
# ------------------------------
#
# Boosting fits a million rows in seconds, and a forest takes a minute (:doc:`/how_long`).
# If you need only the mean, and the errors are just as small, use boosting.

# %%
# Extrapolation
# -------------
#
# Nothing is known outside the range of the rows. Bands widen there, as they should, but
# how fast is a matter of assumptions, not of evidence: no calibration can judge it.

x = rng.uniform(0, 6, 800)
y = np.sin(2 * x) + 0.2 * rng.normal(size=800)
model = SpectralForestRegressor(random_state=0).fit(x[:, None], y)
grid = np.linspace(-2, 8, 400)[:, None]
_, axes = plt.subplots(figsize=(9, 3), layout="constrained")
axes.plot(x, y, ".", color="#9fb3c8", ms=3)
for level in (0.9, 0.5):
    axes.fill_between(
        grid[:, 0],
        *model.predict_interval(grid, level).T,
        color="#c8553d",
        alpha=0.25,
        lw=0,
    )
axes.plot(grid[:, 0], np.sin(2 * grid[:, 0]), color="black", lw=0.8, ls="--")
axes.set(
    ylim=(-6, 6),
    title="Bands of 50 and 90 %, and the function that nobody knows outside of the rows",
)

# %%
# :doc:`/limits` lists all limits, and :doc:`/which_method` what to use instead.
