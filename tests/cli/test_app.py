"""Commands and their options."""

import pytest

import ssgp

pytest.importorskip("typer", reason="the command line is not installed")
from command_line import fails, run
from ssgp.cli.app import Model
from ssgp.cli.settings import MODELS


@pytest.mark.parametrize("arguments", [(), ("run", "--quick"), ("draw", "--help")])
def test_reproduce_says_where_the_evaluation_is_now(arguments):
    assert "`make experiments` in a checkout" in fails("reproduce", *arguments, code=2)
    assert "reproduce" not in run("--help")[1]


def test_version_and_help():
    assert run("--version")[:2] == (0, f"ssgp {ssgp.__version__}\n")
    for arguments in ((), ("--help",)):
        code, out, _ = run(*arguments)
        assert code == 0
        assert "evaluate" in out


def test_every_model_has_a_class():
    assert [model.value for model in Model] == list(MODELS)
