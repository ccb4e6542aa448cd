"""
New patients, and later rows
============================

Intervals are as wide as they need to be for rows *like those held out* during fitting. If
several rows belong to one patient, hotel or machine, and new rows will belong to others,
say so with ``groups=``. If new rows come later, use ``time=``.
"""

# sphinx_gallery_thumbnail_path = "images/thumbnails/groups.svg"

import numpy as np

from ssgp import SpectralForestRegressor, metrics

rng = np.random.default_rng(0)

# %%
# Groups
# ------
#
# 400 patients with eight visits each. Every patient has a level of their own that no
# column holds, but age and weight all but identify the patient. A model that is tested on
# other visits of patients it knows therefore believes that it knows the level.


def draw_patients(
    n_patients: int, visits: int = 8
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Age, weight and dose per visit; outcomes; and patient numbers."""
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
# Prices whose level drifts, with a random effect in every week. Rows held out at random
# have neighbours from the same week; future rows do not. With ``time=``, the last rows are
# held out in turn, and intervals are right for rows that come later. This is a single
# history of sixty weeks, so do not expect exactly 90 %.

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
# Test a model the way it will be used: hold out whole groups, or the last rows
# (``ssgp fit --hold-out`` does so with ``--group`` and ``--time``).
# :doc:`/groups_and_time` has more.
