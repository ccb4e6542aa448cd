"""The page of all public names, each with a page of its own, from what modules list in ``__all__``."""

from importlib import import_module
from types import FunctionType, ModuleType

__all__ = ["MODULES", "name_page", "names_by_module"]

# Public modules in the order of the page, and what to call them.
MODULES = {
    "ssgp": "Regressors, encoder, pipeline, files",
    "ssgp.distributions": "Distributions",
    "ssgp.metrics": "Scores",
    "ssgp.plot": "Pictures",
    "ssgp.report": "The report",
    "ssgp.saved_models": "Saved models",
    "ssgp.table_files": "Tables in files",
    "ssgp.bases": "Base distributions of sVBSSGP",
    "ssgp.dask": "Clusters",
    "ssgp.datasets": "Data",
}
TITLE = "Every public name"
INTRODUCTION = (
    "Everything else in the package may change without notice. :doc:`What there is </api>` tells what it is for."
)


def names_by_module() -> dict[str, list[str]]:
    """Public names of every module, each in the first module that has it."""
    seen: set[int] = set()
    found: dict[str, list[str]] = {}
    for module in MODULES:
        values = {name: getattr(import_module(module), name) for name in import_module(module).__all__}
        found[module] = sorted(
            (name for name, value in values.items() if not isinstance(value, ModuleType) and id(value) not in seen),
            key=str.lower,
        )
        seen |= {id(value) for value in values.values()}
    return found


def name_page() -> str:
    """The page, in reStructuredText."""
    found = names_by_module()
    sections = [
        f"{title}\n{'-' * len(title)}\n\n{_section(module, found[module])}" for module, title in MODULES.items()
    ]
    return "\n\n".join([f"{TITLE}\n{'=' * len(TITLE)}", INTRODUCTION, *sections, ""])


def _section(module: str, names: list[str]) -> str:
    """Functions and classes with pages of their own, and constants as they are."""
    values = {name: getattr(import_module(module), name) for name in names}
    pages = [name for name, value in values.items() if isinstance(value, (type, FunctionType))]
    constants = [f".. py:data:: {name}\n\n   {values[name]!r}" for name in names if name not in pages]
    listed = "\n".join(f"   {name}" for name in pages)
    summary = f".. currentmodule:: {module}\n\n.. autosummary::\n   :toctree: api\n   :nosignatures:\n\n{listed}"
    return "\n\n".join([summary, *constants])
