"""What commands print."""

import json

import pytest

pytest.importorskip("typer", reason="the command line is not installed")
from ssgp.cli.output import Output


def test_json_has_no_words_that_are_not_json(capsys):
    Output(as_json=True).result({"mnlp": float("inf"), "parts": [{"r2": float("nan")}, 1.5]}, "")
    assert json.loads(capsys.readouterr().out) == {"mnlp": None, "parts": [{"r2": None}, 1.5], "warnings": []}
