"""Scores of baselines, against scikit-learn's."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_predict

from ssgp.report import accuracy


def test_baselines_agree_with_scikit_learns(rng):
    X = rng.normal(size=(400, 3))
    y = X @ [1.0, -2.0, 0.0] + 3.0 + 0.5 * rng.normal(size=400)
    mean, line = accuracy.baseline_scores(X, y, random_state=0)
    theirs = cross_val_predict(LinearRegression(), X, y, cv=KFold(5, shuffle=True, random_state=0))
    assert mean.rmse == pytest.approx(y.std(), rel=0.02)
    assert line.rmse == pytest.approx(np.sqrt(np.mean((y - theirs) ** 2)), rel=0.02)
    assert line.surprise == pytest.approx(np.log(0.5) + 0.5 * np.log(2 * np.pi) + 0.5, abs=0.1)
    assert line.covered == pytest.approx(0.95, abs=0.04)


def test_no_line_is_drawn_through_too_few_rows(rng):
    X, y = rng.normal(size=(20, 30)), rng.normal(size=20)
    assert [score.name for score in accuracy.baseline_scores(X, y, 0)] == ["the baseline (mean and deviation)"]
    assert accuracy.baseline_scores(X[:5], y[:5], 0) == []


def test_columns_that_are_all_the_same_do_no_harm_to_the_line(rng):
    X = np.column_stack([np.ones(50), np.arange(50.0), np.arange(50.0)])
    _, line = accuracy.baseline_scores(X, 2 * np.arange(50.0), 0)
    assert line.rmse < 1e-9
