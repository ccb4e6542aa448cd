"""The site has every page, name and command, and what it quotes is there; `make docs` builds and checks it whole."""

import re
from pathlib import Path

import pytest

import ssgp
from docs.site.checks import broken_links
from docs.site.commands import command_page
from docs.site.names import MODULES, name_page, names_by_module
from docs.site.outside import OUTSIDE, linked
from docs.site.table_one import draw_table_one

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.glob("*.md")}
EXAMPLES = {f"examples/{path.stem}" for path in (ROOT / "examples" / "gallery").glob("plot_*.py")}
GENERATED = {*OUTSIDE.values(), "generated/names", "generated/commands"}


def listed():
    """Pages in the tables of contents, as often as they are there."""
    blocks = [
        block
        for page in PAGES
        for block in re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / f"{page}.md").read_text(), flags=re.DOTALL)
    ]
    lines = [line for block in blocks for line in block.splitlines() if line and not line.startswith(":")]
    return [re.sub(r".* <(.*)>", r"\1", line) for line in lines]


def test_every_page_and_example_is_in_one_table_of_contents():
    assert sorted(listed()) == sorted({*(PAGES - {"index"}), *EXAMPLES, *GENERATED, "examples/index"})


def test_every_public_name_is_in_the_reference():
    names = names_by_module()
    everywhere = {name for listed_names in names.values() for name in listed_names}
    for module in MODULES:
        contents = __import__(module, fromlist=["*"])
        submodules = {name.partition(".")[2] for name in MODULES}
        assert set(contents.__all__) <= everywhere | submodules
    page = name_page()
    assert all(re.search(rf"\b{name}\b", page) for name in everywhere)
    assert {f"ssgp.{name}" for name in ssgp._SUBMODULES} <= set(MODULES)


@pytest.mark.parametrize("option", ["--target COL", "--interval SHARE", "--calibrate", "--json", "--device"])
def test_the_page_of_commands_has_the_options_of_their_help(option):
    assert f"`{option}" in command_page()


def test_options_within_the_page_of_commands_are_in_the_font_of_what_is_typed():
    page = re.sub(r"```text.*?```", "", command_page(), flags=re.DOTALL)
    assert len(re.findall("`--", page)) > 40
    assert "--" not in re.sub("`[^`\n]*`", "", page)


def test_the_page_of_commands_leaves_out_hidden_ones():
    commands = re.findall(r"^## ssgp (\w+)$", command_page(), flags=re.MULTILINE)
    assert commands == ["fit", "predict", "evaluate", "report", "inspect", "demo"]


def test_messages_that_are_explained_are_said_somewhere():
    code = " ".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    said = re.sub(r'"\s*f?"', "", code)
    quoted = re.findall(r'^\| "([^"]+)" \|', (DOCS / "messages.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(quoted) > 10
    assert not [message for message in quoted if message not in said]


def test_links_out_of_the_documents_lead_to_their_pages():
    text = "[a](../CHANGELOG.md) [b](../examples/gallery/plot_story.py#x) [c](../benchmarks) [d](tables.md) [e](https://x.org)"
    assert linked(text, DOCS / "paper.md", "paper") == (
        "[a](generated/changelog.md) [b](examples/plot_story.rst#x) c [d](tables.md) [e](https://x.org)"
    )
    assert linked("[a](docs/tables.md)", ROOT / "CHANGELOG.md", OUTSIDE["CHANGELOG.md"]) == "[a](../tables.md)"


def test_links_and_pictures_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a id="top"></a><a href="b.html#there">x</a><a href="#top">y</a><img src="no.png">'
    )
    (tmp_path / "b.html").write_text('<h1 id="here">b</h1><a href="a.html">x</a><a href="https://x.org/no">y</a>')
    assert broken_links(tmp_path) == ["a.html: b.html#there", "a.html: no.png"]


def test_examples_have_a_title_and_end_with_where_to_go():
    for example in EXAMPLES:
        text = (ROOT / "examples" / "gallery" / f"{Path(example).name}.py").read_text(encoding="utf-8")
        title, line = text.split("\n")[1:3]
        assert len(title) == len(line)
        assert set(line) == {"="}


def test_the_picture_of_table_one_has_a_mark_for_every_printed_error(tmp_path):
    draw_table_one(ROOT / "experiments" / "full-run", tmp_path / "table.svg")
    assert (tmp_path / "table.svg").read_text(encoding="utf-8").count("<use ") > 20
