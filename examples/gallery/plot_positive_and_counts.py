"""
Positive targets and counts
===========================

A model that treats an income like any other number may predict a negative one. ``target=``
says what a target can be, and the model predicts nothing else: positive targets, zero or
positive ones, counts, or numbers within bounds.
"""

import matplotlib.pyplot as plt
import numpy as np

from ssgp import SpectralForestRegressor, metrics

# %%
# A positive target
# -----------------
#
# Simulated costs that grow with size, with noise in proportion. By default
# (``target="auto"``), a positive target is detected, and learned through a map if that
# makes held-out rows clearly more probable. ``target="any"`` is for comparison.

rng = np.random.default_rng(0)


def draw_costs(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Size and region, and costs."""
    X = np.column_stack([rng.uniform(0, 5, n_rows), rng.integers(0, 3, n_rows)])
    return X, np.exp(0.6 * X[:, 0] + 0.3 * X[:, 1] + rng.normal(0, 0.8, n_rows))


(X, y), (X_test, y_test) = draw_costs(2000), draw_costs(4000)
models = {
    target: SpectralForestRegressor(target=target, random_state=0).fit(X, y)
    for target in ("any", "auto")
}
for target, model in models.items():
    predicted = model.predict_distribution(X_test)
    score = metrics.log_score(y_test, predicted)
    inside = metrics.coverage(y_test, predicted, level=0.9)
    below = np.mean(predicted.interval(0.9)[:, 0] < 0)
    print(
        f"{target:5} learned as {model.target_kind_:9} MNLP {score:.3f}, "
        f"{inside:.1%} inside 90 %, {below:.1%} begin below zero"
    )

# %%

sizes = np.column_stack([np.linspace(0, 5, 200), np.ones(200)])
figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
of_region = X[:, 1] == 1
for axes, (target, model) in zip(panels, models.items(), strict=True):
    axes.plot(*np.array([X[of_region, 0], y[of_region]]), ".", color="0.7", ms=3)
    for level in (0.5, 0.9):
        axes.fill_between(
            sizes[:, 0],
            *model.predict_interval(sizes, level).T,
            color="#c8553d",
            alpha=0.25,
            lw=0,
        )
    axes.plot(sizes[:, 0], model.predict(sizes), color="#22313f")
    axes.axhline(0, color="0.5", lw=0.8)
    axes.set(title=f'target="{target}"', xlabel="size", ylim=(-15, 60))
panels[0].set_ylabel("cost")

# %%
# Counts
# ------
#
# Counts are never detected automatically, since densities and probabilities cannot be
# compared; use ``target="count"``. Quantiles and draws are then whole numbers, and
# ``logpdf`` is the logarithm of a probability.

X = rng.uniform(0, 4, (3000, 2))
y = rng.poisson(np.exp(X[:, 0] - 1.5)).astype(float)
model = SpectralForestRegressor(target="count", random_state=0).fit(X[:2000], y[:2000])
predicted = model.predict_distribution(X[2000:])
print("quantiles of three rows", predicted[:3].quantile([0.05, 0.5, 0.95]), sep="\n")
print(
    "P(0), P(1), P(2) of the first:",
    *(f"{np.exp(predicted[:1].logpdf(k)[0]):.3f}" for k in (0, 1, 2)),
)
poisson = np.exp(X[2000, 0] - 1.5)
print(
    "as they were drawn:           ",
    *(f"{p:.3f}" for p in np.exp(-poisson) * np.array([1, poisson, poisson**2 / 2])),
)
expected, happened = predicted.cdf(2.0).mean(), np.mean(y[2000:] <= 2)
print(f"at most 2, over all rows: {expected:.3f} predicted, {happened:.3f} happened")

# %%
# :doc:`/targets` describes all kinds of targets, and how a map is chosen.
