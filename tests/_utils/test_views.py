"""Fitted attributes that are read from one object."""

from types import SimpleNamespace
from typing import Any

import pytest

from ssgp._utils.views import View


class Estimator:
    """Has two views; `_fitted` comes with a fit."""

    n_rows_ = View()
    scale = View()
    _fitted: Any


def test_an_attribute_is_there_after_a_fit_and_not_before():
    estimator = Estimator()
    assert not hasattr(estimator, "n_rows_")
    with pytest.raises(AttributeError, match="'Estimator' object has no attribute 'n_rows_' before fit"):
        _ = estimator.n_rows_
    estimator._fitted = SimpleNamespace(n_rows=7)
    assert estimator.n_rows_ == 7


def test_only_the_underscore_at_the_end_is_left_out():
    estimator = Estimator()
    estimator._fitted = SimpleNamespace(scale=2.0, n_rows=7, n_rows_=8)
    assert estimator.n_rows_ == 7
    assert estimator.scale == 2.0


def test_it_is_of_the_last_fit_and_of_its_own_estimator():
    one, other = Estimator(), Estimator()
    one._fitted, other._fitted = SimpleNamespace(n_rows=1), SimpleNamespace(n_rows=2)
    assert (one.n_rows_, other.n_rows_) == (1, 2)
    one._fitted = SimpleNamespace(n_rows=3)
    assert (one.n_rows_, other.n_rows_) == (3, 2)


def test_what_the_fit_did_not_leave_is_not_there():
    estimator = Estimator()
    estimator._fitted = SimpleNamespace(scale=2.0)
    assert not hasattr(estimator, "n_rows_")


def test_a_class_without_a_fit_of_its_own_does_not_borrow_one():
    """What counts is the object's own fit, not a `_fitted` of its class."""

    class Prefitted(Estimator):
        _fitted = SimpleNamespace(n_rows=9)

    assert not hasattr(Prefitted(), "n_rows_")


def test_the_class_itself_shows_the_view():
    assert isinstance(Estimator.n_rows_, View)
