"""The exact process that predicts from other rows than it learned from."""

import numpy as np

from benchmarks.exact import Process, measure, predict
from ssgp import ExactGPRegressor
from ssgp.datasets import Split


def test_predicts_as_the_process_that_has_seen_these_rows(rng):
    X = rng.normal(size=(120, 2))
    y = 5.0 + np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=120)
    model = ExactGPRegressor(random_state=0).fit(X[:100], y[:100])
    np.testing.assert_allclose(predict(model, X[:100], y[:100], X[100:]), model.predict(X[100:]), atol=2e-3)
    more = measure(Split(X[:100], y[:100], X[100:], y[100:], ("a", "b")), Process(30, 100))
    fewer = measure(Split(X[:100], y[:100], X[100:], y[100:], ("a", "b")), Process(30, 8))
    assert more[0]["rmse"] < fewer[0]["rmse"]
