"""Findings that were once made, kept as cases that the tests replay: each is mended, and stays so.

`findings.json` has what was found, the seed it came from, and the input itself where its sort can write it down. A seed
gives the same input only until how it is drawn changes; from then on it is a case as any other.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.fuzz.runner import Finding
from tests.fuzz.sorts import module_of

__all__ = ["keep", "kept_findings", "request_of"]

FILE = Path(__file__).with_name("findings.json")


def kept_findings(path: Path = FILE) -> list[dict[str, Any]]:
    """All findings that were kept: sort, what was found, seed, and input."""
    return json.loads(path.read_text(encoding="utf-8"))


def request_of(finding: dict[str, Any]) -> dict[str, Any]:
    """What a child process is asked, to see a kept finding again."""
    return {"kept": finding["input"]} if "input" in finding else {"seed": finding["seed"]}


def keep(findings: Sequence[Finding], path: Path = FILE) -> None:
    """Add findings to the file."""
    entries = [*kept_findings(path), *map(_entry, findings)]
    path.write_text(json.dumps(entries, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")


def _entry(finding: Finding) -> dict[str, Any]:
    entry: dict[str, Any] = {"sort": finding.sort, "what": finding.what.splitlines()[0], "seed": finding.seed}
    explicit = getattr(module_of(finding.sort), "explicit", None)
    return entry if explicit is None else {**entry, "input": explicit(finding.seed)}
