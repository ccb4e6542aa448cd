"""Files that commands write, which must not be those that they read."""

import os
from collections.abc import Iterable

from ssgp._utils.whole_file import check_place
from ssgp.cli.errors import WrongUsage
from ssgp.tables.files import TableSource

__all__ = ["check_not_an_input", "check_not_standard_output", "check_out"]

STANDARD_OUTPUT = "-"


def check_out(out: str, what: str) -> None:
    """Refuse a place where no file can be, the standard output among them."""
    check_not_standard_output(out, what)
    check_place(out, what)


def check_not_standard_output(out: str, what: str) -> None:
    """Refuse a name that stands for the standard output."""
    if out == STANDARD_OUTPUT:
        raise WrongUsage(f"--out: {what} is not written to the standard output; give the name of a file")


def check_not_an_input(out: str, source: TableSource, model: str | None = None) -> None:
    """Refuse to write over the table or the model that a command reads."""
    if _is_one_of(out, (file.name for file in source.files)):
        raise WrongUsage(f"--out: {out!r} is the table that is read; choose another name")
    if model is not None and _is_one_of(out, [model]):
        raise WrongUsage(f"--out: {out!r} is the model that is read; choose another name")


def _is_one_of(out: str, names: Iterable[str]) -> bool:
    return os.path.exists(out) and any(os.path.exists(name) and os.path.samefile(out, name) for name in names)
