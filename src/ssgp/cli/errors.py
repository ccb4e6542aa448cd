"""What can go wrong, told in one line: errors of commands, and how all others are reported."""

import shlex
import sys
import traceback

from ssgp._utils.column_errors import InfiniteValuesError, UnusableTypeError

__all__ = ["INTERRUPTED", "CommandError", "WrongUsage", "one_line", "report"]

# What shells return for a command that Ctrl-C ended.
INTERRUPTED = 130


class CommandError(Exception):
    """A command that failed; the message says why and what to do."""

    exit_code = 1


class WrongUsage(CommandError):
    """Options or names that make no sense; the message says what is allowed."""

    exit_code = 2


def report(error: Exception, debug: bool) -> int:
    """Print an error and return the exit code it stands for."""
    if debug:
        traceback.print_exception(error)
    print(f"ssgp: error: {_told(error)}", file=sys.stderr)
    return error.exit_code if isinstance(error, CommandError) else 1


def one_line(text: object) -> str:
    """Text without line breaks."""
    return " ".join(str(text).split())


def _told(error: Exception) -> str:
    if isinstance(error, InfiniteValuesError):
        # Its rows are those of a batch, less those without a target.
        return f"column {error.column!r} has infinity; replace it by a number, or by a missing value"
    if isinstance(error, UnusableTypeError):
        return _unusable(error)
    if isinstance(error, CommandError | ValueError):
        return one_line(error)
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed: pip install {error.name}"
    if isinstance(error, ImportError):
        return one_line(error)
    if isinstance(error, OSError):
        return f"{error.filename!r}: {error.strerror}" if error.strerror and error.filename else one_line(error)
    if isinstance(error, MemoryError):
        return f"not enough memory ({one_line(error) or 'none left'}); use fewer rows or columns"
    return f"unexpected {type(error).__name__}: {one_line(error)}; --debug shows where"


def _unusable(error: UnusableTypeError) -> str:
    remedy = f"leave it out: --exclude {shlex.quote(one_line(error.column))}"
    if "binary" in error.kind:
        return f"column {error.column!r} has text that is not UTF-8, or other bytes; save it as UTF-8, or {remedy}"
    return f"column {error.column!r} has the type {error.kind}, which is no number, time or category; {remedy}"
