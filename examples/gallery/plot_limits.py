"""
When not to use it
==================

Three tables on which something else is better, and one question that no table answers.
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
# The target jumps by an odd or even number of thresholds that are passed, among columns
# that do not matter. Boosted trees cut there; waves are smooth, and the forest's own
# boosted trees correct only what is left. The mean of boosting errs less; the forest's
# distribution is still more probable, since its errors are not everywhere the same.

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
# With forty rows there is little to hold out. A straight line is a straight line: a linear
# model knows so from the start. For a few hundred smooth rows an exact Gaussian process is
# as quick and often better.

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
# Boosting of a million rows takes seconds, and a forest a minute (:doc:`/how_long`). If
# nobody asks for anything but the mean, and errors are as good, take boosting.

# %%
# Beyond the rows
# ---------------
#
# Outside of what was seen nothing is known. Bands widen there, as they should, but how
# fast is a matter of assumptions and not of evidence: no calibration can judge it.

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
# All limits on one page: :doc:`/limits`. What to take instead: :doc:`/which_method`.
