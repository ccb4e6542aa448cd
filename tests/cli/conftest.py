"""A folder of tables and models that the tests of one module share."""

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables to learn from and to predict, and a model."""
    from command_line import fill

    return fill(tmp_path_factory.mktemp("cli"))


@pytest.fixture(scope="module")
def model(folder):
    """The model, as Python has it."""
    import ssgp

    return ssgp.load(folder / "m")
