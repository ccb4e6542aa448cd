"""Warnings, and the line of code that they are shown at."""

import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
import sklearn

import ssgp
from ssgp._utils.warning import DEPRECATED, warn_of_removed, warn_user


def function_in(file):
    """A function of three lines that calls what it is given, as if it were written in this file."""
    names = {}
    exec(compile("def call(function, *arguments):\n    #\n    return function(*arguments)", str(file), "exec"), names)
    return names["call"]


LIBRARY = function_in(Path(ssgp.__file__).parent / "forest" / "made_up.py")
SCIKIT_LEARN = function_in(Path(sklearn.__file__).parent / "made_up.py")
USERS_FILE = str(Path(ssgp.__file__).parents[1] / "users.py")
USER = function_in(USERS_FILE)


@pytest.mark.parametrize(
    "between",
    [(), (LIBRARY,), (LIBRARY, SCIKIT_LEARN, LIBRARY), (SCIKIT_LEARN, LIBRARY, LIBRARY)],
    ids=["nothing", "the library", "all", "scikit-learn first"],
)
def test_a_warning_is_shown_at_the_user_s_line_whatever_lies_between(between):
    with pytest.warns(UserWarning, match="^careful$") as told:
        USER(*between, warn_user, "careful")
    assert [(warning.filename, warning.lineno) for warning in told] == [(USERS_FILE, 3)]


def test_the_user_is_who_called_last():
    with pytest.warns(UserWarning, match="careful") as told:
        LIBRARY(USER, LIBRARY, warn_user, "careful")
    assert told[0].filename == USERS_FILE


def test_a_warning_is_of_the_category_that_was_asked_for():
    with pytest.warns(RuntimeWarning, match="^careful$"):
        warn_user("careful", RuntimeWarning)


class TestRemovedParameters:
    def test_that_are_left_alone_are_silent(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warn_of_removed(SimpleNamespace(old=DEPRECATED), old="it did nothing")

    @pytest.mark.parametrize("value", [True, False, None, 0])
    def test_are_told_with_the_reason_whatever_they_are_set_to(self, value):
        with pytest.warns(FutureWarning, match=r"^old has no effect any more .*: it did nothing$"):
            warn_of_removed(SimpleNamespace(old=value), old="it did nothing")

    def test_are_told_one_by_one(self):
        estimator = SimpleNamespace(first=1, second=DEPRECATED, third=3)
        with pytest.warns(FutureWarning) as told:
            warn_of_removed(estimator, first="a", second="b", third="c")
        assert [str(warning.message).split()[0] for warning in told] == ["first", "third"]
