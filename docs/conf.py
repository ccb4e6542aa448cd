"""How Sphinx makes the site; ``make docs`` runs it."""

import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from docs.site.commands import command_page
from docs.site.names import name_page
from docs.site.outside import linked, write_pages
from docs.site.table_one import draw_table_one
from ssgp import __version__

GENERATED = ROOT / "docs" / "generated"

project, author = "ssgp", "the ssgp developers"
project_copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/sg_execution_times.rst", "sg_execution_times.rst"]
templates_path = ["_templates"]
highlight_language = "text"
# Options begin with two hyphens, and what is quoted is to be typed: no sign is made a prettier one.
smartquotes = False
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "default_thumb_file": str(ROOT / "docs" / "images" / "intervals.png"),
    "capture_repr": ("_repr_html_",),
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "min_reported_time": 0,
    "plot_gallery": True,
}
# What an example warns of is shown in it, and does not end the build; its own mistakes do.
warnings.filterwarnings("ignore", message=".*is non-interactive.*")

html_theme = "pydata_sphinx_theme"
html_title = "ssgp"
html_static_path = ["_static", "generated/static"]
html_css_files = ["style.css"]
html_favicon = "_static/favicon.svg"
html_search_scorer = str(ROOT / "docs" / "site" / "scorer.js")
html_copy_source = html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "pygments_dark_style": "github-dark",
    "logo": {"text": "ssgp"},
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "show_prev_next": True,
}
html_sidebars = {"index": []}


def write_generated_pages() -> None:
    """Write pages that are made from other files or from the code."""
    shutil.rmtree(GENERATED, ignore_errors=True)
    GENERATED.mkdir()
    write_pages()
    draw_evaluation(GENERATED / "static" / "evaluation")
    (GENERATED / "commands.md").write_text(command_page(), encoding="utf-8")
    (GENERATED / "names.rst").write_text(name_page(), encoding="utf-8")


def draw_evaluation(folder: Path) -> None:
    """Draw the figures and the page of the paper's evaluation from the rows of our run."""
    rows = ROOT / "experiments" / "full-run"
    command = [sys.executable, "-m", "experiments", "draw", "--results", str(rows), "--out", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    draw_table_one(rows, folder / "table-1.svg")


def link_pages(app: Any, page: str, source: list[str]) -> None:  # noqa: ANN401
    """Turn a page's links to files outside docs/ into links to their pages."""
    path = Path(app.env.doc2path(page))
    if path.suffix == ".md" and not path.is_relative_to(GENERATED):
        source[0] = linked(source[0], path, page)


def link_documents(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:  # noqa: ANN401
    """Link the documents that docstrings name."""
    lines[:] = [re.sub(r"\bdocs/(\w+)\.md", r":doc:`/\1`", line) for line in lines]


def leave_out_others(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:  # noqa: ANN401
    """Leave out what a class inherits from other libraries, which document it themselves."""
    home = getattr(thing, "__module__", None) or ""
    return True if home.partition(".")[0] in {"sklearn", "builtins", "dataclasses"} else None


write_generated_pages()


def setup(app: Any) -> None:  # noqa: ANN401
    """Connect the functions above."""
    app.connect("source-read", link_pages)
    app.connect("autodoc-process-docstring", link_documents, priority=900)
    app.connect("autodoc-skip-member", leave_out_others)
