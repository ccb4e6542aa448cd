"""Commands and their options."""

import pytest

import ssgp

pytest.importorskip("typer", reason="the command line is not installed")
from command_line import run
from ssgp.cli.app import Model
from ssgp.cli.settings import MODELS


def test_version_and_help():
    assert run("--version")[:2] == (0, f"ssgp {ssgp.__version__}\n")
    for arguments in ((), ("--help",)):
        code, out, _ = run(*arguments)
        assert code == 0
        assert "evaluate" in out


def test_every_model_has_a_class():
    assert [model.value for model in Model] == list(MODELS)
