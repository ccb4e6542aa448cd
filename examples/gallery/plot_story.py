"""
How a spectral forest works, in one dimension
=============================================

This example draws the four steps of a fit: waves, leaves, a mixture, and calibrated bands.
The function varies more slowly from left to right. The noise jumps in the middle and is
skewed: a target is sometimes far above the function, but never far below.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from ssgp import SpectralForestRegressor, metrics

INK, RED, GREY = "#22313f", "#c8553d", "#9fb3c8"
rng = np.random.default_rng(0)


def truth(x: np.ndarray) -> np.ndarray:
    """The function without noise."""
    return np.sin(6 * x * np.exp(-x / 4)) + 0.1 * x


def draw(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, 1) and targets."""
    x = rng.uniform(0, 10, n_rows)
    return x[:, None], truth(x) + np.where(x < 4, 0.06, 0.3) * (
        rng.exponential(size=n_rows) - 1
    )


X, y = draw(1500)
grid = np.linspace(0, 10, 800)[:, None]


def panel(title: str) -> Axes:
    """Axes with the training rows in them."""
    _, axes = plt.subplots(figsize=(9, 3.2), layout="constrained")
    axes.plot(X[:, 0], y, ".", color=GREY, ms=2.5, zorder=0)
    axes.set(xlim=(0, 10), ylim=(-2, 3), title=title)
    return axes


# %%
# 1. Waves
# --------
#
# A Gaussian process with a stationary kernel is a regression on cosines and sines whose
# frequencies are drawn from the kernel's spectrum. A forest draws up to a hundred
# frequencies, and adapts them to the table by stochastic ascent of a bound on the
# likelihood. All leaves share these waves. Six of those that it learned:

model = SpectralForestRegressor(random_state=0).fit(X, y)
frequencies = np.sort(np.abs(model.posterior_.shift))
low, high = frequencies[[0, -1]]
print(f"{len(frequencies)} frequencies, from {low:.3f} to {high:.2f} waves per unit")
axes = panel("1. Waves that all leaves share")
for place, frequency in enumerate(frequencies[[-1, -2, -3, -5, -8, -12]]):
    wave = 0.15 * np.cos(2 * np.pi * frequency * grid[:, 0])
    axes.plot(grid[:, 0], wave + 2.7 - 0.4 * place, color=INK, lw=1)

# %%
# 2. Leaves
# ---------
#
# Trees cut the table at medians into leaves of a hundred rows or so; in one dimension,
# these are quantiles. Each leaf is a small Bayesian regression on the waves, with its own
# noise, shrunk towards the leaves around it. One tree, with bands of two standard
# deviations of the noise:

tree = SpectralForestRegressor(n_trees=1, correct=False, random_state=0).fit(X, y)
mean, noise = tree.predict(grid), np.sqrt(tree.noise_variance(grid))
axes = panel(f"2. The {tree.n_leaves_} leaves of one tree")
for border in np.quantile(X[:, 0], np.arange(1, tree.n_leaves_) / tree.n_leaves_):
    axes.axvline(border, color=GREY, lw=0.8)
low, high = mean - 2 * noise, mean + 2 * noise
axes.fill_between(grid[:, 0], low, high, color=RED, alpha=0.25, lw=0)
axes.plot(grid[:, 0], mean, color=INK, lw=1.2)

# %%
# 3. A mixture
# ------------
#
# A forest has sixteen trees, from several draws of the waves. With more inputs, each tree
# cuts elsewhere, and where one jumps the others do not; here the borders are the same, and
# small jumps remain. Where the trees agree, the table determines the function. Where they
# diverge, such as to the right of the last rows, nobody knows:

wider = np.linspace(0, 10.6, 800)[:, None]
axes = panel("3. Eight trees, and the mean of a forest")
for seed in range(8):
    other = SpectralForestRegressor(
        n_trees=1, correct=False, max_iter=100, random_state=seed
    )
    axes.plot(wider[:, 0], other.fit(X, y).predict(wider), color=RED, lw=0.7)
axes.plot(wider[:, 0], model.predict(wider), color=INK, lw=1.5)
axes.set(xlim=(7, 10.6))

# %%
# The distribution of a new observation is a mixture of Student-t distributions around the
# prediction, as many as the rows call for: here, it has to be skewed.

one = model.predict_distribution(np.array([[7.0]]))
values = np.linspace(-0.6, 2.6, 400)
_, axes = plt.subplots(figsize=(9, 2.6), layout="constrained")
dofs = np.broadcast_to(one.dof, one.scale.shape)[:, 0]
for location, scale, dof in zip(one.location[:, 0], one.scale[:, 0], dofs, strict=True):
    shape = (1 + ((values - location) / scale) ** 2 / dof) ** (-(dof + 1) / 2) / scale
    axes.plot(values, 0.35 * shape / len(one.location), color=RED, lw=0.8)
axes.plot(values, [one.pdf(value)[0] for value in values], color=INK, lw=1.8)
axes.axvline(truth(np.array([7.0]))[0], color=GREY, ls="--")
axes.set(
    title=f"At x = 7: {len(one.location)} Student-t's, and what they make together",
    xlabel="y",
)

# %%
# 4. Calibrated bands
# -------------------
#
# Rows held out while the trees were fitted show how to turn the trees' predictions into
# the right distribution: how much the noise differs between regions, what tails it has,
# and how far apart the trees are. All bands come from that one distribution, here at 50,
# 90 and 99 %:

axes = panel("4. Calibrated bands of 50, 90 and 99 %")
predicted = model.predict_distribution(grid)
for level in (0.99, 0.9, 0.5):
    axes.fill_between(grid[:, 0], *predicted.interval(level).T, color=RED, alpha=0.22, lw=0)
axes.plot(grid[:, 0], predicted.mean(), color=INK, lw=1.3)
axes.plot(grid[:, 0], truth(grid[:, 0]), color="black", lw=0.8, ls="--")

# %%
# The shares of new rows inside these bands:

X_new, y_new = draw(10_000)
predicted = model.predict_distribution(X_new)
for level in (0.5, 0.9, 0.99):
    print(f"{level:.0%} bands hold {metrics.coverage(y_new, predicted, level=level):.1%}")

# %%
# One more step has nothing to do here: boosted trees look for patterns in the forest's
# errors, such as effects of single days or categories, and correct them as far as held-out
# rows confirm it. :doc:`/mathematics` has the formulas.
