"""Documents name files, commands, options and functions that exist, and the README's code runs."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "docs", "benchmarks", "experiments", "examples", "release", "tests")
# What `make docs` writes.
MADE = tuple(ROOT / "docs" / folder for folder in ("_build", "examples", "generated"))
DOCUMENTS = sorted(
    {
        *ROOT.glob("*.md"),
        *(
            path
            for folder in FOLDERS
            for path in (ROOT / folder).rglob("*.md")
            if not any(path.is_relative_to(made) for made in MADE)
        ),
    },
    key=lambda path: path.relative_to(ROOT).as_posix(),
)
CODE = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if path != Path(__file__)]
# Names of scikit-learn and others, and how the names of data files end.
ELSEWHERE = {"GridSearchCV", "Pipeline", "clone", "fsspec"}
DATA_FILE = r".+\.(arrow|csv|html|parquet|png|safetensors)"


@pytest.fixture(scope="module")
def code():
    """All code and settings, as one text."""
    paths = [*CODE, ROOT / "Makefile", ROOT / "pyproject.toml"]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@pytest.fixture(scope="module")
def words(code):
    """All words of the code, names of files included."""
    return {
        *re.findall(r"\w+", code),
        *(part for path in CODE for part in path.relative_to(ROOT).with_suffix("").parts),
    }


@pytest.fixture(params=DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def document(request):
    return request.param


def quoted(document):
    """What a document has in backticks, outside blocks of code."""
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    return set(re.findall(r"`([^`\n]+)`", text))


def test_links_lead_to_files(document):
    links = re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (document.parent / link).exists()]
    assert not missing


def test_files_that_are_named_exist(document):
    files = [path.relative_to(ROOT).as_posix() for path in [*CODE, *DOCUMENTS, Path(__file__)]]
    named = [name for name in quoted(document) if re.fullmatch(r"[\w/]+\.(py|md)", name)]
    assert not [name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in files)]


def test_commands_that_are_named_exist(document):
    text = document.read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert set(re.findall(r"(?:`|^    )make ([a-z]+)", text, flags=re.MULTILINE)) <= set(targets)
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in CODE}
    for module in re.findall(r"python -m ((?:benchmarks|experiments|docs)[\w.]*)", text):
        assert {module, f"{module}.__main__"} & modules


def test_options_that_are_named_exist(document, code):
    options = re.findall(r"(?<!\S)--[a-z][a-z-]+", "\n".join(quoted(document)))
    assert not [option for option in options if f'"{option}' not in code]


def test_names_in_backticks_are_names_in_the_code(document, words):
    names = [name for name in quoted(document) if re.fullmatch(r"[A-Za-z_][\w.]*(\(.*\))?", name)]
    names = [name for name in names if not re.fullmatch(DATA_FILE, name)]
    parts = {part for name in names for part in name.partition("(")[0].split(".")}
    blocks = re.findall(r"```.*?```", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not sorted(parts - words - ELSEWHERE - set(re.findall(r"\w+", " ".join(blocks))))


def test_the_code_of_the_readme_runs(tmp_path, monkeypatch):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).uniform(size=(400, 2))
    y = np.sin(6 * X[:, 0]) + 0.1 * X[:, 1]
    parts = {"train": slice(0, 200), "test": slice(200, 300), "new": slice(300, 350), "held": slice(350, 400)}
    rows = {f"{name}_{part}": table[those] for part, those in parts.items() for name, table in (("X", X), ("y", y))}
    table = pd.DataFrame({"distance": X[:, 0], "carrier": ["AA" if x < 0.5 else None for x in X[:, 1]], "delay": y})
    table.to_parquet("flights.parquet")
    exec(code.replace("random_state=0", "random_state=0, max_iter=20"), rows | {"new_table": table[:3]})
    assert (tmp_path / "model.safetensors").exists()
