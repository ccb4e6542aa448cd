"""Names of the module of data sets."""

import pytest

from ssgp import datasets


@pytest.mark.parametrize("name", ["load_aimpeak", "load_airline", "load_blog", "Table", "FOLDER_VARIABLE"])
def test_names_that_left_the_package_say_where_they_are(name):
    with pytest.raises(AttributeError, match=rf"checkout of the repository it is experiments\.tables\.{name}"):
        getattr(datasets, name)


def test_other_names_are_refused_as_python_does():
    with pytest.raises(AttributeError, match=r"module 'ssgp\.datasets' has no attribute 'load_nothing'"):
        _ = datasets.load_nothing  # pyright: ignore[reportAttributeAccessIssue]
