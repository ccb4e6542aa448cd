"""
Everything a prediction can tell you
====================================

``predict_distribution`` returns one object that answers any question about new
observations. All answers come from the same distributions, so they are consistent:
quantiles never cross, and intervals, probabilities and random draws agree with each other.
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
# For every row: the mean, the standard deviation, any quantile, and central intervals.

print("mean and deviation", predicted.mean()[:3].round(1), predicted.std()[:3].round(1))
print(
    "quantiles of 10, 50, 90 %", predicted.quantile([0.1, 0.5, 0.9])[:3].round(1), sep="\n"
)
print("95 % intervals", predicted.interval(0.95)[:3].round(1), sep="\n")

# %%
# How likely is a flight to arrive more than half an hour late? When being wrong costs
# something either way, a decision needs this probability, not the mean:

late = 1 - predicted.cdf(30.0)
surest, happened = np.argsort(-late)[:5], flights.y_test[:1000]
for row in surest:
    print(f"probability {late[row]:.3f}: arrived {happened[row]:.0f} minutes late")
groups = np.digitize(late, [0.1, 0.3, 0.6])
for group, name in enumerate(["below 10 %", "10 to 30 %", "30 to 60 %", "above 60 %"]):
    those = happened[groups == group]
    print(f"{name:>11} said: {np.mean(those > 30):.0%} of {len(those)} flights")

# %%
# The densities for three flights: an easy one to predict, a typical one and a hard one.
# The dotted line of the same colour is what happened.

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
# Sums and extremes over several rows, such as the worst of ten flights, need random draws.
# Rows are drawn independently of each other, given what the model knows, so a storm that
# hits all ten flights is not taken into account.

draws = predicted[:10].sample(2000, random_state=0)
worst = draws.max(axis=0)
middle, high = np.quantile(worst, [0.5, 0.9])
print(f"the worst of ten: {middle:.0f} minutes in the middle, {high:.0f} in one of ten")

# %%
# Scores compare distributions with what happened; lower is better. MNLP is the mean
# negative log density. CRPS generalises the mean absolute error to distributions, and is
# in minutes.

mnlp, crps = -predicted.logpdf(happened).mean(), predicted.crps(happened).mean()
print(f"MNLP {mnlp:.2f} nats, CRPS {crps:.1f} minutes")
