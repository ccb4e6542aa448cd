"""
With scikit-learn: pipelines, searches, scorers
===============================================

Every regressor is a scikit-learn estimator. The one difference is the score: a search
should compare distributions, not squared errors of means.
"""

# sphinx_gallery_thumbnail_path = "images/thumbnails/search.svg"

import numpy as np
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import PolynomialFeatures

import ssgp
from ssgp.metrics import crps_scorer, interval_scorer, log_score_scorer

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (600, 3))
y = (
    np.sin(2 * X[:, 0])
    + X[:, 1] * X[:, 2]
    + (0.1 + 0.2 * (X[:, 0] > 0)) * rng.normal(size=600)
)

# %%
# Scorers for distributions. scikit-learn expects higher to be better, so they are minus
# CRPS, minus MNLP and minus the interval score.

forest = ssgp.SpectralForestRegressor(random_state=0)
for name, scorer in (
    ("CRPS", crps_scorer),
    ("MNLP", log_score_scorer),
    ("90 % intervals", interval_scorer(0.9)),
):
    print(f"{name:15} {-cross_val_score(forest, X, y, scoring=scorer, cv=2).mean():.3f}")

# %%
# A search. You rarely need one: ``fit`` chooses ``leaf_size`` and other sizes on rows that
# it holds out.

search = GridSearchCV(forest, {"correct": [False, True]}, scoring=crps_scorer, cv=2).fit(
    X, y
)
print(search.best_params_, f"CRPS {-search.best_score_:.3f}")
print(
    "its distributions:",
    search.best_estimator_.predict_interval(X[:2], 0.9).round(2).tolist(),
)

# %%
# Add steps of your own with ``ssgp.Pipeline``, which is scikit-learn's with the methods
# for distributions:

pipeline = ssgp.Pipeline(
    [("squares", PolynomialFeatures(2, include_bias=False)), ("forest", forest)]
).fit(X, y)
print(pipeline.predict_interval(X[:2], 0.9).round(2).tolist())

# %%
# If rows are grouped, or ordered in time, split them with ``GroupKFold`` or
# ``TimeSeriesSplit`` in the search, and pass ``groups=`` or ``time=`` to ``fit``: see
# :doc:`/groups_and_time`.
