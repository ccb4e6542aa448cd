"""
Everything a prediction can say
===============================

``predict_distribution`` returns one object that answers all questions about new
observations. Answers agree, since they are of the same distributions: quantiles do not
cross, and intervals, probabilities and draws fit together.
"""

import matplotlib.pyplot as plt
import numpy as np

from ssgp import SpectralForestRegressor
from ssgp.datasets import load_flights

flights = load_flights()
some = np.random.default_rng(0).permutation(len(flights.y_train))[:5000]
model = SpectralForestRegressor(random_state=0).fit(
    flights.X_train[some], flights.y_train[some]
)
predicted = model.predict_distribution(flights.X_test[:1000])
print(f"{len(predicted):,} distributions: {type(predicted).__name__}")

# %%
# Numbers for every row: the mean, the standard deviation, any quantile, central intervals.

print("mean and deviation", predicted.mean()[:3].round(1), predicted.std()[:3].round(1))
print(
    "quantiles of 10, 50, 90 %", predicted.quantile([0.1, 0.5, 0.9])[:3].round(1), sep="\n"
)
print("95 % intervals", predicted.interval(0.95)[:3].round(1), sep="\n")

# %%
# How probable is it that a flight arrives more than half an hour late? A decision that
# costs something either way needs this, and not the mean:

late = 1 - predicted.cdf(30.0)
surest, happened = np.argsort(-late)[:5], flights.y_test[:1000]
for row in surest:
    print(f"probability {late[row]:.3f}: arrived {happened[row]:.0f} minutes late")
groups = np.digitize(late, [0.1, 0.3, 0.6])
for group, name in enumerate(["below 10 %", "10 to 30 %", "30 to 60 %", "above 60 %"]):
    those = happened[groups == group]
    print(f"{name:>11} said: {np.mean(those > 30):.0%} of {len(those)} flights")

# %%
# Densities of three flights: a sure one, a usual one, an unsure one. Each has the same
# colour as what happened to it.

by_deviation = np.argsort(predicted.std())
delays = np.linspace(-90, 150, 500)
figure, axes = plt.subplots(figsize=(8, 3.2))
for row, colour in zip(
    by_deviation[[50, 500, 950]], ("#22313f", "#c8553d", "#588157"), strict=True
):
    density = np.array([predicted[[row]].pdf(delay)[0] for delay in delays])
    axes.plot(delays, density, color=colour)
    axes.fill_between(delays, density, color=colour, alpha=0.15)
    axes.axvline(happened[row], color=colour, ls=":")
axes.set(xlabel="arrival delay (minutes)", ylabel="density", ylim=(0, None))

# %%
# Sums and extremes of several rows need draws: of the worst of ten flights, say. Rows are
# drawn independently of each other, given what the model knows; a storm that hits all ten
# is not in it.

draws = predicted[:10].sample(2000, random_state=0)
worst = draws.max(axis=0)
middle, high = np.quantile(worst, [0.5, 0.9])
print(f"the worst of ten: {middle:.0f} minutes in the middle, {high:.0f} in one of ten")

# %%
# Scores of what happened, the lower the better: log density (its negative mean is MNLP) and
# CRPS, which is the mean absolute error of a distribution and in minutes.

mnlp, crps = -predicted.logpdf(happened).mean(), predicted.crps(happened).mean()
print(f"MNLP {mnlp:.2f} nats, CRPS {crps:.1f} minutes")
