"""
Rows of the same patient, and rows to come
==========================================

Intervals are as wide as they have to be for rows *like those held out* while learning. If
several rows belong to one patient, hotel or machine and new rows will be of others, say so
by ``groups=``; if new rows come later, by ``time=``.
"""

import numpy as np

from ssgp import SpectralForestRegressor, metrics

rng = np.random.default_rng(0)

# %%
# Groups
# ------
#
# 400 patients of eight visits. What differs between patients and is in no column (their
# level) goes along with columns that all but name them. A model that is judged by other
# visits of patients it knows believes that it knows the level.


def draw_patients(
    n_patients: int, visits: int = 8
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Age, weight and dose of visits; outcomes; and numbers of the patients."""
    patient = np.repeat(np.arange(n_patients), visits)
    age, weight = (
        rng.uniform(20, 80, n_patients)[patient],
        rng.normal(75, 12, n_patients)[patient],
    )
    level, dose = rng.normal(0, 2, n_patients)[patient], rng.uniform(0, 1, len(patient))
    outcome = 0.05 * age + 3 * dose + level + rng.normal(0, 0.5, len(patient))
    return np.column_stack([age, weight, dose]), outcome, patient


X, y, patient = draw_patients(400)
X_new, y_new, _ = draw_patients(1000)
for name, known in (("without groups", {}), ("with groups=patient", {"groups": patient})):
    predicted = (
        SpectralForestRegressor(random_state=0)
        .fit(X, y, **known)
        .predict_distribution(X_new)
    )
    inside, score = (
        metrics.coverage(y_new, predicted, level=0.9),
        metrics.log_score(y_new, predicted),
    )
    print(f"{name:20} 90 % intervals hold {inside:.0%} of visits, MNLP {score:.2f}")

# %%
# Time
# ----
#
# Prices whose level wanders, and has something of its own in every week. Rows held out at
# random have neighbours of the same week; rows to come have not. With ``time=`` the last
# rows are held out in turn, and intervals are for rows that come later. It is one history
# of sixty weeks, so that 90 % of it is not to be expected to the point.

rng = np.random.default_rng(0)
week = np.sort(rng.integers(0, 260, 4000))
size, offer = rng.uniform(0, 1, len(week)), rng.integers(0, 2, len(week))
level = np.cumsum(rng.normal(0, 0.03, 260)) + rng.normal(0, 0.3, 260)
price = 5 * size + offer + level[week] + rng.normal(0, 0.2, len(week))
X = np.column_stack([week, size, offer])
past, later = week < 200, week >= 200
for name, known in (("without time", {}), ("with time=week", {"time": week[past]})):
    predicted = (
        SpectralForestRegressor(random_state=0)
        .fit(X[past], price[past], **known)
        .predict_distribution(X[later])
    )
    inside, score = (
        metrics.coverage(price[later], predicted, level=0.9),
        metrics.log_score(price[later], predicted),
    )
    print(f"{name:20} 90 % intervals hold {inside:.0%} of later prices, MNLP {score:.2f}")

# %%
# Judge a model in the same way as it will be used: hold out whole groups, or the last rows
# (``ssgp fit --hold-out`` does so with ``--group`` and ``--time``). More in
# :doc:`/groups_and_time`.
