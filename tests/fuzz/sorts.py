"""The sorts of cases: every module beside this one that has a function `case`, but for the planted faults of `broken`.

A sort is added by adding its module, with

- ``case(seed: int) -> None``, which draws an input from the seed and raises an exception where something is wrong;
- ``CASES``: how many cases the tests run, which take at most fifteen seconds;
- ``SECONDS``: how long one case may take before it counts as hanging, where that is not a minute;
- ``explicit(seed: int) -> dict`` and ``replay(kept: dict) -> None``, where the input can be written down: a seed
  gives the same input only as long as nobody changes how it is drawn, so that findings are kept as inputs.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "module_of", "seconds_per_case", "sorts"]

ROOT = Path(__file__).parents[2]
PLANTED = "broken"
SECONDS = 60.0


def sorts() -> list[str]:
    """Names of all sorts."""
    paths = sorted(Path(__file__).parent.glob("*.py"))
    found = [path.stem for path in paths if re.search(r"^def case\(", path.read_text(encoding="utf-8"), re.MULTILINE)]
    return [name for name in found if name != PLANTED]


def module_of(sort: str) -> Any:
    """The module of a sort."""
    return import_module(f"tests.fuzz.{sort}")


def seconds_per_case(sort: str) -> float:
    """How long a case may take; read from the text, because the runner does not import what it runs."""
    text = (Path(__file__).parent / f"{sort}.py").read_text(encoding="utf-8")
    match = re.search(r"^SECONDS = ([\d.]+)$", text, re.MULTILINE)
    return SECONDS if match is None else float(match[1])
