"""Warnings, and the line of code that they are shown at."""

from pathlib import Path

import pytest
import sklearn

import ssgp
from ssgp._utils.warning import warn_user


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
